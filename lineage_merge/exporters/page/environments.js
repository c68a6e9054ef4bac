"use strict";
// The switch of environments: what it shows, and where it leads (pure).
lineage.environments = (() => {
  // Whether the view is of one environment, without a filter.
  const isOne = (state) =>
    state.view === "column" || (state.view === "pipeline" && (state.band !== null || state.focus !== null));

  /** Return the environment of what is shown; "": all. */
  function shown(model, state) {
    if (!isOne(state)) return state.filters.environment;
    if (state.view === "column") return model.datasets[model.columns[state.column].dataset].environment;
    if (state.focus !== null) return model.datasets[state.focus].environment;
    return model.bands.find((each) => each.key === state.band).environment;
  }

  /** Return the change to the same pipeline of another environment, or to all pipelines; none if it is shown already. */
  function leave(model, state, environment) {
    if (!isOne(state) || shown(model, state) === environment) return {};
    const band = model.bands.find((each) => each.key === state.band);
    const twin = band && model.bands.find((each) => each.dag === band.dag && each.environment === environment);
    const cleared = { dataset: null, column: null, edge: null, frame: null, focus: null, depth: null };
    return { view: "pipeline", band: twin?.key ?? null, ...cleared };
  }

  return { shown, leave };
})();
