"use strict";
// Changes between two moments or of a review, at the elements of the model (pure).
lineage.changes = (() => {
  const { counted } = lineage.dom;
  const KINDS = ["dataset", "job", "feed", "column", "expression"];
  const TITLES = { dataset: "Datasets", job: "Jobs", feed: "Feeds", column: "Columns", expression: "Column lineage" };
  const ACTIONS = ["added", "removed", "changed"];
  const SIGNS = { added: "+", removed: "−", changed: "~" };
  const PROPERTIES = { data_type: "type", label: "kind", owners: "owner" };
  const MOST_FEATURED = 8;

  const property = (name) => PROPERTIES[name] ?? name.replace(/_/g, " ");

  /** Return changes of two moments as `attach` takes them: with indexes of the model instead of the data's. */
  function read(model, rows, places) {
    const element = (kind, at) => {
      if (at === null) return null;
      if (kind === 0 || kind === 2) return places.datasets[at] ?? -1;
      if (kind === 1) return places.jobs[at] ?? -1;
      const dataset = places.datasets[at[0]] ?? -1;
      return model.datasets[dataset]?.columns[places.columns[at[0]]?.[at[1]] ?? -1]?.index ?? -1;
    };
    return rows.map(([kind, action, at, source, differences]) => ({
      kind: KINDS[kind],
      action: ACTIONS[action],
      at: element(kind, at),
      from: element(kind, source),
      differences: differences.map(([name, before, after]) => ({ name: property(name), before, after })),
    }));
  }

  // A mark: {action, changes, words}; words have a sign, so that a colour never stands alone.
  function mark(action, changes, text) {
    return { action, changes, words: `${SIGNS[action]} ${action === "changed" ? text : action}` };
  }

  function columnMark(changes) {
    const own = changes.find((each) => each.kind === "column");
    if (own && own.action !== "changed") return mark(own.action, changes);
    const names = [...new Set(changes.flatMap((each) => (each.kind === "column" ? each.differences.map(({ name }) => name) : [expressionWord(each)])))];
    return mark("changed", changes, names.join(", "));
  }

  const expressionWord = (each) =>
    each.action === "changed" && each.differences.some(({ name }) => name === "expression") ? "expression" : "lineage";

  function datasetMark(own, columns) {
    if (own && own.action !== "changed") return mark(own.action, [own]);
    const names = (own?.differences ?? []).map(({ name }) => name);
    if (columns) names.unshift(counted(columns, "column"));
    return names.length ? mark("changed", own ? [own] : [], names.join(", ")) : null;
  }

  /** Draw the columns that have a mark first, in the card of their dataset. */
  function feature(dataset) {
    const marked = dataset.columns.filter((column) => column.mark);
    if (!marked.length) return;
    const isMore = marked.length > MOST_FEATURED;
    dataset.featured = { rows: marked.slice(0, MOST_FEATURED), more: isMore ? dataset.columns.length - MOST_FEATURED : 0 };
  }

  /** Note which datasets changed, or are neighbours of one that did. */
  function spread({ datasets }) {
    for (const dataset of datasets) {
      dataset.near = dataset.only || [...dataset.up.map((edge) => edge.from), ...dataset.down.map((edge) => edge.to)].some((at) => datasets[at].only);
    }
  }

  /** Add changes to a new model; null: no comparison. */
  function attach(model, changes) {
    const found = changes ?? [];
    const byElement = new Map();
    const [feeds, steps] = [new Map(), new Map()];
    const note = (kind, at, each) => {
      const key = `${kind}${at}`;
      if (!byElement.has(key)) byElement.set(key, []);
      byElement.get(key).push(each);
    };
    for (const each of found) {
      if (each.kind === "feed") feeds.set(`${each.from}>${each.at}`, each);
      else if (each.kind === "expression") steps.set(`${each.from}>${each.at}`, each);
      note(each.kind === "expression" ? "column" : each.kind, each.at, each);
    }
    const ends = new Set([...feeds.keys()].flatMap((key) => key.split(">").map(Number)));
    for (const dataset of model.datasets) {
      const [own] = byElement.get(`dataset${dataset.index}`) ?? [];
      const isWhole = own && own.action !== "changed";
      for (const column of dataset.columns) {
        const changes = byElement.get(`column${column.index}`);
        if (isWhole) column.mark = mark(own.action, []);
        else if (changes) column.mark = columnMark(changes);
      }
      dataset.mark = datasetMark(own, dataset.columns.filter((column) => column.mark).length);
      dataset.only = Boolean(dataset.mark) || ends.has(dataset.index);
      feature(dataset);
    }
    spread(model);
    for (const process of model.processes) {
      const changes = process.jobs.flatMap((job) => byElement.get(`job${job}`) ?? []);
      const actions = new Set(changes.map((each) => each.action));
      const isAll = changes.length === process.jobs.length && actions.size === 1;
      const names = [...new Set(changes.flatMap((each) => each.differences.map(({ name }) => name)))];
      process.mark = changes.length ? mark(isAll ? changes[0].action : "changed", changes, names.join(", ") || "DAGs") : null;
    }
    Object.assign(model, { changes, feedChanges: feeds, stepChanges: steps });
  }

  /** Return the action that all edges of a line share; "changed" if some of them changed, "" for none. */
  function lineAction(model, edge) {
    const keys = edge.step ? [`${edge.step.from}>${edge.step.to}`] : (edge.feeds ?? [edge.feed]).filter(Boolean).map((feed) => `${feed.from}>${feed.to}`);
    const known = edge.step ? model.stepChanges : model.feedChanges;
    const actions = keys.map((key) => known.get(key)?.action ?? "");
    const [first = ""] = actions;
    if (actions.every((each) => each === first)) return first;
    return actions.some((each) => each) ? "changed" : "";
  }

  /** Return the mark of what several processes have in common; null for none. */
  function writerMark(processes) {
    const marks = processes.map((each) => each.mark).filter((each) => each);
    const isAll = marks.length === processes.length && new Set(marks.map((each) => each.action)).size === 1;
    if (isAll || !marks.length) return marks[0] ?? null;
    return { action: "changed", words: `~ ${counted(marks.length, "job")} changed` };
  }

  const datasetTitle = (model, at) => (at < 0 ? "" : model.datasets[at].title);
  const columnTitle = (model, at) => (at < 0 ? "" : `${datasetTitle(model, model.columns[at].dataset)}#${model.columns[at].name}`);

  /** Return the full name of an end of a change: a dataset, job or column. */
  function titleOf(model, { kind }, at) {
    if (at === null || at < 0) return "";
    if (kind === "job") return model.jobs[at].name;
    return kind === "dataset" || kind === "feed" ? datasetTitle(model, at) : columnTitle(model, at);
  }

  /** Return the number of changes of a kind per action. */
  const counts = (model, kind) =>
    Object.fromEntries(ACTIONS.map((action) => [action, model.changes.filter((each) => each.kind === kind && each.action === action).length]));

  function environmentOf(model, { kind, at }) {
    if (at < 0) return "";
    if (kind === "job") return model.jobs[at].environment;
    return model.datasets[kind === "dataset" || kind === "feed" ? at : model.columns[at].dataset].environment;
  }

  /** Return the changes as rows of a CSV file: one per property. */
  function rows(model) {
    return [
      ["kind", "action", "environment", "element", "from", "property", "before", "after"],
      ...model.changes.flatMap((each) => {
        const own = [each.kind, each.action, environmentOf(model, each), titleOf(model, each, each.at), titleOf(model, each, each.from)];
        const all = each.differences.length ? each.differences : [{ name: "", before: "", after: "" }];
        return all.map(({ name, before, after }) => [...own, name, before, after]);
      }),
    ];
  }

  return { read, attach, feature, spread, lineAction, writerMark, titleOf, counts, rows, KINDS, TITLES, SIGNS };
})();
