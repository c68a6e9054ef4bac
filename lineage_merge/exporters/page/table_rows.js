"use strict";
// What is seen as rows of a table, for CSV.
lineage.tableRows = (() => {
  const { STATES, stateOf, timeText } = lineage.processes;
  const { tagsOf, ownersOf } = lineage.model;
  const { problemOf } = lineage.assertions;

  /** Return what is seen as rows of a CSV file. */
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

  return { rows };
})();
