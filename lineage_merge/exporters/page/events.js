"use strict";
// Clicks and pointers: what is clicked, and which transition follows.
lineage.events = (() => {
  const { byId } = lineage.dom;

  function onStage(app, event) {
    if (app.viewport.wasDragged() || event.target.closest(".zoom, .minimap")) return;
    const state = app.state;
    const card = event.target.closest(".card");
    const line = event.target.closest("[data-edge]");
    const label = event.target.closest(".frame-label");
    if (label) {
      app.change({ dataset: null, column: null, edge: null, frame: label.dataset.frame }, { words: "job" });
      return;
    }
    if (line && state.view === "pipeline") {
      app.change({ edge: line.dataset.edge, dataset: null, column: null, frame: null }, { words: "feed" });
      return;
    }
    if (!card) {
      if (state.view === "pipeline" && (state.dataset !== null || state.edge !== null || state.frame !== null)) {
        app.actions.close();
      }
      return;
    }
    const node = app.scene.nodes.find((each) => each.key === card.dataset.key);
    const column = event.target.closest(".column");
    const fold = event.target.closest(".fold");
    if (fold) {
      const unfolded = new Set(state.unfolded);
      if (!unfolded.delete(Number(fold.dataset.fold))) unfolded.add(Number(fold.dataset.fold));
      app.change({ unfolded }, { keep: node.key });
    } else if (node.kind === "group" || node.kind === "band") app.openGroup(node);
    else if (column?.dataset.column) app.trace(Number(column.dataset.column));
    else if (state.view === "column") app.select(node.dataset ?? node.datasets[0]);
    else if (event.target.closest(".toggle")) app.toggleColumns(node.index);
    else if (event.target.closest(".more")) {
      const whole = new Set(state.whole).add(node.index);
      app.change({ open: new Set(state.open).add(node.index), whole }, { keep: node.key });
    } else app.select(node.index);
  }

  // Links between the parts of the page, wherever they are.
  function onLink(app, event) {
    const at = (name) => event.target.closest(`[data-${name}]`);
    const value = (name) => {
      const key = name.replace(/-(\w)/g, (_, letter) => letter.toUpperCase());
      return at(name)?.dataset[key];
    };
    const inSheet = event.target.closest("#stage");
    if (inSheet) return;
    if (at("to-dataset")) {
      unhide(app, Number(value("to-dataset")));
      app.select(Number(value("to-dataset")), { focuses: !event.target.closest("#panel, #listing") });
    } else if (at("to-column")) app.trace(Number(value("to-column")));
    else if (at("to-band")) toBand(app, value("to-band"));
    else if (at("band")) {
      const groups = at("opens") ? [value("opens")] : [];
      app.show("pipeline", { band: value("band"), groups });
    } else if (at("view")?.matches("button")) app.show(value("view"));
    else if (at("owner")) {
      // A row of the index leads from the overview to the list.
      const view = event.target.closest("#sidebar, #story") ? { view: "list" } : {};
      app.change({ ...view, filters: { ...app.state.filters, owner: value("owner") } }, { opens: true });
    } else if (at("status")) app.change({ view: "list", ...app.cleared, filters: { ...app.state.filters, status: value("status") } }, { opens: true });
    else if (at("layer")) app.change({ layer: value("layer") }, { words: `colours: ${value("layer") || "kinds"}` });
    else if (at("side")) app.change({ side: value("side") }, { opens: true, words: value("side") });
    else if (at("tag")) {
      app.change({ filters: { ...app.state.filters, tag: value("tag") } }, { opens: true });
    } else if (at("frame")) {
      app.change({ dataset: null, column: null, edge: null, frame: value("frame") }, { words: "job" });
    } else if (at("export")) {
      app.exportView(value("export"));
    } else if (at("listed")) listed(app, value("listed"));
    else if (at("close")) closed(app, value("close"));
    else if (at("action")) app.actions[value("action")]();
  }

  // In the overview, the index leads to a band; a filter or scroll is not needed.
  function toBand(app, key) {
    const band = [...byId("overview").querySelectorAll(".band")].find((each) => each.dataset.key === key);
    if (band) band.scrollIntoView({ block: "start" });
    app.show("pipeline", { band: key });
  }

  function listed(app, what) {
    if (what === "filters") app.filterMenu.open(byId("filters").hidden);
    else app.change({ view: "list", listed: what, dataset: null, column: null, frame: null }, { words: what });
  }

  function closed(app, key) {
    if (key === "focus") app.actions["leave-focus"]();
    else {
      const groups = app.state.groups.filter((each) => `group ${each}` !== key);
      app.change({ groups }, { opens: true });
    }
  }

  // Filters would clear the selection of what they hide.
  function unhide(app, dataset) {
    if (!app.passing().dataset(app.model.datasets[dataset])) app.change({ filters: lineage.filters.none() }, { words: "filters cleared" });
  }

  /** Go to what a search found. */
  function chosen(app, each) {
    if (each.open) {
      each.open();
      return;
    }
    if (each.kind === "tag" || each.kind === "owner") {
      app.change({ filters: { ...app.state.filters, [each.kind]: each.name } }, { opens: true });
      return;
    }
    if (each.kind === "test") {
      const [[dataset, column]] = each.at.checks;
      unhide(app, dataset);
      if (column < 0) app.select(dataset);
      else app.trace(app.model.datasets[dataset].columns[column].index);
      return;
    }
    const isColumn = each.kind === "column" || each.kind === "expression";
    const at = isColumn ? app.model.columns[each.at].dataset : each.at;
    if (each.kind !== "job") unhide(app, at);
    if (each.kind === "dataset") app.select(each.at);
    else if (isColumn) app.trace(each.at);
    else {
      const filters = { ...app.state.filters, job: app.model.processes[each.at].name };
      const view = app.isPhone() ? "list" : "pipeline";
      app.change(
        { view, band: null, filters, focus: null, depth: null, groups: [], dataset: null, column: null, edge: null },
        { opens: true },
      );
    }
  }

  // Lines at a box or card are emphasized while the pointer or the focus is on it.
  function emphasize(app) {
    const stage = byId("stage");
    const over = (event) => lineage.board.near(event.target.closest?.(".card")?.dataset.key ?? null);
    for (const kind of ["pointerover", "focusin"]) stage.addEventListener(kind, over);
    stage.addEventListener("pointerleave", () => lineage.board.near(null));
    stage.addEventListener("pointerover", (event) => {
      const column = event.target.closest(".column");
      app.highlight(column?.dataset.column ? Number(column.dataset.column) : null);
    });
    stage.addEventListener("pointerleave", () => app.highlight(null));
    const near = (event) => {
      const box = event.target.closest?.("[data-box]");
      const plane = event.target.closest?.(".plane");
      for (const line of plane?.querySelectorAll(".line") ?? []) {
        const { source, target } = line.dataset;
        line.classList.toggle("is-near", Boolean(box) && [source, target].includes(box.dataset.box));
      }
    };
    for (const kind of ["pointerover", "focusin"]) byId("overview").addEventListener(kind, near);
  }

  function start(app) {
    byId("stage").addEventListener("click", (event) => onStage(app, event));
    byId("stage").addEventListener("dblclick", (event) => {
      const key = event.target.closest(".card")?.dataset.key.match(/^d(\d+)$/);
      if (key && app.state.view === "pipeline" && !event.target.closest("button")) app.focus(Number(key[1]));
    });
    document.addEventListener("click", (event) => onLink(app, event));
    document.addEventListener("click", (event) => {
      const menu = byId("export");
      const isButton = event.target.closest("#export-button");
      menu.hidden = isButton ? !menu.hidden : true;
      byId("export-button").setAttribute("aria-expanded", String(!menu.hidden));
    });
    byId("trail").addEventListener("change", (event) => {
      if (event.target.id === "depth") app.change({ depth: Number(event.target.value) || null }, { opens: true });
    });
    byId("zoom-in").addEventListener("click", () => app.viewport.zoom(1.25));
    byId("zoom-out").addEventListener("click", () => app.viewport.zoom(0.8));
    byId("fit").addEventListener("click", () => app.viewport.fit());
    emphasize(app);
  }

  return { start, chosen };
})();
