"use strict";
// The picker of moments, the comparison of two, and what the panel says of it.
lineage.compare = (() => {
  const { element, button, name, byId, counted, say } = lineage.dom;
  const { KINDS, TITLES, SIGNS, titleOf, counts } = lineage.changes;
  const { section } = lineage.details;
  const MOST = 80;

  let data = null;
  let shown = null; // {at, from}: positions of the moment and of the earlier one; null: no comparison
  let isOpen = null; // the summary; null: as the window allows
  const list = () => data.moments.list;

  function build() {
    const { data: own, places } = lineage.moments.restore(data, shown);
    const model = lineage.model.build(own);
    const rows = shown.from === null ? null : data.moments.changes[`${shown.from},${shown.at}`];
    lineage.changes.attach(model, rows && lineage.changes.read(model, rows, places));
    return model;
  }

  /** Return the model of the newest moment. */
  function first(all) {
    data = all;
    shown = { at: list().length - 1, from: null };
    return build();
  }

  /** Return a model of everything that any moment has, for what filters offer. */
  const everything = () => lineage.model.build(data);

  function wanted(params) {
    const place = (key) => list().findIndex((each) => each.key === params.get(key));
    const at = place("moment") < 0 ? list().length - 1 : place("moment");
    const from = place("compare");
    return { at, from: from >= 0 && from < at ? from : null };
  }

  const paramsOf = (hash) => new URLSearchParams(hash.replace(/^#/, ""));

  /** Change the model to the moments of an address; return whether they differ from those that are shown. */
  function turn(model, hash) {
    const next = wanted(paramsOf(hash));
    if (next.at === shown.at && next.from === shown.from) return false;
    shown = next;
    Object.assign(model, build());
    return true;
  }

  /** Add the moments to an address. */
  function write(params) {
    if (shown.at < list().length - 1) params.set("moment", list()[shown.at].key);
    if (shown.from !== null) params.set("compare", list()[shown.from].key);
  }

  /** Complete a state from an address; a link that names only the moments leads to the comparison. */
  function read(params, state) {
    if (shown.from === null) state.filters.changed = "";
    else if (!params.has("view") && !params.has("dataset") && !params.has("band") && !params.has("focus")) {
      state.view = "pipeline";
      state.filters.changed = params.get("changed") ?? "near";
    }
  }

  // The address is the state: going there is one step of the browser's history.
  function go(app, at, from, patch = {}) {
    const params = paramsOf(lineage.links.write(app.model, app.state, null));
    for (const key of ["moment", "compare"]) params.delete(key);
    if (at < list().length - 1) params.set("moment", list()[at].key);
    if (from !== null && from < at) params.set("compare", list()[from].key);
    for (const [key, value] of Object.entries(patch)) params.set(key, value);
    location.hash = params.toString();
  }

  /** Show the comparison: with the earlier moment that is chosen, or the one before. */
  function open(app, from = shown.from) {
    const at = shown.at || list().length - 1;
    isOpen = null;
    const params = { view: "pipeline", changed: app.state.filters.changed || "near" };
    app.change({ ...app.cleared, band: null, focus: null, depth: null, groups: [] });
    go(app, at, from ?? at - 1, params);
  }

  /** Return the view whose tab is current. */
  const tab = (state) =>
    shown.from !== null && state.view === "pipeline" && state.band === null && state.focus === null ? "compare" : state.view;

  const total = (model) => model.changes?.length ?? 0;

  function picker(app) {
    const option = (each, at, chosen) => element("option", { value: at, selected: at === chosen }, each.name);
    const moments = list().map((each, at) => option(each, at, shown.at)).reverse();
    const earlier = list().slice(0, shown.at).map((each, at) => option(each, at, shown.from)).reverse();
    const { model, state } = app;
    byId("moments").replaceChildren(
      element("label", {}, "As of", element("select", { id: "moment" }, moments)),
      list().length > 2 ? element("input", { type: "range", id: "moment-slider", min: 0, max: list().length - 1, value: shown.at, "aria-label": "Moment", "aria-valuetext": list()[shown.at].name }) : "",
      element("label", {}, "compared with", element("select", { id: "compare" }, element("option", { value: "" }, "nothing"), earlier)),
      ...(model.changes
        ? [
            lineage.marks.choices(state),
            button({ class: "small", "data-action": "changes", "aria-expanded": String(isSummary(app)) }, counted(total(model), "change")),
          ]
        : []),
    );
    byId("export-changes").hidden = !model.changes;
  }

  const isSummary = (app) => Boolean(app.model.changes) && (isOpen ?? (!app.isPhone() && app.state.view === "pipeline"));

  /** Draw what surrounds a view: the picker, and the key of the marks. */
  function drawn(app) {
    lineage.marks.redraw(() => picker(app));
    if (!app.model.changes) return;
    const rest = app.model.datasets.filter((each) => !app.passing().dataset(each)).length;
    const actions = Object.keys(SIGNS).filter((action) => app.model.changes.some((each) => each.action === action));
    if (rest && app.state.view === "pipeline" && app.state.filters.changed) {
      byId("key").prepend(element("span", {}, `${counted(rest, "other dataset")} not drawn`));
    }
    byId("key").prepend(...actions.map((action) => lineage.marks.badge({ action, words: `${SIGNS[action]} ${action}` })));
  }

  const numbersOf = (found) =>
    Object.entries(found).flatMap(([action, number]) => (number ? [element("span", { class: `is-${action}`, title: action, "aria-label": `${number} ${action}`, role: "img" }, `${SIGNS[action]}${lineage.dom.digits(number)}`)] : []));

  // What is written of a change beside its name: before and after, or how it is computed.
  function lines(each) {
    const { action } = each;
    if (action === "changed") {
      return each.differences.map(({ name: what, before, after }) =>
        element("div", { class: "was" }, element("span", {}, what), element("del", {}, name(before || "none")), " → ", element("ins", {}, name(after || "none"))),
      );
    }
    const described = each.differences.filter(({ name: what }) => ["job", "expression"].includes(what));
    return described.map(({ name: what, before, after }) => element("div", { class: "was" }, element("span", {}, what), name(after || before)));
  }

  const link = (each, at) => {
    if (at === null || at < 0) return {};
    if (each.kind === "job") return {};
    return each.kind === "dataset" || each.kind === "feed" ? { "data-to-dataset": at } : { "data-to-column": at };
  };

  /** Add to the caption of a frame how its jobs changed. */
  function captioned(caption, writer) {
    const mark = writer && lineage.changes.writerMark(writer.processes);
    if (!mark) return caption;
    return { ...caption, title: `${mark.words[0]} ${caption.title}`, more: [mark.words.slice(2), caption.more].filter((each) => each).join(" · ") };
  }

  function entry(model, each) {
    const words = [each.from === null ? null : [name(titleOf(model, each, each.from)), " → "], name(titleOf(model, each, each.at))];
    const to = link(each, each.at);
    const content = [lineage.marks.badge({ action: each.action, words: `${SIGNS[each.action]} ${each.action}` }), element("span", { class: "title" }, words)];
    return element("li", {}, Object.keys(to).length ? button({ class: "item", ...to }, content) : element("div", { class: "item" }, content), lines(each));
  }

  function entries(model, found) {
    const rest = found.length - MOST;
    return element("ul", {}, found.slice(0, MOST).map((each) => entry(model, each)), rest > 0 ? element("li", { class: "quiet" }, `… and ${lineage.dom.digits(rest)} more; the CSV of changes has all`) : null);
  }

  /** Return the summary of all changes for the panel; null if it is closed. */
  function summary(app) {
    if (!isSummary(app)) return null;
    const { model } = app;
    const kinds = KINDS.map((kind) => [kind, counts(model, kind)]);
    return [
      element(
        "header",
        { id: "changes-title" },
        element("div", {}, element("h2", {}, "What changed"), element("p", { class: "place" }, `${list()[shown.from].name} → ${list()[shown.at].name}`)),
        button({ class: "square close", "data-action": "changes", "aria-label": "Close changes" }, lineage.dom.icon("close", "")),
      ),
      element(
        "dl",
        { class: "facts numbers" },
        kinds.map(([kind, found]) => {
          const numbers = numbersOf(found);
          return element("div", {}, element("dt", {}, TITLES[kind]), element("dd", {}, numbers.length ? numbers : "no changes"));
        }),
      ),
      element(
        "div",
        { id: "changes" },
        kinds.flatMap(([kind]) => {
          const found = model.changes.filter((each) => each.kind === kind);
          return found.length ? [section(TITLES[kind], lineage.dom.digits(found.length), entries(model, found))] : [];
        }),
        lineage.effects.section(model),
        ...[shown.from, shown.at].map((at) => section(`Merges as of ${list()[at].name}`, "", element("ul", {}, list()[at].merges.map((each) => element("li", {}, name(each)))))),
      ),
    ];
  }

  function changesOf(model, { column, dataset, edge, writer }) {
    if (column) return column.mark?.changes ?? [];
    if (edge) return edge.feeds.map((feed) => model.feedChanges.get(`${feed.from}>${feed.to}`)).filter(Boolean);
    if (writer) return writer.processes.flatMap((each) => each.mark?.changes ?? []);
    const columns = dataset.columns.flatMap((each) => each.mark?.changes ?? []);
    const feeds = model.changes.filter((each) => each.kind === "feed" && [each.at, each.from].includes(dataset.index));
    return [...(dataset.mark?.changes ?? []), ...feeds, ...columns];
  }

  /** Add to the details of the selection how it changed. */
  function explain(content, app, writer) {
    const { model, state, scene } = app;
    if (!content || !model.changes) return content;
    const subject = {
      column: model.columns[state.column],
      dataset: model.datasets[state.dataset],
      edge: state.edge === null ? null : scene.edges.find((each) => each.key === state.edge),
      writer,
    };
    const found = [...new Set(changesOf(app.model, subject))];
    const mark = (subject.column ?? subject.dataset)?.mark;
    if (!found.length && !mark) return content;
    const title = `Changed since ${list()[shown.from].name}`;
    const made = section(title, "", mark ? element("p", {}, lineage.marks.badge(mark)) : null, entries(model, found));
    made.id = "changes";
    content.splice(1, 0, made);
    return content;
  }

  /** Add the controls and their events. */
  function start(app) {
    lineage.marks.start(app, "Moment");
    byId("export").append(button({ id: "export-changes", "data-export": "changes" }, "CSV of changes"));
    app.actions.week = () => open(app, weekAgo().from);
    app.actions.changes = () => {
      isOpen = !isSummary(app);
      app.change(app.cleared, { words: isOpen ? "changes shown" : "changes hidden" });
    };
    byId("moments").addEventListener("change", (event) => {
      const value = event.target.value;
      if (event.target.id !== "compare") go(app, Number(value), shown.from);
      else go(app, shown.at, value === "" ? null : Number(value));
    });
  }

  // The earlier moment that is nearest to a week before the one that is shown.
  function weekAgo() {
    const time = (each) => Date.parse(each.key);
    const [now, WEEK] = [time(list()[shown.at]), 604_800_000];
    const apart = (each) => Math.abs(now - time(each) - WEEK);
    const found = list().slice(0, shown.at).reduce((a, b) => (a && apart(a) <= apart(b) ? a : b), null);
    return found && { from: list().indexOf(found), age: lineage.processes.ageOf(time(found), now) };
  }

  /** Return how much changed in about a week, in words; null without an earlier moment. */
  function week() {
    const found = weekAgo();
    if (!found) return null;
    const number = data.moments.changes[`${found.from},${shown.at}`].length;
    return { number, words: `${number === 1 ? "change" : "changes"} in ${found.age}`, title: "Compare with then" };
  }

  /** Return what is shown, in words. */
  const words = (model) => {
    const now = `as of ${list()[shown.at].name}`;
    return shown.from === null ? now : `${now}, compared with ${list()[shown.from].name}: ${counted(total(model), "change")}`;
  };

  const announce = (model) => say(words(model));

  return { label: "Compare", first, everything, week, turn, write, read, open, tab, drawn, summary, explain, captioned, start, announce };
})();
