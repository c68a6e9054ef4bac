"use strict";
// Downloads of what is seen: SVG, PNG and CSV.
lineage.exporting = (() => {
  const { element, byId, say } = lineage.dom;
  const { STATES, stateOf, timeText } = lineage.processes;
  const { tagsOf, ownersOf } = lineage.model;
  const { problemOf } = lineage.assertions;
  const PAD = 32;
  // Browsers limit the size of a canvas.
  const MOST_PIXELS = 60_000_000;

  /** Return cells, row by row, as CSV; one that a spreadsheet would run as a formula starts with an apostrophe. */
  function csv(cells) {
    const written = (value) => {
      const text = String(value ?? "");
      const safe = /^[=+\-@\t\r]/.test(text) && !/^-?\d+(\.\d+)?$/.test(text) ? `'${text}` : text;
      return /[",\r\n]/.test(safe) ? `"${safe.replace(/"/g, '""')}"` : safe;
    };
    return `${cells.map((row) => row.map(written).join(",")).join("\r\n")}\r\n`;
  }

  /** Return what is seen as rows of a table, for CSV. */
  function rows(app) {
    const { model } = app;
    const [state, scene] = [app.state, app.scene];
    if (state.view === "column") {
      const steps = lineage.columnGraph.steps(model, app.found);
      return [
        ["step", "environment", "dataset", "column", "how", "expression", "jobs", "dags", "tests", "tags"],
        ...steps.map((each) => [
          each.step,
          model.datasets[each.dataset].environment,
          model.datasets[each.dataset].title,
          each.column === null ? "" : model.columns[each.column].name,
          each.how,
          each.expression,
          each.processes.map((process) => process.name).join("; "),
          [...new Set(each.processes.flatMap((process) => process.dags))].join("; "),
          each.column === null ? "" : problemOf(model.columns[each.column]),
          each.column === null ? "" : tagsOf(model.columns[each.column]).join("; "),
        ]),
      ];
    }
    if (state.view === "pipeline") {
      const end = (index) => [model.datasets[index].environment, model.datasets[index].title];
      const feeds = scene.edges.flatMap((edge) => edge.feeds);
      return [
        ["environment", "from", "environment", "to", "job", "type", "dag", "last run", "finished"],
        ...feeds.map((feed) => {
          const job = model.jobs[feed.job];
          const process = model.processes[model.processOf[feed.job]];
          const run = [STATES[stateOf(process)], timeText(process.finished)];
          return [...end(feed.from), ...end(feed.to), job.name, job.type, model.dags[job.dag] ?? "", ...run];
        }),
      ];
    }
    const members = app.shownBands(app.passing()).flatMap((each) => each.members);
    return [
      ["environment", "pipeline", "dataset", "kind", "platform", "columns", "upstream", "downstream", "last run", "last update", "freshness", "tests", "failed tests", "warned tests", "owners", "tags"],
      ...members.map((index) => {
        const each = model.datasets[index];
        const { dag } = model.bands[model.bandOf[index]];
        const sides = [new Set(each.up.map((edge) => edge.from)).size, new Set(each.down.map((edge) => edge.to)).size];
        const tests = ["failed", "warned"].map((which) => each.tests.filter((test) => test.state === which).length);
        return [
          ...[each.environment, dag, each.title, each.kind, each.place.platform, each.columns.length, ...sides],
          ...[STATES[each.state], timeText(each.freshness.updatedAt), each.freshness.status, each.tests.length, ...tests],
          ...[ownersOf(each).join("; "), tagsOf(each).join("; ")],
        ];
      }),
    ];
  }

  function save(name, content, type) {
    const blob = content instanceof Blob ? content : new Blob([content], { type });
    const address = URL.createObjectURL(blob);
    const link = element("a", { href: address, download: name });
    document.body.append(link);
    link.click();
    link.remove();
    setTimeout(() => URL.revokeObjectURL(address), 10_000);
    say(`${name} saved`);
  }

  function seen(view) {
    if (view === "overview" || view === "list") {
      const root = byId(view === "overview" ? "overview" : "listing");
      return { root, scale: 1, width: root.scrollWidth, height: root.scrollHeight };
    }
    const root = byId("world");
    const scale = root.getBoundingClientRect().width / root.offsetWidth || 1;
    return { root, scale, width: root.offsetWidth, height: root.offsetHeight };
  }

  /**
   * Save the view.
   * @param {"svg" | "png" | "csv"} kind
   * @param {string} view
   * @param {string} name of the file, without its extension
   * @param {() => string[][]} cells for CSV
   */
  function run(kind, view, name, cells) {
    const file = `${name.replace(/[^\p{L}\p{N}._-]+/gu, "_").slice(0, 80) || "lineage"}.${kind}`;
    if (kind === "csv") {
      save(file, csv(cells()), "text/csv");
      return;
    }
    const { root, scale, width, height } = seen(view);
    const shapes = lineage.picture.shapesOf(root, scale);
    const ground = getComputedStyle(document.body).backgroundColor;
    const [wide, tall] = [width + PAD, height + PAD];
    if (kind === "svg") {
      save(file, lineage.picture.svg(shapes, wide, tall, ground), "image/svg+xml");
      return;
    }
    const resolution = Math.min(2, Math.sqrt(MOST_PIXELS / (wide * tall)));
    lineage.picture.canvas(shapes, wide, tall, ground, resolution).toBlob((blob) => blob && save(file, blob, "image/png"));
  }

  return { run, csv, rows };
})();
