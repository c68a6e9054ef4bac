"use strict";
// Selection of what is drawn: datasets, groups for the rest, and the edges between them.
lineage.scene = (() => {
  // Maximum number of datasets without groups.
  const MOST = 120;
  // Of a larger lineage, show the nearest levels that fit.
  const NEAREST = 40;
  // Maximum number of boxes at the start; opened groups add more.
  const GROUPS = 12;
  const MOST_ROWS = 60;
  const MOST_TRACED_ROWS = 12;

  function members(model, state, passes, trace) {
    if (state.only && trace) return { ...levels(trace.up, trace.down), about: true };
    if (state.focus !== null) {
      const { up, down } = lineage.model.datasetReach(model, state.focus, passes, state.depth ?? Infinity);
      const found = levels(up, down);
      found.all = found.all.filter((index) => index === state.focus || passes.dataset(model.datasets[index]));
      return { ...found, about: true };
    }
    return { all: model.datasets.filter(passes.dataset).map((each) => each.index), about: false };
  }

  function levels(up, down) {
    const depth = new Map(up);
    for (const [index, at] of down) depth.set(index, Math.min(at, depth.get(index) ?? at));
    return { all: [...depth.keys()].sort((a, b) => depth.get(a) - depth.get(b) || a - b), depth };
  }

  function pinned({ all, depth, about }) {
    if (all.length <= MOST) return all;
    if (!about) return [];
    // Complete levels only: a partial one would suggest that the rest does not exist.
    let fits = 0;
    while (fits < all.length) {
      const level = depth.get(all[fits]);
      let end = fits;
      while (end < all.length && depth.get(all[end]) === level) end += 1;
      if (end > NEAREST) break;
      fits = end;
    }
    return all.slice(0, Math.max(fits, 1));
  }

  function rows(model, state, trace, index) {
    const { columns } = model.datasets[index];
    const traced = (column) =>
      trace?.kind === "column" && (trace.upColumns.has(column.index) || trace.downColumns.has(column.index));
    if (state.open.has(index)) {
      const all = state.whole.has(index)
        ? columns
        : columns.filter((each) => each.place < MOST_ROWS || traced(each));
      return { shown: all, more: columns.length - all.length };
    }
    const shown = columns.filter(traced);
    const few = shown.slice(0, MOST_TRACED_ROWS);
    if (trace && shown.length > few.length && trace.kind === "column") {
      const start = shown.find((each) => each.index === trace.start);
      if (start && !few.includes(start)) few[few.length - 1] = start;
    }
    return { shown: few, more: shown.length - few.length };
  }

  function make(model, state, trace) {
    const passes = lineage.model.passing(model, state.filters);
    const found = members(model, state, passes, trace);
    const alone = pinned(found);
    const named = new Set(alone);
    const rest = found.all.filter((index) => !named.has(index));
    const groups = lineage.clusters.cut(model, rest, {
      grouping: state.grouping,
      opened: state.groups,
      enough: GROUPS,
      most: MOST - alone.length,
    });
    const nodes = [];
    const nodeOf = new Map();
    const dataset = (index) => {
      const { shown, more } = rows(model, state, trace, index);
      nodeOf.set(index, nodes.length);
      nodes.push({ kind: "dataset", key: `d${index}`, index, rows: shown, more, members: [index] });
    };
    alone.forEach(dataset);
    for (const each of groups.shown) {
      if (typeof each !== "object") {
        dataset(each);
        continue;
      }
      each.members.forEach((index) => nodeOf.set(index, nodes.length));
      nodes.push({
        kind: "group",
        key: `g${each.key}`,
        group: each,
        members: each.members,
        rows: [],
        more: 0,
      });
    }
    return {
      nodes,
      nodeOf,
      edges: between(model, passes, nodes, nodeOf),
      opened: groups.opened,
      total: found.all.length,
      passes,
    };
  }

  // One line per pair of boxes, identified by their keys: indexes change with filters.
  function between(model, passes, nodes, nodeOf) {
    const lines = new Map();
    for (const edge of model.feeds) {
      const from = nodeOf.get(edge.from);
      const to = nodeOf.get(edge.to);
      if (from === undefined || to === undefined || !passes.edge(edge)) continue;
      if (from === to && edge.from !== edge.to) continue;
      const key = JSON.stringify([nodes[from].key, nodes[to].key]);
      if (!lines.has(key)) lines.set(key, { key, from, to, feeds: [] });
      lines.get(key).feeds.push(edge);
    }
    return [...lines.values()];
  }

  return { make, MOST };
})();
