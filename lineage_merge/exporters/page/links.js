"use strict";
// The state of the page in the address (#...), to share a view.
lineage.links = (() => {
  const { KEYS } = lineage.filters;
  const VIEWS = ["overview", "pipeline", "column", "list"];

  /** Return the address of a state; `window_`: {x, y, scale} of the graph, or null. */
  function write(model, state, window_) {
    const params = new URLSearchParams();
    const id = (index) => model.datasets[index].id;
    params.set("view", state.view);
    if (state.band !== null) params.set("band", state.band);
    if (state.focus !== null) params.set("focus", id(state.focus));
    if (state.depth !== null) params.set("depth", String(state.depth));
    if (state.dataset !== null) params.set("dataset", id(state.dataset));
    if (state.column !== null) {
      const column = model.columns[state.column];
      params.set("dataset", id(column.dataset));
      params.set("column", column.name);
    }
    if (state.side !== "both") params.set("side", state.side);
    if (state.listed !== "datasets") params.set("listed", state.listed);
    if (state.layer) params.set("layer", state.layer);
    if (lineage.theme.current() !== "auto") params.set("theme", lineage.theme.current());
    for (const key of KEYS) if (state.filters[key]) params.set(key, state.filters[key]);
    if (state.grouping !== "folder") params.set("group", state.grouping);
    for (const index of state.open) params.append("open", id(index));
    for (const key of state.groups) params.append("opened", key);
    lineage.compare?.write(params);
    lineage.part?.write(params, state);
    if (window_) {
      const scale = Math.round(window_.scale * 1000) / 1000;
      params.set("window", [Math.round(window_.x), Math.round(window_.y), scale].join(","));
    }
    return params.toString();
  }

  /** Restore the state from an address; ignore what is not in this graph. */
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
      if (column) {
        state.column = column.index;
        state.dataset = null;
      }
    }
    const band = params.get("band");
    if (model.bands.some((each) => each.key === band)) state.band = band;
    if (["up", "down"].includes(params.get("side"))) state.side = params.get("side");
    if (params.get("listed") === "jobs") state.listed = "jobs";
    if (Object.hasOwn(lineage.layers.LAYERS, params.get("layer"))) state.layer = params.get("layer");
    if (["light", "dark"].includes(params.get("theme"))) lineage.theme.apply(params.get("theme"));
    for (const key of KEYS) state.filters[key] = params.get(key) ?? "";
    if (!lineage.assertions.duration(state.filters.older)) state.filters.older = "";
    if (params.get("group") === "dag") state.grouping = "dag";
    for (const id of params.getAll("open")) if (index(id) !== null) state.open.add(index(id));
    state.groups = params.getAll("opened");
    state.view = viewOf(model, state, params.get("view"));
    lineage.compare?.read(params, state);
    const view = (params.get("window") ?? "").split(",").map(Number);
    const isWindow = view.length === 3 && view.every(Number.isFinite) && view[2] > 0.05 && view[2] < 4;
    return { state, window: isWindow ? { x: view[0], y: view[1], scale: view[2] } : null };
  }

  // A link that a catalog makes names a dataset or a column only.
  function viewOf(model, state, named) {
    const known = VIEWS.includes(named) ? named : null;
    if (known === "column" || (!known && state.column !== null)) return state.column === null ? "overview" : "column";
    const at = state.dataset;
    const isAnywhere = state.focus !== null || state.band !== null;
    if (!known && at !== null && !isAnywhere) state.band = model.bands[model.bandOf[at]].key;
    if (known) return known;
    return at !== null || isAnywhere ? "pipeline" : null;
  }

  return { write, read };
})();
