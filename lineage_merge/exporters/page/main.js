"use strict";
// The state of the page and its transitions.
lineage.main = (() => {
  const { element, name, byId, counted, say } = lineage.dom;
  const { cardOf } = lineage.drawing;
  const LATER = 400;
  // Names are unreadable below this scale.
  const SMALL = 0.5;

  const data = JSON.parse(byId("data").textContent);
  const model = lineage.model.build(data);

  const fresh = () => ({
    filters: { dag: "", environment: "", label: "", job: "" },
    grouping: "folder",
    focus: null, // the dataset whose lineage is shown
    depth: null, // in hops; null: unlimited
    only: false, // show only the lineage of the selection
    dataset: null, // selected
    column: null, // selected
    edge: null, // selected
    open: new Set(), // datasets with visible columns
    whole: new Set(), // of those, datasets with all columns visible
    groups: [], // opened groups
  });

  let state = fresh();
  let scene = null;
  let drawn = "";
  let trace = null;
  let hovered = null;
  let saving = 0;
  const viewport = lineage.viewport.over(byId("stage"), byId("world"), () => save(false));

  function traced() {
    const passes = lineage.model.passing(model, state.filters);
    if (state.column !== null) return lineage.model.columnTrace(model, state.column, passes);
    if (state.dataset !== null) return lineage.model.datasetTrace(model, state.dataset, passes);
    return null;
  }

  // The input of the layout: while it is unchanged, no new layout is needed.
  const signature = (next) =>
    JSON.stringify([
      next.nodes.map((node) => [
        node.key,
        node.rows.map((row) => row.index),
        node.more,
        state.open.has(node.index),
      ]),
      next.edges.map((edge) => [edge.key, edge.feeds.map((feed) => feed.index)]),
    ]);

  function focusedPlace() {
    const at = document.activeElement;
    if (!byId("cards").contains(at)) return null;
    return {
      key: at.closest(".card").dataset.key,
      column: at.dataset.column,
      toggle: at.matches(".toggle, .more"),
    };
  }

  function refocus(place) {
    if (!place) return;
    const card = cardOf(place.key);
    const inside =
      place.column !== undefined
        ? lineage.drawing.columnOf(place.column)
        : place.toggle
          ? card?.querySelector(".toggle")
          : null;
    (inside ?? card ?? byId("stage")).focus({ preventScroll: true });
  }

  // The panel takes room from the graph when it opens: what was selected stays in sight.
  function uncover(widthBefore) {
    const index = selected();
    if (byId("stage").clientWidth >= widthBefore || index === null) return;
    const node = scene.nodes[scene.nodeOf.get(index)];
    if (node) viewport.reveal(node.box);
  }

  // What a filter, a closed group or a link hides cannot be selected: everything else would be dim.
  function isHidden(made) {
    const index = selected();
    if (index !== null) return !made.nodeOf.has(index);
    return state.edge !== null && !made.edges.some((each) => each.key === state.edge);
  }

  function make() {
    trace = traced();
    const made = lineage.scene.make(model, state, trace);
    if (!isHidden(made)) return made;
    state = { ...state, dataset: null, column: null, edge: null, only: false };
    return make();
  }

  // `keep`: key of a box that keeps its position on the screen; without it, fit everything.
  function refresh({ keep = null, fits = false } = {}) {
    const { clientWidth } = byId("stage");
    const next = make();
    const print = signature(next);
    const anchor = keep && scene?.nodes.find((node) => node.key === keep)?.box;
    const changes = print !== drawn;
    if (changes) {
      const place = focusedPlace();
      lineage.layout.place(model, next);
      scene = next;
      drawn = print;
      lineage.drawing.scene(model, state, scene);
      refocus(place);
    } else {
      scene = { ...next, nodes: scene.nodes, edges: scene.edges, size: scene.size };
    }
    hovered = null;
    lineage.drawing.light(model, state, scene, trace);
    lineage.panel.show(model, state, scene, trace);
    lineage.filters.show(state.filters);
    byId("grouping").value = state.grouping;
    showTrail();
    showCounts();
    showTabStop();
    // Last, when the elements around the graph have their final size.
    const now = anchor && scene.nodes.find((node) => node.key === keep)?.box;
    if (fits || (changes && !now)) {
      arrive();
    } else {
      if (changes) {
        const { view } = viewport;
        viewport.set({
          x: view.x + (anchor.x - now.x) * view.scale,
          y: view.y + (anchor.y - now.y) * view.scale,
        });
      }
      uncover(clientWidth);
    }
  }

  // Show everything, or the selection if everything would be unreadably small.
  function arrive() {
    viewport.fit(scene.size);
    const index =
      state.focus ?? state.dataset ?? (state.column === null ? null : model.columns[state.column].dataset);
    const node = index === null ? null : scene.nodes[scene.nodeOf.get(index)];
    if (viewport.view.scale < SMALL && node) viewport.centre(node.box);
  }

  function change(patch, { keep = null, fits = false, words = "" } = {}) {
    state = { ...state, ...patch };
    refresh({ keep, fits });
    save(true);
    if (words) say(words);
  }

  // Selections are steps in the browser's history, moves of the view are not.
  function save(isStep) {
    clearTimeout(saving);
    if (!scene) return;
    const write = () => {
      const hash = `#${lineage.links.write(model, state, viewport.view)}`;
      if (hash === location.hash) return;
      try {
        if (isStep) history.pushState(null, "", hash);
        else history.replaceState(null, "", hash);
      } catch {
        // A frame without an address has no history.
      }
    };
    if (isStep) write();
    else saving = setTimeout(write, LATER);
  }

  function showTrail() {
    const chip = (words, close, label, ...more) =>
      element(
        "span",
        { class: "chip" },
        words,
        ...more,
        element("button", { type: "button", "data-close": close, "aria-label": label }, "×"),
      );
    const chips = [];
    if (state.only) {
      const at =
        state.column === null ? model.datasets[state.dataset].name : model.columns[state.column].name;
      chips.push(chip(element("span", {}, "Only the lineage of ", name(at)), "only", "Show all"));
    }
    if (state.focus !== null && !state.only) {
      const options = [1, 2, 3, 5, 10].map((depth) =>
        element("option", { value: depth, selected: state.depth === depth }, `${depth} up and down`),
      );
      const depth = element(
        "select",
        { id: "depth", "aria-label": "How far" },
        element("option", { value: "", selected: state.depth === null }, "unlimited"),
        options,
      );
      const words = element("span", {}, "Lineage of ", name(model.datasets[state.focus].name), " ");
      chips.push(chip(words, "focus", "Show all", depth));
    }
    scene.opened.forEach((each) => {
      chips.push(
        chip(
          element("span", {}, "Opened ", name(each.name)),
          `group ${each.key}`,
          `Close group ${each.name}`,
        ),
      );
    });
    byId("trail").replaceChildren(...chips);
    byId("trail").hidden = !chips.length;
  }

  function showCounts() {
    const groups = scene.nodes.filter((node) => node.kind === "group");
    const inside = groups.reduce((sum, node) => sum + node.members.length, 0);
    const alone = scene.nodes.length - groups.length;
    const parts = alone || !groups.length ? [counted(alone, "dataset")] : [];
    if (groups.length) parts.push(`${inside.toLocaleString("en")} in ${counted(groups.length, "group")}`);
    if (scene.total < model.datasets.length) parts.push(`of ${model.datasets.length.toLocaleString("en")}`);
    byId("counts").textContent = parts.join(", ");
    byId("nothing").hidden = scene.total > 0;
  }

  const first = () => {
    const index = state.dataset ?? state.focus;
    const chosen = index === null ? null : scene.nodes[scene.nodeOf.get(index)];
    const left = [...scene.nodes].sort((a, b) => a.box.x - b.box.x || a.box.y - b.box.y)[0];
    return chosen ?? left;
  };

  // One box is reachable by Tab; arrow keys move from there.
  function showTabStop() {
    for (const card of byId("cards").children) card.tabIndex = -1;
    const card = first() && cardOf(first().key);
    if (card) card.tabIndex = 0;
    byId("stage").tabIndex = card ? -1 : 0;
  }

  function select(index, { centre = false } = {}) {
    const dataset = model.datasets[index];
    const words = `${dataset.name}, ${dataset.kind}`;
    const node = scene.nodes[scene.nodeOf.get(index)];
    if (node?.kind === "dataset") {
      change({ dataset: index, column: null, edge: null, only: false }, { keep: node.key, words });
      const box = scene.nodes[scene.nodeOf.get(index)]?.box;
      if (centre && box) viewport.centre(box);
    } else {
      change(
        { focus: index, depth: null, dataset: index, column: null, edge: null, only: false, groups: [] },
        { fits: true, words },
      );
    }
  }

  function selectColumn(index, { centre = false } = {}) {
    const column = model.columns[index];
    const words = `column ${column.name} of ${model.datasets[column.dataset].name}`;
    const patch = { dataset: null, column: index, edge: null };
    const node = scene.nodes[scene.nodeOf.get(column.dataset)];
    if (node?.kind === "dataset") {
      change(patch, { keep: node.key, words });
      const box = scene.nodes[scene.nodeOf.get(column.dataset)]?.box;
      if (centre && box) viewport.centre(box);
    } else {
      change(
        { ...patch, only: false, focus: column.dataset, depth: null, groups: [] },
        { fits: true, words },
      );
    }
  }

  function toggleColumns(index) {
    const open = new Set(state.open);
    const opens = !open.has(index) && model.datasets[index].columns.length > 0;
    if (opens) open.add(index);
    else open.delete(index);
    change({ open }, { keep: `d${index}`, words: opens ? "columns shown" : "columns hidden" });
  }

  function openGroup(node) {
    let groups = [...state.groups, node.group.key];
    const hasRoom = () =>
      lineage.scene
        .make(model, { ...state, groups }, trace)
        .opened.some((each) => each.key === node.group.key);
    // If there is not enough room, close the groups that were opened first.
    while (groups.length > 1 && !hasRoom()) groups = groups.slice(1);
    change({ groups }, { fits: true, words: `opened ${node.group.name}` });
    const members = new Set(node.members);
    const inside = scene.nodes.filter((each) => members.has(each.members[0]));
    if (viewport.view.scale < SMALL) viewport.frame(inside.map((each) => each.box));
    if (inside.length) cardOf(inside[0].key).focus({ preventScroll: true });
  }

  const selected = () => (state.column === null ? state.dataset : model.columns[state.column].dataset);

  function focus(index = selected()) {
    if (index === null) return;
    change(
      { focus: index, dataset: index, column: null, edge: null, only: false, groups: [] },
      { fits: true, words: `lineage of ${model.datasets[index].name}` },
    );
    cardOf(`d${index}`)?.focus({ preventScroll: true });
  }

  function back() {
    if (!byId("legend").hidden) byId("legend-button").click();
    else if (state.only) change({ only: false }, { fits: true, words: "all again" });
    else if (state.column !== null) {
      const index = model.columns[state.column].dataset;
      change({ column: null, dataset: index }, { keep: `d${index}`, words: "column deselected" });
    } else if (state.dataset !== null || state.edge)
      change({ dataset: null, edge: null }, { words: "nothing selected" });
    else if (state.focus !== null) change({ focus: null, depth: null }, { fits: true, words: "all again" });
    else if (state.groups.length)
      change({ groups: state.groups.slice(0, -1) }, { fits: true, words: "group closed" });
  }

  // Highlight the lineage of a column while the pointer is on it.
  function highlight(index) {
    if (index === hovered) return;
    hovered = index;
    const passes = lineage.model.passing(model, state.filters);
    const shown = index === null ? trace : lineage.model.columnTrace(model, index, passes);
    lineage.drawing.light(model, state, scene, shown);
  }

  const actions = {
    close: () => change({ dataset: null, column: null, edge: null, only: false }),
    focus: () => focus(),
    all: () => change({ focus: null, depth: null, only: false }, { fits: true }),
    only: () => change({ only: true }, { fits: true }),
    columns: () => toggleColumns(state.dataset),
    dataset: () => select(model.columns[state.column].dataset),
  };

  function onStageClick(event) {
    if (viewport.wasDragged() || event.target.closest(".zoom")) return;
    const card = event.target.closest(".card");
    const line = event.target.closest("[data-edge]");
    if (line) return change({ edge: line.dataset.edge, dataset: null, column: null, only: false });
    if (!card)
      return state.column === null && state.dataset === null && !state.edge ? undefined : actions.close();
    const node = scene.nodes.find((each) => each.key === card.dataset.key);
    const column = event.target.closest(".column");
    if (node.kind === "group") return openGroup(node);
    if (column) return selectColumn(Number(column.dataset.column));
    if (event.target.closest(".toggle")) return toggleColumns(node.index);
    if (event.target.closest(".more")) {
      const whole = new Set(state.whole).add(node.index);
      return change({ open: new Set(state.open).add(node.index), whole }, { keep: node.key });
    }
    select(node.index);
    cardOf(node.key)?.focus({ preventScroll: true });
  }

  function listen() {
    const stage = byId("stage");
    stage.addEventListener("click", onStageClick);
    stage.addEventListener("dblclick", (event) => {
      const card = event.target.closest(".card:not(.group)");
      if (card && !event.target.closest("button")) focus(Number(card.dataset.key.slice(1)));
    });
    stage.addEventListener("pointerover", (event) => {
      const column = event.target.closest(".column");
      highlight(column ? Number(column.dataset.column) : null);
    });
    stage.addEventListener("pointerleave", () => highlight(null));
    byId("panel").addEventListener("click", (event) => {
      const dataset = event.target.closest("[data-to-dataset]");
      const column = event.target.closest("[data-to-column]");
      const action = event.target.closest("[data-action]");
      if (dataset) select(Number(dataset.dataset.toDataset), { centre: true });
      else if (column) selectColumn(Number(column.dataset.toColumn), { centre: true });
      else if (action) actions[action.dataset.action]();
    });
    byId("trail").addEventListener("click", (event) => {
      const close = event.target.closest("[data-close]")?.dataset.close;
      if (close === "focus") change({ focus: null, depth: null }, { fits: true });
      else if (close === "only") change({ only: false }, { fits: true });
      else if (close)
        change({ groups: state.groups.filter((key) => `group ${key}` !== close) }, { fits: true });
    });
    byId("trail").addEventListener("change", (event) => {
      if (event.target.id === "depth") change({ depth: Number(event.target.value) || null }, { fits: true });
    });
    byId("grouping").addEventListener("change", (event) =>
      change({ grouping: event.target.value, groups: [] }, { fits: true }),
    );
    byId("zoom-in").addEventListener("click", () => viewport.zoom(1.25));
    byId("zoom-out").addEventListener("click", () => viewport.zoom(0.8));
    byId("fit").addEventListener("click", () => viewport.fit(scene.size));
    window.addEventListener("popstate", restore);
  }

  function found(each) {
    if (each.kind === "dataset") select(each.at, { centre: true });
    else if (each.kind === "column") selectColumn(each.at, { centre: true });
    else
      change(
        {
          filters: { ...state.filters, job: model.jobs[each.at].name },
          focus: null,
          depth: null,
          only: false,
          groups: [],
        },
        { fits: true },
      );
    byId("stage").focus({ preventScroll: true });
    const index = selected();
    if (each.kind !== "job" && index !== null) cardOf(`d${index}`)?.focus({ preventScroll: true });
  }

  function restore() {
    const linked = lineage.links.read(model, location.hash, fresh);
    state = linked.state;
    refresh({ fits: true });
    if (linked.view) viewport.set(linked.view);
  }

  function start() {
    document.title = data.title;
    byId("title").textContent = data.title;
    const about = [data.source, data.made_at && `created ${data.made_at}`, `lineage_merge ${data.version}`];
    byId("about").textContent = about.filter((each) => each).join(", ");
    lineage.theme.start();
    lineage.theme.legend();
    byId("grouping").closest("label").hidden = model.datasets.length <= lineage.scene.MOST;
    lineage.filters.start(model, (filters) =>
      change({ filters, groups: [] }, { fits: true, words: "filtered" }),
    );
    const search = lineage.search.start(model, found);
    const app = {
      model,
      viewport,
      search,
      toggleColumns,
      openGroup,
      focus,
      back,
      first,
      fit: () => viewport.fit(scene.size),
    };
    app.scene = () => scene;
    app.visit = (node) => {
      viewport.reveal(node.box);
      if (node.kind === "dataset") {
        change({ dataset: node.index, column: null, edge: null }, { keep: node.key, words: "" });
      }
    };
    lineage.keyboard.start(app);
    listen();
    if (!location.hash && data.focus && model.byId.has(data.focus)) {
      const index = model.byId.get(data.focus).index;
      state = { ...state, focus: index, dataset: index };
      refresh({ fits: true });
    } else {
      restore();
    }
    document.documentElement.dataset.ready = "yes";
  }

  start();
  return {};
})();
