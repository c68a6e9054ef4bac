"use strict";
// The state as the address says it, behind the #, so that a view can be sent to somebody.
lineage.links = (() => {
  const { KEYS } = lineage.filters;

  function write(model, state, view) {
    const told = new URLSearchParams();
    const id = (index) => model.datasets[index].id;
    if (state.focus !== null) told.set("focus", id(state.focus));
    if (state.depth !== null) told.set("depth", String(state.depth));
    if (state.dataset !== null) told.set("dataset", id(state.dataset));
    if (state.column !== null) {
      const column = model.columns[state.column];
      told.set("dataset", id(column.dataset));
      told.set("column", column.name);
    }
    if (state.only) told.set("only", "lineage");
    for (const key of KEYS) if (state.filters[key]) told.set(key, state.filters[key]);
    if (state.grouping !== "folder") told.set("group", state.grouping);
    for (const index of state.open) told.append("open", id(index));
    for (const key of state.groups) told.append("opened", key);
    if (view)
      told.set(
        "view",
        [view.x, view.y]
          .map(Math.round)
          .concat(Math.round(view.scale * 1000) / 1000)
          .join(","),
      );
    return told.toString();
  }

  // What of an address is about this graph. Anything else in it is left out.
  function read(model, hash, fresh) {
    const told = new URLSearchParams(hash.replace(/^#/, ""));
    const state = fresh();
    const index = (id) => model.byId.get(id)?.index ?? null;
    if (told.has("focus")) state.focus = index(told.get("focus"));
    if (/^[1-9]\d{0,2}$/.test(told.get("depth") ?? "")) state.depth = Number(told.get("depth"));
    state.dataset = index(told.get("dataset"));
    if (state.dataset !== null && told.has("column")) {
      const wanted = told.get("column").toLowerCase();
      const column = model.datasets[state.dataset].columns.find((each) => each.name.toLowerCase() === wanted);
      if (column) state.column = column.index;
    }
    state.only = told.get("only") === "lineage" && (state.column ?? state.dataset) !== null;
    for (const key of KEYS) state.filters[key] = told.get(key) ?? "";
    if (told.get("group") === "dag") state.grouping = "dag";
    for (const id of told.getAll("open")) if (index(id) !== null) state.open.add(index(id));
    state.groups = told.getAll("opened");
    const view = (told.get("view") ?? "").split(",").map(Number);
    const isView = view.length === 3 && view.every(Number.isFinite) && view[2] > 0.05 && view[2] < 4;
    return { state, view: isView ? { x: view[0], y: view[1], scale: view[2] } : null };
  }

  return { write, read };
})();
