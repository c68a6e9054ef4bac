"use strict";
// The column trace: only the path of one column, and the same path as a table.
lineage.column = (() => {
  const { element, button, name, icon, environment, byId, counted } = lineage.dom;
  const SIDES = [
    ["up", "Upstream"],
    ["both", "Both"],
    ["down", "Downstream"],
  ];
  const MOST_ROWS = 300;

  const nameOf = (model, index) => {
    const column = model.columns[index];
    return `${model.datasets[column.dataset].name}.${column.name}`;
  };

  /** Draw the heading of the view. */
  function crumb(model, view, found, hidden) {
    const column = model.columns[found.start];
    const dataset = model.datasets[column.dataset];
    const band = model.bands[model.bandOf[dataset.index]];
    const facts = [
      view.side === "down" ? "" : `${counted(found.up.size - 1, "column")} upstream`,
      view.side === "up" ? "" : `${view.side === "down" ? counted(found.down.size - 1, "column") : found.down.size - 1} downstream`,
      hidden ? `${counted(hidden, "dataset")} not drawn` : "",
    ];
    byId("crumb").replaceChildren(
      button({ class: "small", "data-action": "to-pipeline" }, "← ", name(lineage.part ? dataset.name : band.dag || "pipeline")),
      element("h2", {}, name(nameOf(model, found.start))),
      environment(dataset.environment) ?? "",
      element("span", { class: "quiet" }, facts.filter((each) => each).join(" · ")),
      element("span", { class: "space" }),
      element(
        "div",
        { class: "seg is-small", role: "group", "aria-label": "Direction" },
        SIDES.map(([side, words]) => button({ "data-side": side, "aria-pressed": String(view.side === side) }, words)),
      ),
    );
  }

  const MOST_STARTS = 8;

  const FARTHEST = 200;

  // The number of columns upstream, of long paths a part.
  function upstream(model, start) {
    const seen = new Set([start]);
    for (const index of seen) {
      if (seen.size > FARTHEST) break;
      for (const edge of model.columns[index].up) seen.add(edge.from);
    }
    return seen.size;
  }

  /** Return columns to start a trace from: the last ones that are calculated, those with the most upstream first. */
  function starts(model, band) {
    const isLast = ({ down, up }) => !down.length && up.some((edge) => !edge.transformation.startsWith("IDENTITY"));
    const inBand = ({ dataset }) => band === null || model.bands[model.bandOf[dataset]].key === band;
    const ranked = model.columns
      .filter((column) => inBand(column) && isLast(column))
      .slice(0, FARTHEST)
      .map((column) => [column, upstream(model, column.index)])
      .sort((a, b) => b[1] - a[1] || a[0].index - b[0].index);
    const found = new Map();
    for (const [column] of ranked) if (!found.has(column.dataset)) found.set(column.dataset, column.index);
    return [...found.values()].slice(0, MOST_STARTS);
  }

  const sign = (step) => (step > 0 ? `+${step}` : step < 0 ? `−${-step}` : "0");

  const jobName = (process) => (process.type === "dbt" ? `dbt ${process.short}` : process.name);

  function row(model, found, step) {
    const dataset = model.datasets[step.dataset];
    const where = lineage.places.isDeclared(dataset.kind) ? dataset.name : `${dataset.place.name}.${dataset.name}`;
    const text = step.column === null ? where : `${where}.${model.columns[step.column].name}`;
    const link =
      step.column === null ? { "data-to-dataset": step.dataset } : { "data-to-column": step.column };
    const jobs = step.processes.map(jobName).join(", ");
    const dags = [...new Set(step.processes.flatMap((process) => process.dags))];
    return element(
      "tr",
      { class: step.step === 0 ? "is-start" : "" },
      element("td", { class: "number" }, sign(step.step)),
      element("td", {}, button({ class: "what", ...link, title: dataset.title }, icon(dataset.kind), name(text))),
      element("td", {}, step.how),
      element("td", { class: "mono wide", title: step.expression }, name(step.expression.split("\n").join(" ; "))),
      element("td", { title: dags.length ? `DAG ${dags.join(", ")}` : "" }, name(jobs)),
    );
  }

  /** Draw the path as a table. */
  function table(model, found) {
    const steps = lineage.columnGraph.steps(model, found);
    const size = steps.length > MOST_ROWS ? `${MOST_ROWS} of ${counted(steps.length, "step")}` : counted(steps.length, "step");
    byId("table").hidden = false;
    byId("table").replaceChildren(
      element(
        "table",
        { "aria-label": `Path of ${nameOf(model, found.start)}` },
        element("caption", {}, "Path of ", name(nameOf(model, found.start)), element("span", { class: "quiet" }, ` ${size}`)),
        element(
          "thead",
          {},
          element("tr", {}, ["Step", "Column", "How", "Expression", "Job"].map((text) => element("th", { scope: "col" }, text))),
        ),
        element("tbody", {}, steps.slice(0, MOST_ROWS).map((step) => row(model, found, step))),
      ),
    );
  }

  /** Make the table of a small picture taller. */
  function grow(scene) {
    const rest = byId("center").clientHeight - byId("crumb").offsetHeight - scene.height - 90;
    byId("table").style.maxHeight = `max(36%, ${Math.round(rest)}px)`;
  }

  /** Return the title of a line: the jobs, and how the column is made. */
  function lineTitle(model, edge) {
    if (!edge.step) return "reads the whole table";
    const { step } = edge;
    return [step.processes.map(jobName).join(", "), lineage.columnGraph.howOf(step), step.expression]
      .filter((each) => each)
      .join(" · ");
  }

  return { crumb, table, starts, grow, lineTitle, nameOf, jobName };
})();
