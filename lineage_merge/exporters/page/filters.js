"use strict";
// Filters of the page; one that has no value in the data is not offered.
lineage.filters = (() => {
  const { element, button, byId } = lineage.dom;
  const KEYS = ["environment", "dag", "kind", "platform", "job", "tag", "owner", "status", "older", "changed"];
  const NAMES = {
    environment: "Environment",
    dag: "DAG",
    kind: "Kind",
    platform: "Platform",
    job: "Job",
    tag: "Tag",
    owner: "Owner",
    status: "Status",
    older: "Last update",
    changed: "Changes",
  };
  const { FILTERS, has, duration } = lineage.assertions;
  const { everyOf, tagsOf, ownersOf, NO_OWNER } = lineage.model;
  const AGES = ["1h", "6h", "12h", "1d", "2d", "7d", "30d"];
  const none = () => Object.fromEntries(KEYS.map((key) => [key, ""]));

  function choices(model) {
    const sorted = (values) => [...new Set(values)].filter((value) => value).sort();
    const each = (value) => sorted(model.datasets.flatMap(value));
    const owners = each((dataset) => everyOf(dataset, ownersOf));
    const oldest = model.datasets.reduce((time, { freshness: { updatedAt } }) => (updatedAt !== null && updatedAt < time ? updatedAt : time), model.now);
    return {
      environment: each((dataset) => [dataset.environment]),
      dag: sorted(model.dags),
      kind: each((dataset) => [dataset.kind]),
      platform: each((dataset) => [dataset.place.platform]),
      job: sorted(model.jobs.map((job) => job.name)),
      tag: each((dataset) => everyOf(dataset, tagsOf)),
      owner: [...owners, ...(owners.length && model.datasets.some((dataset) => !ownersOf(dataset).length) ? [NO_OWNER] : [])],
      status: Object.keys(FILTERS).filter((status) => model.datasets.some((dataset) => has(dataset, status))),
      older: AGES.filter((age) => model.now - oldest > duration(age)),
      changed: lineage.compare ? ["near", "only"] : [],
    };
  }

  function wordsOf(key, value) {
    if (key === "status") return FILTERS[value] ?? value;
    if (key === "older") return `older than ${value.replace(/[mhdw]$/, " $&")}`;
    if (key === "changed") return value === "only" ? "only changes" : "changes and neighbours";
    if (key === "kind") return lineage.places.kindWord(value);
    return key === "owner" && value === NO_OWNER ? "no owner" : value;
  }
  const option = (key, value) => element("option", { value }, wordsOf(key, value));

  function field(key, values) {
    if (key === "job") {
      return [
        element("input", { id: "filter-job", list: "jobs", autocomplete: "off", placeholder: "any", dir: "auto" }),
        element("datalist", { id: "jobs" }, values.map((value) => element("option", { value }))),
      ];
    }
    const any = element("option", { value: "" }, "any");
    return [element("select", { id: `filter-${key}` }, any, values.map((value) => option(key, value)))];
  }

  /** Build the fields and report changes. */
  function start(model, changed) {
    offer(model, changed);
    byId("environments").addEventListener("click", (event) => {
      const environment = event.target.closest("[data-environment]")?.dataset.environment;
      if (environment !== undefined) changed({ ...selected(), environment }, true);
    });
    const open = (isOpen) => {
      byId("filters").hidden = !isOpen;
      byId("filters-button").setAttribute("aria-expanded", String(isOpen));
    };
    byId("filters-button").addEventListener("click", () => {
      open(byId("filters").hidden);
      if (!byId("filters").hidden) byId("filters").querySelector("label:not([hidden]) :is(select, input)")?.focus();
    });
    byId("filters").addEventListener("keydown", (event) => {
      if (event.key !== "Escape") return;
      event.stopPropagation();
      open(false);
      byId("filters-button").focus();
    });
    document.addEventListener("pointerdown", (event) => {
      if (!event.target.closest(".menu, .phone-tabs")) open(false);
    });
    return { open, offer: (other) => offer(other, changed) };
  }

  const selected = () => Object.fromEntries(KEYS.map((key) => [key, byId(`filter-${key}`).value]));

  // Build the fields for what a model has.
  function offer(model, changed) {
    const all = choices(model);
    const environments = all.environment.sort(
      (a, b) => lineage.bands.isProduction(b) - lineage.bands.isProduction(a) || (a < b ? -1 : 1),
    );
    byId("environments").replaceChildren(
      ...["", ...environments].map((value) =>
        button({ "data-environment": value, "aria-pressed": "false" }, value || "All"),
      ),
    );
    byId("environments").hidden = environments.length < 2 || environments.length > 4;
    byId("filters").replaceChildren(
      ...KEYS.map((key) =>
        element("label", { hidden: all[key].length < 1 }, NAMES[key], ...field(key, all[key])),
      ),
      button({ id: "clear" }, "Clear filters"),
    );
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
    byId("clear").addEventListener("click", () => changed(none()));
  }

  /** Show the values; `shown`: the environment of the view, also if no filter restricts it. */
  function show(filters, shown = filters.environment) {
    for (const key of KEYS) {
      const at = byId(`filter-${key}`);
      at.value = filters[key];
      // A link may have a value that is not offered.
      if (at.value !== filters[key]) {
        at.append(option(key, filters[key]));
        at.value = filters[key];
        at.parentElement.hidden = false;
      }
    }
    const active = KEYS.filter((key) => filters[key]).length;
    byId("clear").hidden = !active;
    byId("filter-count").textContent = active ? String(active) : "";
    for (const each of byId("environments").children) {
      each.setAttribute("aria-pressed", String(each.dataset.environment === shown));
    }
  }

  // The switch of environments. Whether the view is of one environment, without a filter.
  const isOne = (state) =>
    state.view === "column" || (state.view === "pipeline" && (state.band !== null || state.focus !== null));

  /** Return the environment of what is shown; "": all. */
  function environmentOf(model, state) {
    if (!isOne(state)) return state.filters.environment;
    if (state.view === "column") return model.datasets[model.columns[state.column].dataset].environment;
    if (state.focus !== null) return model.datasets[state.focus].environment;
    return model.bands.find((each) => each.key === state.band).environment;
  }

  /** Return the change to the same pipeline of another environment, or to all pipelines; none if it is shown already. */
  function toEnvironment(model, state, environment) {
    if (!isOne(state) || environmentOf(model, state) === environment) return {};
    const band = model.bands.find((each) => each.key === state.band);
    const twin = band && model.bands.find((each) => each.dag === band.dag && each.environment === environment);
    const cleared = { dataset: null, column: null, edge: null, frame: null, focus: null, depth: null };
    return { view: "pipeline", band: twin?.key ?? null, ...cleared };
  }

  /** Return a state without a selection that a filter or a link hides: everything else would be dim. */
  function withoutHidden(model, state, passes) {
    const isHidden = (index) => index !== null && !passes.dataset(model.datasets[index]);
    const next = { ...state };
    if (isHidden(state.dataset)) next.dataset = null;
    if (state.column !== null && isHidden(model.columns[state.column].dataset)) {
      next.column = null;
      if (next.view === "column") next.view = "pipeline";
    }
    if (isHidden(state.focus)) Object.assign(next, { focus: null, depth: null });
    if (next.band !== null && next.focus === null) {
      const band = model.bands.find((each) => each.key === next.band);
      if (!band.members.some((index) => passes.dataset(model.datasets[index]))) {
        next.band = null;
        next.groups = [];
      }
    }
    return next;
  }

  return { environmentOf, withoutHidden, toEnvironment, start, show, none, KEYS };
})();
