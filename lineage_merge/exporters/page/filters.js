"use strict";
// Filters by DAG, environment, label and job.
lineage.filters = (() => {
  const { element, byId } = lineage.dom;
  const KEYS = ["dag", "environment", "label", "job"];

  function choices(model) {
    const sorted = (values) => [...new Set(values)].filter((value) => value).sort();
    return {
      dag: sorted(model.dags),
      environment: sorted(model.datasets.map((each) => each.environment)),
      label: sorted(model.datasets.map((each) => each.kind)),
      job: sorted(model.jobs.map((each) => each.name)),
    };
  }

  function start(model, changed) {
    const all = choices(model);
    for (const key of ["dag", "environment", "label"]) {
      const options = all[key].map((value) => element("option", { value }, value));
      byId(`filter-${key}`).replaceChildren(element("option", { value: "" }, "any"), ...options);
    }
    byId("jobs").replaceChildren(...all.job.map((value) => element("option", { value })));
    const selected = () => Object.fromEntries(KEYS.map((key) => [key, byId(`filter-${key}`).value]));
    for (const key of KEYS) {
      byId(`filter-${key}`).addEventListener("change", () => {
        const filters = selected();
        // Ignore incomplete job names.
        if (filters.job && !all.job.includes(filters.job)) {
          const like = all.job.filter((name) => name.toLowerCase().includes(filters.job.toLowerCase()));
          filters.job = like.length === 1 ? like[0] : "";
        }
        changed(filters);
      });
    }
    byId("clear").addEventListener("click", () => changed({ dag: "", environment: "", label: "", job: "" }));
  }

  function show(filters) {
    for (const key of KEYS) byId(`filter-${key}`).value = filters[key];
    byId("clear").hidden = !KEYS.some((key) => filters[key]);
  }

  return { start, show, KEYS };
})();
