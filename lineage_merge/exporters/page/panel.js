"use strict";
// Details of the selection, as text with links.
lineage.panel = (() => {
  const { element, name, icon, byId, counted } = lineage.dom;
  const LONGEST = 200;

  const section = (title, ...children) => element("section", {}, element("h3", {}, title), ...children);

  // Long lists are truncated, with a note.
  function list(items, line) {
    const shown = items.slice(0, LONGEST).map((item) => element("li", {}, line(item)));
    if (items.length > LONGEST) shown.push(element("li", {}, `… and ${items.length - LONGEST} more`));
    return element("ul", {}, shown);
  }

  const facts = (pairs) =>
    element(
      "dl",
      {},
      pairs.flatMap(([what, text]) => [
        element("dt", {}, what),
        element(
          "dd",
          {},
          text.split("\n").map((line) => element("div", {}, name(line))),
        ),
      ]),
    );

  const toDataset = (dataset) =>
    element(
      "button",
      { type: "button", class: "link", "data-to-dataset": dataset.index, title: dataset.title },
      icon(dataset.kind),
      name(dataset.title),
    );

  const toColumn = (model, index) => {
    const column = model.columns[index];
    const dataset = model.datasets[column.dataset];
    return element(
      "button",
      { type: "button", class: "link", "data-to-column": index, title: `${dataset.title}#${column.name}` },
      name(`${dataset.name}#${column.name}`),
    );
  };

  const action = (what, text, attributes = {}) =>
    element("button", { type: "button", "data-action": what, ...attributes }, text);

  function heading(kind, text, under) {
    const image = kind ? icon(kind) : null;
    return element(
      "header",
      {},
      element("h2", {}, image, name(text)),
      element("p", { class: "kind" }, under),
      element(
        "button",
        { type: "button", class: "close", "data-action": "close", "aria-label": "Close details" },
        "×",
      ),
    );
  }

  function ofDataset(model, state, dataset, trace) {
    const ends = (edges, end) =>
      [...new Set(edges.map((edge) => edge[end]))].map((index) => model.datasets[index]);
    const up = ends(dataset.up, "from");
    const down = ends(dataset.down, "to");
    const jobs = [...new Set(dataset.up.map((edge) => edge.job))].map((index) => model.jobs[index]);
    return [
      heading(dataset.kind, dataset.name, dataset.kind),
      element(
        "p",
        { class: "actions" },
        state.focus === dataset.index ? action("all", "Show all") : action("focus", "Focus on its lineage"),
        dataset.columns.length
          ? action("columns", state.open.has(dataset.index) ? "Hide columns" : "Show columns")
          : null,
      ),
      facts([
        ["name", dataset.title],
        ["namespace", dataset.namespace],
        ["environment", dataset.environment],
        ["DAGs", dataset.dags.map((index) => model.dags[index]).join("\n")],
        ...dataset.facts.filter(([what, text]) => what !== "qualified name" || text !== dataset.title),
      ]),
      trace
        ? element(
            "p",
            {},
            `In total: ${counted(trace.up.size - 1, "dataset")} upstream, ${trace.down.size - 1} downstream.`,
          )
        : null,
      up.length ? section(`Fed by ${up.length}`, list(up, toDataset)) : null,
      down.length ? section(`Feeds ${down.length}`, list(down, toDataset)) : null,
      jobs.length
        ? section(
            counted(jobs.length, "job"),
            list(jobs, (job) => ofJob(model, job)),
          )
        : null,
      dataset.columns.length
        ? section(
            counted(dataset.columns.length, "column"),
            list(dataset.columns, (column) => [
              toColumnOwn(column),
              column.type ? name(` ${column.type}`) : null,
            ]),
          )
        : null,
      dataset.decidedBy.length
        ? section(
            "Rows decided by",
            list(dataset.decidedBy, (edge) => [toColumn(model, edge.from), ` ${edge.transformation}`]),
          )
        : null,
    ];
  }

  const toColumnOwn = (column) =>
    element("button", { type: "button", class: "link", "data-to-column": column.index }, name(column.name));

  const ofJob = (model, job) =>
    element(
      "details",
      {},
      element("summary", {}, name(job.name), ` ${job.type}`),
      facts([["DAG", model.dags[job.dag]], ...job.facts]),
    );

  function ofColumn(model, state, column, trace) {
    const dataset = model.datasets[column.dataset];
    const step = (edge, end) => [
      toColumn(model, edge[end]),
      element(
        "div",
        { class: "via" },
        edge.transformation,
        edge.expression ? element("code", { dir: "auto" }, edge.expression) : null,
      ),
      element("div", { class: "by" }, "by ", name(model.jobs[edge.job].name)),
    ];
    return [
      heading(dataset.kind, `${dataset.name}#${column.name}`, "column"),
      element(
        "p",
        { class: "actions" },
        state.only ? action("all", "Show all") : action("only", "Show only this lineage"),
        action("dataset", "Its dataset"),
      ),
      facts([
        ["of", dataset.title],
        ...(column.type ? [["type", column.type]] : []),
        ...(column.description ? [["description", column.description]] : []),
      ]),
      element(
        "p",
        {},
        `In total: ${counted(trace.upColumns.size - 1, "column")} upstream, ${trace.downColumns.size - 1} downstream.`,
      ),
      column.up.length
        ? section(
            "Made from",
            list(column.up, (edge) => step(edge, "from")),
          )
        : null,
      column.down.length
        ? section(
            "Goes into",
            list(column.down, (edge) => step(edge, "to")),
          )
        : null,
      trace.decisions.length
        ? section(
            "Decides on the rows of",
            list(trace.decisions, (edge) => [toDataset(model.datasets[edge.to]), ` ${edge.transformation}`]),
          )
        : null,
    ];
  }

  function ofEdge(model, scene, edge) {
    const end = (node) =>
      node.kind === "dataset" ? toDataset(model.datasets[node.index]) : name(node.group.name);
    return [
      heading(null, counted(edge.feeds.length, "line"), "feeds"),
      element("p", {}, end(scene.nodes[edge.from]), " feeds ", end(scene.nodes[edge.to])),
      list(edge.feeds, (feed) => [
        ofJob(model, model.jobs[feed.job]),
        edge.feeds.length > 1
          ? element(
              "div",
              { class: "by" },
              toDataset(model.datasets[feed.from]),
              toDataset(model.datasets[feed.to]),
            )
          : null,
        facts(feed.facts),
      ]),
    ];
  }

  function show(model, state, scene, trace) {
    const panel = byId("panel");
    const edge = state.edge && scene.edges.find((each) => each.key === state.edge);
    let found = null;
    if (state.column !== null) found = ofColumn(model, state, model.columns[state.column], trace);
    else if (state.dataset !== null) found = ofDataset(model, state, model.datasets[state.dataset], trace);
    else if (edge) found = ofEdge(model, scene, edge);
    panel.hidden = !found;
    panel.replaceChildren(...(found ?? []).filter((each) => each));
    if (found) panel.scrollTop = 0;
  }

  return { show };
})();
