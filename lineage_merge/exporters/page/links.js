"use strict";
// The state of the page in the address (#...), to share a view.
lineage.links = (() => {
  const { KEYS } = lineage.filters;

  function write(model, state, view) {
    const params = new URLSearchParams();
    const id = (index) => model.datasets[index].id;
    if (state.focus !== null) params.set("focus", id(state.focus));
    if (state.depth !== null) params.set("depth", String(state.depth));
    if (state.dataset !== null) params.set("dataset", id(state.dataset));
    if (state.column !== null) {
      const column = model.columns[state.column];
      params.set("dataset", id(column.dataset));
      params.set("column", column.name);
    }
    if (state.only) params.set("only", "lineage");
    for (const key of KEYS) if (state.filters[key]) params.set(key, state.filters[key]);
    if (state.grouping !== "folder") params.set("group", state.grouping);
    for (const index of state.open) params.append("open", id(index));
    for (const key of state.groups) params.append("opened", key);
    if (view)
      params.set(
        "view",
        [view.x, view.y]
          .map(Math.round)
          .concat(Math.round(view.scale * 1000) / 1000)
          .join(","),
      );
    return params.toString();
  }

  // Restore the state from an address; ignore what is not in this graph.
  function read(model, hash, fresh) {
    const params = new URLSearchParams(hash.replace(/^#/, ""));
    const state = fresh();
    const index = (id) => model.byId.get(id)?.index ?? null;
    if (params.has("focus")) state.focus = index(params.get("focus"));
    if (/^[1-9]\d{0,2}$/.test(params.get("depth") ?? "")) state.depth = Number(params.get("depth"));
    state.dataset = index(params.get("dataset"));
    if (state.dataset !== null && params.has("column")) {
      const wanted = params.get("column").toLowerCase();
      const column = model.datasets[state.dataset].columns.find((each) => each.name.toLowerCase() === wanted);
      if (column) state.column = column.index;
    }
    state.only = params.get("only") === "lineage" && (state.column ?? state.dataset) !== null;
    for (const key of KEYS) state.filters[key] = params.get(key) ?? "";
    if (params.get("group") === "dag") state.grouping = "dag";
    for (const id of params.getAll("open")) if (index(id) !== null) state.open.add(index(id));
    state.groups = params.getAll("opened");
    const view = (params.get("view") ?? "").split(",").map(Number);
    const isView = view.length === 3 && view.every(Number.isFinite) && view[2] > 0.05 && view[2] < 4;
    return { state, view: isView ? { x: view[0], y: view[1], scale: view[2] } : null };
  }

  return { write, read };
})();
