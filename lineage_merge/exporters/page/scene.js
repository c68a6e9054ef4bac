"use strict";
// Selection of what a pipeline view draws: datasets, groups for the rest, and the edges between them (pure).
lineage.scene = (() => {
  const { textWidth } = lineage.measure;
  // Maximum number of datasets that are drawn without groups.
  const MOST = 60;
  // Maximum number of boxes with opened groups.
  const MOST_BOXES = 120;
  // Of a larger lineage, show the nearest levels that fit.
  const NEAREST = 40;
  // Maximum number of groups at the start; opened ones add more.
  const GROUPS = 12;
  const MOST_ROWS = 60;
  // More neighbours in other pipelines become one box per pipeline.
  const MOST_OUTSIDE = 8;
  const SIZE = { least: 172, most: 236, place: 204, height: 76, row: 26, head: 54 };

  function members(model, state, passes) {
    if (state.focus !== null) {
      const { up, down } = lineage.model.datasetReach(model, state.focus, passes, state.depth ?? Infinity);
      const found = levels(up, down);
      found.all = found.all.filter((index) => index === state.focus || passes.dataset(model.datasets[index]));
      return { ...found, isFocus: true };
    }
    const band = model.bands.find((each) => each.key === state.band);
    const all = band ? band.members : model.datasets.map((each) => each.index);
    return { all: all.filter((index) => passes.dataset(model.datasets[index])), isFocus: false };
  }

  function levels(up, down) {
    const depth = new Map(up);
    for (const [index, at] of down) depth.set(index, Math.min(at, depth.get(index) ?? at));
    return { all: [...depth.keys()].sort((a, b) => depth.get(a) - depth.get(b) || a - b), depth };
  }

  function single({ all, depth, isFocus }) {
    if (all.length <= MOST) return all;
    if (!isFocus) return [];
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

  // Columns of an expanded card, in steps.
  function rowsOf(model, state, index) {
    const { columns, featured } = model.datasets[index];
    if (!state.open.has(index)) return featured ?? { rows: [], more: 0 };
    const isUnfolded = (column) => lineage.model.structuresOf(column).every((each) => state.unfolded.has(each.index));
    const shown = columns.filter(isUnfolded);
    const rows = state.whole.has(index) ? shown : shown.slice(0, MOST_ROWS);
    return { rows, more: shown.length - rows.length };
  }

  // The dot, the number of columns and what is around them.
  const toggleWidth = ({ tops }) => 32 + (tops ? textWidth(`${tops} col ▸`, 12) + 20 : 0);

  function datasetNode(model, state, index, isOutside) {
    const dataset = model.datasets[index];
    const { rows, more } = rowsOf(model, state, index);
    const named = textWidth(dataset.name, 13, true) + 40;
    const longest = lineage.model.factOf(dataset, "deprecation date") ? SIZE.most : SIZE.place;
    const where = Math.min(longest, textWidth(lineage.cards.whereOf(dataset), 12) + 40);
    const status = Math.min(SIZE.most, textWidth(lineage.cards.ageText(model, dataset), 12, dataset.tests.length > 0) + toggleWidth(dataset));
    const under = rows.length ? 6 + rows.length * SIZE.row + (more ? 28 : 0) : 0;
    return {
      kind: "dataset",
      key: `d${index}`,
      index,
      members: [index],
      rows,
      more,
      isOutside,
      group: `${dataset.environment}\n${dataset.place.key}`,
      parent: isOutside ? undefined : frameOf(dataset),
      width: Math.max(SIZE.least, where, status, Math.min(SIZE.most, named)),
      height: SIZE.height + under,
    };
  }

  const frameOf = (dataset) => dataset.writer?.frame;

  function groupNode(model, group) {
    const frames = new Set(group.members.map((index) => frameOf(model.datasets[index])));
    return {
      kind: "group",
      key: `g${group.key}`,
      named: group,
      members: group.members,
      rows: [],
      more: 0,
      isOutside: false,
      parent: frames.size === 1 ? [...frames][0] : undefined,
      width: Math.max(SIZE.least, Math.min(SIZE.most, textWidth(group.short, 13, true) + 40)),
      height: SIZE.height,
    };
  }

  // Direct neighbours in other pipelines: data comes from there, or goes there.
  function outside(model, state, passes, inside) {
    const sides = { from: new Set(), to: new Set() };
    const note = (side, index) => {
      if (!inside.has(index) && passes.dataset(model.datasets[index])) sides[side].add(index);
    };
    for (const index of inside) {
      for (const edge of model.datasets[index].up) if (passes.edge(edge)) note("from", edge.from);
      for (const edge of model.datasets[index].down) if (passes.edge(edge)) note("to", edge.to);
    }
    const all = new Set([...sides.from, ...sides.to]);
    if (all.size <= MOST_OUTSIDE) return [...all].map((index) => datasetNode(model, state, index, true));
    const boxes = new Map();
    const found = Object.entries(sides).flatMap(([side, indexes]) => [...indexes].map((index) => [index, side]));
    for (const [index, side] of found) {
      const band = model.bands[model.bandOf[index]];
      const key = `x${side}\n${band.key}`;
      if (!boxes.has(key)) {
        boxes.set(key, {
          kind: "band",
          key,
          band,
          side,
          members: [],
          rows: [],
          more: 0,
          isOutside: true,
          width: SIZE.least,
          height: SIZE.height,
        });
      }
      boxes.get(key).members.push(index);
    }
    return [...boxes.values()];
  }

  /**
   * Return the boxes and lines of a pipeline, of the lineage of a dataset (`state.focus`), or of everything.
   * @returns {{nodes: object[], nodeOf: Map<number, number>, edges: object[], opened: object[], total: number}}
   */
  function make(model, state, passes) {
    const found = members(model, state, passes);
    const alone = single(found);
    const named = new Set(alone);
    const groups = lineage.clusters.cut(
      model,
      found.all.filter((index) => !named.has(index)),
      { grouping: state.grouping, opened: state.groups, enough: GROUPS, most: MOST_BOXES - alone.length },
    );
    const nodes = alone.map((index) => datasetNode(model, state, index, false));
    for (const each of groups.shown) {
      nodes.push(
        typeof each === "object" ? groupNode(model, each) : datasetNode(model, state, each, false),
      );
    }
    const inside = new Set(found.all);
    if (!found.isFocus && state.band !== null) nodes.push(...outside(model, state, passes, inside));
    const nodeOf = new Map();
    // Another pipeline has a box for what comes from it and one for what goes there.
    const ends = { from: new Map(), to: new Map() };
    nodes.forEach((node, at) =>
      node.members.forEach((index) => (node.kind === "band" ? ends[node.side] : nodeOf).set(index, at)),
    );
    const edges = between(model, passes, nodes, nodeOf, ends);
    return { nodes, nodeOf, edges, opened: groups.opened, total: found.all.length };
  }

  // One line per pair of boxes, identified by their keys: indexes change with filters.
  function between(model, passes, nodes, nodeOf, ends) {
    const lines = new Map();
    for (const edge of model.feeds) {
      const from = nodeOf.get(edge.from) ?? ends.from.get(edge.from);
      const to = nodeOf.get(edge.to) ?? ends.to.get(edge.to);
      if (from === undefined || to === undefined || !passes.edge(edge)) continue;
      if (from === to && edge.from !== edge.to) continue;
      if (nodes[from].isOutside && nodes[to].isOutside) continue;
      const [source, target] = [nodes[from].key, nodes[to].key];
      const key = JSON.stringify([source, target]);
      if (!lines.has(key)) lines.set(key, { key, source, target, feeds: [] });
      lines.get(key).feeds.push(edge);
    }
    return [...lines.values()];
  }

  /** Lay out a scene; `room`: the width for parts side by side. */
  function place(scene, room) {
    const nodes = scene.nodes.map((node) => ({ ...node, id: node.key }));
    const laid = lineage.layout.packed(nodes, scene.edges, { stretch: true }, { across: 76, down: 76, room });
    const frames = lineage.frames.build(laid.nodes, laid.routes, (parent) => scene.labelWidth?.(parent) ?? 160);
    return withMargins(laid, frames);
  }

  // Frames and their labels extend beyond the cards.
  function withMargins(laid, frames) {
    const left = Math.min(0, ...frames.map((frame) => frame.x));
    const top = Math.min(0, ...frames.map((frame) => frame.y));
    for (const each of [...laid.nodes, ...frames, ...laid.dividers]) {
      each.x -= left;
      each.y -= top;
    }
    for (const frame of frames) {
      if (!frame.label) continue;
      frame.label.x -= left;
      frame.label.y -= top;
    }
    for (const { points } of laid.routes) {
      for (const point of points) {
        point[0] -= left;
        point[1] -= top;
      }
    }
    const right = Math.max(laid.width - left, ...frames.map((frame) => frame.x + frame.width));
    const bottom = Math.max(laid.height - top, ...frames.map((frame) => frame.y + frame.height));
    return { ...laid, frames, width: right, height: bottom };
  }

  return { make, place, levels, SIZE, MOST };
})();
