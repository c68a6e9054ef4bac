"use strict";
// The review of a change: its findings at the elements of the graph, and in the panel.
lineage.compare = (() => {
  const { element, button, name, icon, byId, counted, digits } = lineage.dom;
  const { section } = lineage.details;
  const SEVERITIES = { breaking: "Breaking", policy: "Policies violated", changed: "Changed", info: "Information" };
  const EFFECTS = { breaks: "✕ breaks", changes: "→ changes", depends: "→ affected", "": "→ affected" };
  const MOST = 80;
  const MOST_NAMES = 5;

  let review = null;
  let isOpen = null; // the summary; null: as the window allows

  const datasetOf = (model, [id]) => model.byId.get(id) ?? null;
  function columnOf(model, [id, column]) {
    const wanted = column.toLowerCase();
    return (column && model.byId.get(id)?.columns.find((each) => each.name.toLowerCase() === wanted)) || null;
  }
  const indexOf = (model, place) => (place[1] ? columnOf(model, place) : datasetOf(model, place))?.index ?? -1;

  // One change per element, of all its findings.
  function changesOf(model) {
    const found = new Map();
    const add = (kind, at, action, differences = []) => {
      if (at < 0) return;
      const known = found.get(`${kind}${at}`) ?? { kind, action, at, from: null, differences: [] };
      if (action !== "changed") known.action = action;
      known.differences.push(...differences);
      found.set(`${kind}${at}`, known);
    };
    const of = (place, ...rest) => (columnOf(model, place) ? add("column", columnOf(model, place).index, ...rest) : add("dataset", datasetOf(model, place)?.index ?? -1, ...rest));
    for (const { at, action, kind, before, after } of review.findings) {
      const isPart = at[1] && !columnOf(model, at);
      of(at, isPart ? "changed" : action, [{ name: kind.replace(/^column | changed$/g, ""), before, after }]);
    }
    for (const place of review.added) of(place, "added");
    return [...found.values()];
  }

  // Lines of feeds that only one version has.
  function line(model) {
    for (const [action, source, target] of review.edges) {
      const [from, to] = [indexOf(model, source), indexOf(model, target)];
      if (from < 0 || to < 0) continue;
      (source[1] ? model.stepChanges : model.feedChanges).set(`${from}>${to}`, { action });
      if (!source[1]) for (const end of [from, to]) model.datasets[end].only = true;
    }
  }

  // A mark has its worst severity in words, and first where these may be cut.
  function rate(model) {
    for (const { severity, at } of [...review.findings].reverse()) {
      if (severity !== "breaking" && severity !== "policy") continue;
      for (const { mark } of [datasetOf(model, at), columnOf(model, at)].filter((each) => each?.mark)) {
        mark.words = mark.action === "changed" ? `${mark.words[0]} ${severity}, ${mark.text}` : `${mark.text}, ${severity}`;
      }
    }
  }

  // What is downstream of the changes: the worst that happens to it.
  function reach(model) {
    const order = Object.keys(EFFECTS);
    const worst = new Map();
    for (const { affected } of review.findings) {
      for (const [id, effect] of affected) {
        const dataset = model.byId.get(id);
        if (dataset && (!worst.has(dataset) || order.indexOf(effect) < order.indexOf(worst.get(dataset)))) worst.set(dataset, effect);
      }
    }
    for (const [dataset, effect] of worst) {
      const breaks = effect === "breaks";
      if (!dataset.mark) dataset.mark = { action: breaks ? "broken" : "reached", changes: [], words: EFFECTS[effect] };
      else if (breaks && dataset.mark.action === "changed") dataset.mark.words += ", breaks";
      dataset.only ||= breaks;
    }
    for (const { columns } of review.findings) {
      for (const place of columns) {
        const column = columnOf(model, place);
        if (!column || column.mark) continue;
        column.mark = { action: "broken", changes: [], words: EFFECTS.breaks };
        lineage.changes.feature(model.datasets[column.dataset]);
      }
    }
    lineage.changes.spread(model);
    for (const dataset of worst.keys()) dataset.near = true;
  }

  /** Return the model with the findings at its elements. */
  function first(data) {
    ({ review } = data);
    const model = lineage.model.build(data);
    lineage.changes.attach(model, changesOf(model));
    line(model);
    for (const { mark } of [...model.datasets, ...model.columns]) if (mark) mark.text = mark.action === "changed" ? mark.words.slice(2) : mark.words;
    rate(model);
    reach(model);
    return model;
  }

  /** A link that names nothing leads to the review. */
  function read(_, state) {
    state.view ??= "pipeline";
  }

  const open = (app) => {
    isOpen = null;
    app.change({ ...app.cleared, view: app.isPhone() ? "list" : "pipeline", band: null, focus: null, depth: null, groups: [] }, { opens: true, words: words() });
  };
  const tab = (state) => (state.view === "pipeline" && state.band === null && state.focus === null ? "compare" : state.view);
  const isSummary = (app) => isOpen ?? (!app.isPhone() && app.state.view === "pipeline");

  const ofSeverity = (severity) => review.findings.filter((each) => each.severity === severity);
  const words = () =>
    Object.keys(SEVERITIES).flatMap((severity) => (ofSeverity(severity).length ? [`${digits(ofSeverity(severity).length)} ${severity}`] : [])).join(", ") || "no findings";

  /** Draw the bar above the views. */
  function drawn(app) {
    lineage.marks.redraw(() =>
      byId("moments").replaceChildren(
        element("span", {}, "Review", review.base ? [" against ", name(review.base)] : null, `: ${words()}`),
        lineage.marks.choices(app.state),
        button({ class: "small", id: "findings", "data-action": "changes", "aria-expanded": String(isSummary(app)) }, counted(review.findings.length, "finding")),
      ),
    );
    const actions = { added: "+ added", removed: "− removed", changed: "~ changed", broken: EFFECTS.breaks, reached: EFFECTS[""] };
    const shown = new Set([...app.model.datasets, ...app.model.columns].map(({ mark }) => mark?.action));
    byId("key").prepend(...Object.entries(actions).flatMap(([action, text]) => (shown.has(action) ? [lineage.marks.badge({ action, words: text })] : [])));
  }

  const some = (names) => [...names].slice(0, MOST_NAMES).join(", ") + (names.length > MOST_NAMES ? ` and ${digits(names.length - MOST_NAMES)} more` : "");

  function entry(model, found) {
    const { severity, kind, action, title, message, after, at, file, owners, affected, tests } = found;
    const [column, dataset] = [columnOf(model, at), datasetOf(model, at)];
    const link = column ? { "data-to-column": column.index } : dataset ? { "data-to-dataset": dataset.index } : null;
    const content = [
      lineage.marks.badge({ action: severity === "breaking" || severity === "policy" ? "broken" : action, words: kind }),
      element("span", { class: "title" }, name(title)),
    ];
    const reached = (isBroken) => affected.filter(([, effect]) => (effect === "breaks") === isBroken).map(([id]) => model.byId.get(id)?.title ?? id);
    const lines = [
      ["", message],
      ["fix", kind === "policy violated" ? after : ""],
      ["file", file],
      ["breaks", some(reached(true))],
      ["affects", some(reached(false))],
      ["tests", some(tests.map(([test, effect]) => (effect ? `${test}: ${effect}` : test)))],
      ["owners", some(owners)],
    ];
    return element(
      "li",
      {},
      link ? button({ class: "item", ...link }, content) : element("div", { class: "item" }, content),
      lines.filter(([, text]) => text).map(([what, text]) => element("div", { class: "was" }, what ? element("span", {}, what) : null, name(text))),
    );
  }

  function entries(model, found) {
    const rest = found.length - MOST;
    return element("ul", {}, found.slice(0, MOST).map((each) => entry(model, each)), rest > 0 ? element("li", { class: "quiet" }, `… and ${digits(rest)} more; the formats csv and json have all`) : null);
  }

  /** Return the findings for the panel; null if it is closed. */
  function summary(app) {
    if (!isSummary(app)) return null;
    const parts = Object.entries(SEVERITIES).flatMap(([severity, title]) => {
      const found = ofSeverity(severity);
      return found.length ? [section(title, digits(found.length), entries(app.model, found))] : [];
    });
    return [
      element(
        "header",
        {},
        element("div", {}, element("h2", {}, "Findings"), element("p", { class: "place" }, words())),
        button({ class: "square close", "data-action": "changes", "aria-label": "Close findings" }, icon("close", "")),
      ),
      element("div", { id: "changes" }, parts, review.notes.length ? section("Notes", "", element("ul", {}, review.notes.map((note) => element("li", {}, name(note))))) : null),
    ];
  }

  /** Add to the details of the selection its findings, and those that affect it. */
  function explain(content, app) {
    const { model, state } = app;
    const subject = model.columns[state.column] ?? model.datasets[state.dataset];
    if (!content || !subject) return content;
    const { id } = state.column === null ? subject : model.datasets[subject.dataset];
    const isOwn = ({ at }) => at[0] === id && (state.column === null || columnOf(model, at) === subject);
    const isCause = ({ affected, columns }) =>
      state.column === null ? affected.some(([of]) => of === id) : columns.some((place) => columnOf(model, place) === subject);
    const own = review.findings.filter(isOwn);
    const causes = review.findings.filter((each) => !isOwn(each) && isCause(each));
    if (!own.length && !causes.length && !subject.mark) return content;
    const badge = lineage.marks.badge(subject.mark);
    const made = element(
      "div",
      { id: "changes" },
      section("Review", "", badge ? element("p", {}, badge) : null, own.length ? entries(model, own) : null),
      causes.length ? section("Because of", digits(causes.length), entries(model, causes)) : null,
    );
    content.splice(1, 0, made);
    return content;
  }

  /** Add the bar and its events. */
  function start(app) {
    lineage.marks.start(app, "Review");
    app.actions.week = () => open(app);
    app.actions.changes = () => {
      isOpen = !isSummary(app);
      app.change(app.cleared, { words: isOpen ? "findings shown" : "findings hidden" });
    };
  }

  // The number of findings is in the place of the changes of a week.
  const week = () => ({ number: review.findings.length, words: review.findings.length === 1 ? "finding" : "findings", title: words(), isAll: true });

  return {
    label: "Review",
    first,
    everything: () => null,
    week,
    turn: () => false,
    write: () => {},
    read,
    open,
    tab,
    drawn,
    summary,
    explain,
    captioned: (caption) => caption,
    start,
  };
})();
