"use strict";
// The state of the page, its transitions, and what each view draws of it.
lineage.main = (() => {
  const { byId, say } = lineage.dom;
  const { cardOf, focusedPlace, refocus } = lineage.board;
  const LATER = 400;
  const PHONE = 720;

  const data = JSON.parse(byId("data").textContent);
  const model = lineage.compare?.first(data) ?? lineage.model.build(data);

  const fresh = () => ({
    view: null, // overview, pipeline, column or list; null: as the window allows
    band: null, // the pipeline that is shown; null: everything that passes the filters
    filters: lineage.filters.none(),
    grouping: "folder",
    focus: null, // the dataset whose lineage is shown
    depth: null, // in hops; null: unlimited
    dataset: null, // selected
    column: null, // selected: the column that is traced
    edge: null, // selected
    frame: null, // selected: a job or dbt project
    side: "both", // of a trace: up, both, down
    listed: "datasets", // or jobs
    layer: "", // colours of kinds, of owners or of tags
    open: new Set(), // datasets with visible columns
    whole: new Set(), // of those, datasets with all columns visible
    unfolded: new Set(), // columns and fields with visible fields
    groups: [], // opened groups
  });

  let state = fresh();
  let scene = null;
  let found = null; // the trace of a column
  let writers = [];
  let drawn = "";
  let hovered = null;
  let saving = 0;
  let app = null;
  let overview = null;
  let filterMenu = null;
  const viewport = lineage.viewport.over(byId("stage"), byId("world"), () => save(false));

  const isPhone = () => window.innerWidth <= PHONE;
  const passing = () => lineage.model.passing(model, state.filters);

  const shownBands = (passes) => lineage.bands.shown(model, passes);

  const signature = () =>
    JSON.stringify([
      state.view,
      scene.nodes.map((node) => [node.key, node.rows.length, node.more, node.height, state.open.has(node.index)]),
      [...state.unfolded],
      scene.edges.map((edge) => [edge.key, (edge.feeds ?? []).length]),
      found?.start,
      state.filters.job,
      state.layer,
    ]);

  const caption = (frame) => {
    const writer = writers.find((each) => each.frame === frame);
    const made = writer ? lineage.pipeline.caption(model, writer) : { icon: "job", title: "", more: "" };
    return lineage.compare?.captioned(made, writer) ?? made;
  };

  const room = () => Math.max(900, byId("stage").clientWidth / 0.92 - 40);

  function drawPipeline(passes, { keep = null, opens = false }) {
    found = null;
    let made = lineage.scene.make(model, state, passes);
    // A dataset that is not in this view cannot be selected in it.
    if (state.dataset !== null && !made.nodeOf.has(state.dataset)) state = { ...state, dataset: null };
    if (state.edge !== null && !made.edges.some((edge) => edge.key === state.edge)) state = { ...state, edge: null };
    writers = lineage.pipeline.writersOf(
      model,
      made.nodes.filter((node) => !node.isOutside).flatMap((node) => node.members),
    );
    if (state.frame !== null && !writers.some((each) => each.frame === state.frame)) state = { ...state, frame: null };
    made.labelWidth = (parent) => lineage.pipeline.captionWidth(caption(parent));
    for (const edge of made.edges) {
      edge.isLost = edge.feeds.some(lineage.model.isLost);
    }
    const before = keep && scene?.nodes.find((node) => node.key === keep);
    scene = made;
    lineage.pipeline.crumb(model, state, made, writers);
    const changes = signature() !== drawn;
    if (changes) {
      const place = focusedPlace();
      // Cards of two environments must not look alike.
      const isMixed = new Set(made.nodes.flatMap((node) => node.members.map((index) => model.datasets[index].environment))).size > 1;
      const laid = lineage.scene.place(made, room());
      scene = { ...made, ...laid, edges: made.edges };
      lineage.board.draw(scene, {
        card: (node) => lineage.cards.card(model, { ...state, isMixed }, node),
        title: (edge) => [...new Set(edge.feeds.map((feed) => lineage.model.saidOf(model, feed)))].join(", "),
        caption,
      });
      drawn = signature();
      viewport.sized(scene);
      refocus(place);
      laidOut = scene;
    } else scene = { ...laidOut, edges: made.edges, nodeOf: made.nodeOf, total: made.total, opened: made.opened };
    lineage.pipeline.sort(writers, scene.nodes);
    const trace = traced(passes);
    lineage.board.light(model, state, scene, trace);
    const after = before && scene.nodes.find((node) => node.key === keep);
    if (after && changes) {
      const { scale, x, y } = viewport.view;
      viewport.set({ x: x + (before.x - after.x) * scale, y: y + (before.y - after.y) * scale });
    }
    showSelection(trace);
    byId("table").style.maxHeight = "";
    lineage.pipeline.table(model, writers);
    if (opens || (changes && !after)) viewport.open();
    if (trace && opens !== "window") viewport.frame(...lineage.board.traced(scene));
    return made.nodes.length;
  }

  let laidOut = null;

  const traced = (passes) =>
    state.dataset === null ? null : lineage.model.datasetTrace(model, state.dataset, passes);

  function drawColumn(passes, { opens = false }) {
    found = lineage.columnGraph.trace(model, state.column, state.side, passes);
    const made = lineage.columnGraph.build(model, found);
    scene = { ...made, ...lineage.columnGraph.place(made), edges: made.edges };
    drawn = signature();
    lineage.board.draw(scene, {
      card: (node) => lineage.cards.traceCard(model, found, node),
      title: (edge) => lineage.column.lineTitle(model, edge),
    });
    byId("world").classList.remove("traced");
    lineage.column.crumb(model, state, found, made.hidden);
    lineage.column.table(model, found);
    viewport.sized(scene);
    showSelection(null);
    lineage.column.grow(scene);
    if (opens !== "window") viewport.frame(scene.nodes, lineage.board.traced(scene)[1], true);
    return made.nodes.length;
  }

  function showSelection(trace) {
    const writer = state.frame && writers.find((each) => each.frame === state.frame);
    let content = null;
    if (state.view === "column" && found) content = lineage.panel.ofColumn(model, state, model.columns[state.column], found);
    else if (state.dataset !== null && trace) content = lineage.panel.ofDataset(model, state, model.datasets[state.dataset], trace);
    else if (state.edge !== null) content = lineage.panel.ofEdge(model, scene, state.edge);
    else if (writer) content = lineage.panel.ofWriter(model, writer);
    lineage.panel.show(lineage.compare?.explain(content, app, writer) ?? content ?? summary());
  }

  // Without a selection, the panel shows what changed.
  const summary = () => lineage.compare?.summary(app) ?? null;

  function drawOverview(passes, shown) {
    if (lineage.catalog) {
      lineage.catalog.draw();
      lineage.panel.show(null);
      return;
    }
    const print = JSON.stringify([state.filters, state.layer, byId("overview").clientWidth]);
    if (overview?.print !== print) {
      overview = { print, ...lineage.overview.draw(model, shown, passes) };
      lineage.overview.index(model, shown);
    }
    lineage.panel.show(summary());
  }

  function drawList(passes, shown) {
    writers = lineage.pipeline.writersOf(model, shown.flatMap(({ members }) => members));
    lineage.listing.draw(model, state, shown, isPhone());
    showSelection(traced(passes));
  }

  function filtered(filters, isSwitch = false) {
    change({ filters, groups: [], ...(isSwitch && lineage.filters.toEnvironment(model, state, filters.environment)) }, { opens: true });
  }

  function render(options = {}) {
    const passes = passing();
    state = lineage.filters.withoutHidden(model, state, passes);
    state.view ??= isPhone() ? "list" : "overview";
    if (state.view === "column" && state.column === null) state.view = "pipeline";
    if (state.view !== "column" && state.column !== null) state.column = null;
    // Without a dataset, a page with shards has the overview only.
    if (lineage.catalog && !model.datasets.length) state.view = "overview";
    const isCatalog = Boolean(lineage.catalog) && state.view === "overview";
    if (isPhone() && state.view !== "column" && !isCatalog) state.view = "list";
    const shown = shownBands(passes);
    document.body.dataset.view = isPhone() && !isCatalog ? "list" : state.view;
    lineage.filters.show(state.filters, lineage.filters.environmentOf(model, state));
    lineage.heading.views(state);
    lineage.layers.use(model, state.layer);
    if (lineage.catalog) lineage.catalog.drawStory(isCatalog);
    else lineage.story.draw(model, state.view === "overview" || (isPhone() && passes.isAll && state.view === "list") ? shown : []);
    let boxes = shown.length;
    if (state.view === "overview") drawOverview(passes, shown);
    else if (state.view === "pipeline") boxes = drawPipeline(passes, options);
    else if (state.view === "column") boxes = drawColumn(passes, options);
    else drawList(passes, shown);
    if (isPhone() && state.view === "column") lineage.listing.draw(model, state, shown, true);
    lineage.heading.trail(model, state, scene);
    lineage.heading.key(model, state, scene);
    lineage.part?.draw(model, state);
    byId("nothing").hidden = boxes > 0 || isCatalog;
    tabStop();
    lineage.compare?.drawn(app);
    lineage.heading.counts(model, state, scene, shown);
  }

  const first = () => {
    const nodes = [...(scene?.nodes ?? [])].sort((a, b) => a.x - b.x || a.y - b.y);
    return nodes.find((node) => cardOf(node.key)?.matches(".is-start")) ?? nodes[0];
  };

  function tabStop() {
    if (!isGraph()) return;
    const at = focusedPlace()?.key ?? first()?.key;
    if (at) lineage.board.tabStop(at);
  }

  const isGraph = () => state.view === "pipeline" || state.view === "column";
  const link = () => lineage.links.write(model, state, isGraph() ? viewport.view : null);

  function save(isStep) {
    clearTimeout(saving);
    const write = (method) => history[method](null, "", `#${link()}`);
    if (isStep) write("pushState");
    else saving = setTimeout(() => write("replaceState"), LATER);
  }

  /** Change the state: one step of the history. */
  function change(patch, { words = "", ...options } = {}) {
    state = { ...state, ...patch };
    if (lineage.part?.lacks(model, state)) {
      history.pushState(null, "", `#${lineage.links.write(model, state, null)}`);
      restore();
      return;
    }
    render(options);
    save(true);
    say(words || byId("counts").textContent);
  }

  // Highlight the lineage of a column while the pointer is on it.
  function highlight(index) {
    if (index === hovered || state.view !== "pipeline") return;
    hovered = index;
    const passes = passing();
    const shown = index === null ? traced(passes) : { ...lineage.model.columnTrace(model, index, passes), feeds: new Set() };
    lineage.board.light(model, state, scene, shown);
  }

  function resized() {
    clearTimeout(resized.timer);
    resized.timer = setTimeout(() => {
      if (state.view === "overview" || isPhone() !== (document.body.dataset.view === "list")) {
        if (!isPhone() && state.view === "list" && resized.wasPhone) state.view = null;
        render({ opens: true });
      }
      if (state.view === "pipeline") lineage.pipeline.fitWrites();
      resized.wasPhone = isPhone();
    }, 150);
  }

  // Of a page with shards, what the address shows is loaded first.
  function restore() {
    if (!lineage.part) return show(location.hash);
    return lineage.part.follow(model, location.hash).then((found) => {
      // What is missing is said above what was drawn before, or the overview.
      if (!found && !state.view) show("#view=overview");
      if (!found) return;
      if (found.isTurned) {
        [drawn, overview] = ["", null];
        filterMenu.offer(model);
      }
      show(found.hash);
    });
  }

  function show(hash) {
    const turns = lineage.compare?.turn(model, hash);
    if (turns) [drawn, overview] = ["", null];
    const linked = lineage.links.read(model, hash, fresh);
    state = linked.state;
    render({ opens: linked.window ? "window" : true });
    if (linked.window) viewport.set(linked.window);
    if (turns) lineage.compare.announce(model);
  }

  const ready = () => (document.documentElement.dataset.ready = "yes");

  /** Start the page. */
  function start() {
    document.title = data.title;
    byId("title").textContent = data.title;
    lineage.heading.about(data);
    lineage.theme.start(() => save(false));
    lineage.theme.legend(data.statuses ?? {});
    filterMenu = lineage.filters.start(lineage.compare?.everything() ?? model, filtered);
    app = {
      model,
      viewport,
      first,
      change,
      highlight,
      filterMenu,
      isPhone,
      passing,
      link,
      shownBands,
      focusedPlace,
      get scene() { return scene; },
      get state() { return state; },
      get found() { return found; },
      get overview() { return overview; },
    };
    Object.assign(app, lineage.transitions.of(app));
    app.search = lineage.search.start(model, (each) => lineage.events.chosen(app, each));
    lineage.compare?.start(app);
    lineage.keyboard.start(app);
    lineage.events.start(app);
    lineage.part?.start(data, restore);
    lineage.catalog?.start(data);
    lineage.finding?.start(data);
    window.addEventListener("popstate", restore);
    window.addEventListener("resize", resized);
    resized.wasPhone = isPhone();
    if (!location.hash && data.focus && model.byId.has(data.focus)) {
      const { index } = model.byId.get(data.focus);
      const band = model.bands[model.bandOf[index]].key;
      state = { ...state, view: isPhone() ? "list" : "pipeline", band, focus: index, dataset: index };
      render({ opens: true });
      ready();
    } else if (lineage.part) restore().then(ready);
    else {
      restore();
      ready();
    }
    return app;
  }

  return { start };
})();

lineage.app = lineage.main.start();
