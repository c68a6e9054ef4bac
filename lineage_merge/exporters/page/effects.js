"use strict";
// Dashboards downstream of the changes between two moments, and where their lineage begins in each.
lineage.effects = (() => {
  const { element, button, name, digits } = lineage.dom;
  const MOST = 80;
  const MOST_NAMES = 3;
  // Properties that readers depend on: not owners, descriptions, names of jobs and so on.
  const RELEVANT = new Set(["kind", "location", "format", "type", "expression", "transformation"]);

  // Datasets as a whole and columns are vertices of one graph; those of datasets are negative.
  const whole = (dataset) => -1 - dataset;
  const datasetOf = (model, at) => (at < 0 ? -1 - at : model.columns[at].dataset);

  // By feed: the columns that it computes, and the dataset if it controls the rows.
  function targetsOfFeeds(model) {
    const found = new Map();
    const add = (from, to, at) => {
      const key = `${model.columns[from].dataset}>${to}`;
      if (!found.has(key)) found.set(key, []);
      found.get(key).push(at);
    };
    for (const { from, to } of model.columnFeeds) add(from, model.columns[to].dataset, to);
    for (const { from, to } of model.influences) add(from, to, whole(to));
    return found;
  }

  /** Return what a change affects first. Each feed of an added or removed dataset is a change of its own. */
  function startsOf(model, ofFeeds, { kind, action, at, from, differences }) {
    if (kind === "job" || at === null || at < 0) return [];
    if (kind === "feed") return ofFeeds.get(`${from}>${at}`) ?? [whole(at)];
    const isChanged = action === "changed";
    if (isChanged && !differences.some((each) => RELEVANT.has(each.name))) return [];
    if (kind !== "dataset") return [at];
    return isChanged || model.datasets[at].kind === "exposure" ? [whole(at)] : [];
  }

  // A feed whose job has no column lineage passes every change on.
  function passesEverything(model) {
    const known = new Set();
    for (const edge of model.columnFeeds) known.add(`${model.columns[edge.to].dataset} ${edge.job}`);
    for (const edge of model.influences) known.add(`${edge.to} ${edge.job}`);
    return (edge) => lineage.model.isLost(edge) || !known.has(`${edge.to} ${edge.job}`);
  }

  /** Return what changes reach, each with the vertices before it, and the vertices that changed. */
  function reached(model) {
    const passes = passesEverything(model);
    const next = (at) => {
      const { down } = model.datasets[datasetOf(model, at)];
      if (at < 0) return down.map((edge) => whole(edge.to));
      const column = model.columns[at];
      return [...column.fields.map((field) => field.index), ...column.down.map((edge) => edge.to), ...column.decides.map((edge) => whole(edge.to)), ...down.filter(passes).map((edge) => whole(edge.to))];
    };
    const ofFeeds = targetsOfFeeds(model);
    const starts = new Set(model.changes.flatMap((each) => startsOf(model, ofFeeds, each)));
    const before = new Map([...starts].map((at) => [at, new Set()]));
    const waiting = [...starts];
    while (waiting.length) {
      const at = waiting.pop();
      for (const to of next(at)) {
        if (!before.has(to)) {
          before.set(to, new Set());
          waiting.push(to);
        }
        before.get(to).add(at);
      }
    }
    return { starts, before };
  }

  // The datasets upstream at a moment, and those of them without inputs; `other`: the action of feeds of the other moment.
  function traceOf(model, actions, dataset, other) {
    const inputs = (at) => model.datasets[at].up.filter((edge) => actions[edge.index] !== other);
    const upstream = lineage.model.reach([dataset], (at) => inputs(at).map((edge) => edge.from));
    return { upstream, ends: [...upstream.keys()].filter((at) => at !== dataset && !inputs(at).length) };
  }

  function traceChanges(model, actions, dataset) {
    if (["added", "removed"].includes(dataset.mark?.action)) return [];
    const [before, after] = ["added", "removed"].map((other) => traceOf(model, actions, dataset.index, other));
    const different = (one, other, ...words) => {
      const ends = one.ends.filter((at) => !other.ends.includes(at));
      return words.map((each, isUpstream) => [each, ends.filter((at) => other.upstream.has(at) === Boolean(isUpstream))]);
    };
    return [
      ...different(after, before, "now traces back to", "now the trace ends at"),
      ...different(before, after, "no longer traces back to", "before, the trace ended at"),
    ];
  }

  /**
   * Return the dashboards downstream of changes and their number. Of the first ones: what changed upstream, nearest
   * first, and how their traces differ.
   */
  function dashboards(model) {
    const { starts, before } = reached(model);
    const actions = model.feeds.map((edge) => model.feedChanges.get(`${edge.from}>${edge.to}`)?.action);
    const found = model.datasets.filter((each) => each.kind === "exposure" && before.has(whole(each.index)));
    const listed = found.slice(0, MOST).map((dataset) => {
      const path = lineage.model.reach([whole(dataset.index)], (at) => [...before.get(at)]);
      const changed = [...path.keys()].filter((at) => starts.has(at)).map((at) => datasetOf(model, at));
      const upstream = [...new Set(changed)].filter((at) => at !== dataset.index);
      return { dataset, lines: [["changed upstream", upstream], ...traceChanges(model, actions, dataset)].filter(([, each]) => each.length) };
    });
    return { listed, total: found.length };
  }

  function line(model, [what, found]) {
    const names = found.slice(0, MOST_NAMES).flatMap((at, place) => [place ? ", " : null, name(model.datasets[at].title)]);
    const rest = found.length - MOST_NAMES;
    return element("div", { class: "was" }, element("span", {}, what), names, rest > 0 ? ` and ${digits(rest)} more` : null);
  }

  function entry(model, { dataset, lines }) {
    const content = [lineage.dom.icon(dataset.kind), element("span", { class: "title" }, name(dataset.title)), lineage.marks.badge(dataset.mark)];
    return element("li", {}, button({ class: "item", "data-to-dataset": dataset.index }, content), lines.map((each) => line(model, each)));
  }

  /** Return the section about dashboards for the summary of changes; null if the page has none. */
  function section(model) {
    const all = model.datasets.filter((each) => each.kind === "exposure").length;
    if (!all) return null;
    // Stored with the changes: the summary is drawn again on each change of the page.
    const { listed, total } = (model.changes.dashboards ??= dashboards(model));
    const rest = total - listed.length;
    return lineage.details.section(
      "Effect on dashboards",
      `${digits(total)} of ${digits(all)}`,
      element("ul", {}, listed.map((each) => entry(model, each)), rest > 0 ? element("li", { class: "quiet" }, `… and ${digits(rest)} more`) : null),
    );
  }

  return { section };
})();
