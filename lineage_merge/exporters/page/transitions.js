"use strict";
// Transitions of the page's state: selecting, tracing, opening, going back, copying, exporting.
lineage.transitions = (() => {
  const { element, byId, say } = lineage.dom;
  const { cardOf, columnOf } = lineage.board;
  const cleared = { dataset: null, column: null, edge: null, frame: null };

  /** Return the transitions of an app. */
  function of(app) {
    const { model } = app;

    function select(index, { focuses = true } = {}) {
      const dataset = model.datasets[index];
      const words = `${lineage.places.kindWord(dataset.kind)} ${dataset.name}`;
      const patch = { ...cleared, dataset: index };
      if (app.state.view === "list") {
        app.change(patch, { words });
        return;
      }
      if (app.state.view === "pipeline") {
        const node = app.scene.nodes[app.scene.nodeOf.get(index)];
        if (node?.kind === "dataset") {
          app.change(patch, { words });
          if (focuses) cardOf(node.key)?.focus({ preventScroll: true });
          return;
        }
      }
      open(index, words, focuses);
    }

    // Its pipeline, or, if that shows it in a group only, its lineage.
    function open(index, words, focuses) {
      const band = model.bands[model.bandOf[index]].key;
      const patch = { ...cleared, view: "pipeline", band, focus: null, depth: null, groups: [], dataset: index };
      const made = lineage.scene.make(model, { ...app.state, ...patch }, app.passing());
      const isDrawn =
        made.total <= lineage.scene.MOST && made.nodes[made.nodeOf.get(index)]?.kind === "dataset";
      // Of a pipeline only a part may be loaded.
      app.change(lineage.part ? { ...patch, band: null, focus: index } : isDrawn ? patch : { ...patch, focus: index }, { words, opens: true });
      if (focuses) cardOf(`d${index}`)?.focus({ preventScroll: true });
    }

    function trace(index) {
      const column = model.columns[index];
      const words = `column ${column.name} of ${model.datasets[column.dataset].name}`;
      app.change({ ...cleared, view: "column", column: index }, { words, opens: true });
      columnOf(index)?.focus({ preventScroll: true });
    }

    function toggleColumns(index) {
      const openNow = new Set(app.state.open);
      const opens = !openNow.has(index) && model.datasets[index].columns.length > 0;
      if (opens) openNow.add(index);
      else openNow.delete(index);
      app.change({ open: openNow }, { keep: `d${index}`, words: opens ? "columns shown" : "columns hidden" });
    }

    function openGroup(node) {
      if (node.kind === "band") {
        show("pipeline", { band: node.band.key });
        return;
      }
      let groups = [...app.state.groups, node.named.key];
      const hasRoom = () =>
        lineage.scene.make(model, { ...app.state, groups }, app.passing()).opened.some((each) => each.key === node.named.key);
      // If there is not enough room, close the groups that were opened first.
      while (groups.length > 1 && !hasRoom()) groups = groups.slice(1);
      app.change({ groups }, { opens: true, words: `opened ${node.named.name}` });
      const members = new Set(node.members);
      const inside = app.scene.nodes.filter((each) => members.has(each.members[0]));
      if (!inside.length) return;
      app.viewport.reveal(inside[0]);
      cardOf(inside[0].key).focus({ preventScroll: true });
    }

    function focus(index = app.state.dataset ?? Number(app.focusedPlace()?.key.match(/^d(\d+)$/)?.[1] ?? NaN)) {
      if (index === null || Number.isNaN(index) || app.state.view === "overview") return;
      const patch = { ...cleared, view: "pipeline", focus: index, dataset: index, groups: [] };
      app.change(patch, { opens: true, words: `lineage of ${model.datasets[index].name}` });
      cardOf(`d${index}`)?.focus({ preventScroll: true });
    }

    function show(view, patch = {}) {
      if (view === "compare") {
        lineage.compare.open(app);
        return;
      }
      if (lineage.part && view !== "overview" && !model.datasets.length) {
        say("select a dataset, or search for one");
        byId("search").focus();
        return;
      }
      const next = { ...cleared, view, focus: null, depth: null, groups: [], ...patch };
      if (lineage.part && view === "pipeline") {
        Object.assign(next, { band: null, focus: lineage.part.subject(model) }, patch);
        next.dataset = next.focus;
      } else if (view === "pipeline" && next.band === undefined) {
        const at = app.state.dataset ?? (app.state.column === null ? null : model.columns[app.state.column].dataset);
        const passes = app.passing();
        const shown = app.shownBands(passes);
        const known = shown.find((each) => each.band.key === app.state.band) ?? shown[0];
        next.band = at === null ? (known?.band.key ?? null) : model.bands[model.bandOf[at]].key;
        next.dataset = at;
      }
      if (view === "column") {
        next.column = app.state.column ?? (app.state.dataset === null ? null : model.datasets[app.state.dataset].columns[0]?.index ?? null);
        if (next.column === null) {
          // The first view of a trace: some columns to start from, beside the pipeline.
          if (app.state.view !== "pipeline") show("pipeline", patch);
          lineage.panel.show(lineage.panel.ofStarts(model, lineage.column.starts(model, app.state.band)));
          say("select a column, or search for one");
          return;
        }
      }
      app.change(next, { opens: true, words: view });
    }

    // A page with shards has loaded the lineage, not the pipeline.
    function leaveFocus() {
      if (lineage.part) show("overview");
      else app.change({ focus: null, depth: null }, { opens: true, words: "whole pipeline" });
    }

    /** One step back: closes the selection, then groups and focus, then the view. */
    function back() {
      if (app.state.view === "column") {
        const index = model.columns[app.state.column].dataset;
        if (app.isPhone()) app.change({ ...cleared, view: "list", dataset: index });
        else open(index, "column deselected", true);
      } else if (app.state.dataset !== null || app.state.edge !== null || app.state.frame !== null) {
        app.change(cleared, { words: "nothing selected" });
      } else if (app.state.focus !== null) leaveFocus();
      else if (app.state.groups.length) app.change({ groups: app.state.groups.slice(0, -1) }, { opens: true, words: "group closed" });
      else if (app.state.view !== "overview") show(app.isPhone() ? "list" : "overview");
    }

    function enter(node) {
      if (node.kind === "group" || node.kind === "band") openGroup(node);
      else if (app.state.view === "column") select(node.dataset ?? node.datasets[0]);
      else if (app.state.dataset === node.index) toggleColumns(node.index);
      else select(node.index);
    }

    async function copy(text, what) {
      try {
        await navigator.clipboard.writeText(text);
      } catch {
        // Pages opened from a file may have no access to the clipboard.
        const field = element("textarea", { class: "unseen" }, text);
        document.body.append(field);
        field.select();
        document.execCommand("copy");
        field.remove();
      }
      say(`${what} copied`);
    }

    const copiedName = () => {
      if (app.state.column === null) return model.datasets[app.state.dataset].title;
      const column = model.columns[app.state.column];
      return `${model.datasets[column.dataset].title}#${column.name}`;
    };

    function exportView(kind) {
      if (kind === "changes") {
        lineage.exporting.run("csv", "", `${model.title} changes`, () => lineage.changes.rows(model));
        return;
      }
      if (app.state.view === "overview") app.overview.drawAll();
      const band = model.bands.find((each) => each.key === app.state.band);
      const title =
        app.state.view === "column" ? lineage.column.nameOf(model, app.state.column) : app.state.view === "pipeline" && band ? band.dag : model.title;
      lineage.exporting.run(kind, app.state.view, `${title} ${app.state.view}`, () => lineage.exporting.rows(app));
    }

    const actions = {
      close: () => (app.state.view === "column" ? back() : app.change(cleared, { words: "closed" })),
      focus: () => focus(),
      "leave-focus": leaveFocus,
      overview: () => show("overview"),
      dataset: () => back(),
      "to-pipeline": () => back(),
      "copy-name": () => copy(copiedName(), "name"),
      // Not the address itself, which is written later.
      "copy-link": () => copy(`${location.href.replace(/#.*/s, "")}#${app.link()}`, "link"),
      print: () => print(),
      "all-columns": () => {
        const all = app.scene.nodes.filter((node) => node.kind === "dataset").map((node) => node.index);
        app.change({ open: app.state.open.size ? new Set() : new Set(all) }, { opens: true, words: "columns" });
      },
    };

    return { select, trace, toggleColumns, openGroup, focus, show, back, enter, exportView, actions, cleared };
  }

  return { of };
})();
