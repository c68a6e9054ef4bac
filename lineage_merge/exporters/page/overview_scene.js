"use strict";
// What the overview draws of a pipeline: a box per bucket, schema or folder, and the lines between them (pure).
lineage.overviewScene = (() => {
  const { textWidth } = lineage.measure;
  const { shortened } = lineage.places;
  const MOST_BOXES = 16;
  const GROUPS = 12;
  const TALL = 5;
  const LONGEST_TITLE = 16;
  // Names that a box lists, and the columns that they may take: from roomy to compact.
  const SIZES = [[24, 6], [24, 3], [24, 2], [24, 1], [10, 2], [10, 1], [5, 1]];
  const FEW = [4, 1];
  // On a page with more datasets, boxes list fewer names.
  const MANY = 300;
  const MOST_OUTSIDE = 4;
  const OPTIONS = { gap: 14, frameGap: 14, pad: 8, stretch: true };
  const GUTTER = { least: 23, most: 52 };
  const BETWEEN = 37;

  function boxesOf(model, members) {
    const places = new Map();
    for (const index of members) {
      const { key, name, platform } = model.datasets[index].place;
      if (!places.has(key)) places.set(key, { key: `p${key}`, title: name, full: `${name} · ${platform}`, members: [] });
      places.get(key).members.push(index);
    }
    if (places.size <= MOST_BOXES) return [...places.values()];
    // Too many places: nested groups, as in the pipeline view.
    const view = { grouping: "folder", opened: [], enough: GROUPS, most: GROUPS };
    const { shown } = lineage.clusters.cut(model, members, view);
    return shown.map((each) =>
      typeof each === "object"
        ? { key: `g${each.key}`, opens: each.key, title: each.short, full: each.name, members: each.members }
        : boxOfOne(model, each),
    );
  }

  function boxOfOne(model, index) {
    const { name, platform } = model.datasets[index].place;
    return { key: `d${index}`, title: name, full: `${name} · ${platform}`, members: [index] };
  }

  // Neighbours in other pipelines: a box for each pipeline and side, or one for all of a side.
  function outsideOf(model, members, passes) {
    const inside = new Set(members);
    const sides = { from: new Map(), to: new Map() };
    const note = (side, index) => {
      if (inside.has(index) || !passes.dataset(model.datasets[index])) return;
      const band = model.bandOf[index];
      if (!sides[side].has(band)) sides[side].set(band, new Set());
      sides[side].get(band).add(index);
    };
    for (const index of members) {
      for (const edge of model.datasets[index].up) if (passes.edge(edge)) note("from", edge.from);
      for (const edge of model.datasets[index].down) if (passes.edge(edge)) note("to", edge.to);
    }
    return Object.entries(sides).flatMap(([side, bands]) => {
      if (bands.size > MOST_OUTSIDE) {
        const all = [...new Set([...bands.values()].flatMap((each) => [...each]))];
        const title = `${bands.size} other pipelines`;
        return [{ key: `x${side}`, side, title, full: title, members: all, isOutside: true, bands: [...bands.keys()] }];
      }
      return [...bands].map(([band, all]) => ({
        key: `x${side}${band}`,
        side,
        title: model.bands[band].dag || "no DAG",
        full: `${model.bands[band].dag}, ${model.bands[band].environment}`,
        members: [...all],
        isOutside: true,
        bands: [band],
      }));
    });
  }

  function sized(model, box, [most, across]) {
    const longest = box.isOutside ? 3 : most;
    const sorted = [...box.members].sort((a, b) => {
      const [one, other] = [model.datasets[a].name, model.datasets[b].name];
      return one < other ? -1 : one > other ? 1 : a - b;
    });
    const names = sorted.length <= longest ? sorted : sorted.slice(0, longest - 1);
    const rest = sorted.length - names.length;
    const cells = names.length + (rest ? 1 : 0);
    const rows = Math.max(Math.min(TALL, cells <= TALL ? cells : Math.ceil(cells / 2)), Math.ceil(cells / across));
    const columns = Math.ceil(cells / rows);
    const wide = ({ name, worst, mark }) => (mark ? 14 : 0) + Math.min(220, textWidth(name, 12, worst === "failed")) + (worst === "failed" ? 43 : 30);
    const widest = Math.max(...names.map((index) => wide(model.datasets[index])));
    const title = shortened(box.title, LONGEST_TITLE);
    return {
      ...box,
      title,
      names,
      rest,
      rows,
      width: Math.max(widest * columns + 10, textWidth(title, 12, true) + (box.inner ? 70 : 48)),
      height: 28 + rows * 21 + 9,
    };
  }

  // One line per pair of boxes.
  function linesOf(model, boxes, passes) {
    const inside = new Map();
    const [from, to] = [new Map(), new Map()];
    for (const box of boxes) {
      const into = !box.isOutside ? inside : box.side === "from" ? from : to;
      for (const index of box.members) into.set(index, box);
    }
    const lines = new Map();
    const inner = new Map();
    for (const box of inside.values()) inner.set(box, 0);
    const own = [...inside.keys()].map((index) => model.datasets[index]);
    const edges = own.flatMap((each) => [...each.up, ...each.down.filter((edge) => !inside.has(edge.to))]);
    for (const edge of edges) {
      const source = inside.get(edge.from) ?? from.get(edge.from);
      const target = inside.get(edge.to) ?? to.get(edge.to);
      if (!source || !target || !passes.edge(edge) || (source.isOutside && target.isOutside)) continue;
      if (source === target) {
        inner.set(source, inner.get(source) + 1);
        continue;
      }
      const key = JSON.stringify([source.key, target.key]);
      if (!lines.has(key)) lines.set(key, { key, source: source.key, target: target.key, feeds: [] });
      lines.get(key).feeds.push(edge);
    }
    return { lines: [...lines.values()], inner };
  }

  /** Return the boxes, lines and parts of a band; `members`: those that pass the filters. */
  function make(model, members, passes) {
    const boxes = [...boxesOf(model, members), ...outsideOf(model, members, passes)];
    const { lines, inner } = linesOf(model, boxes, passes);
    for (const box of boxes) Object.assign(box, { id: box.key, inner: inner.get(box) ?? 0 });
    return { boxes, lines };
  }

  /**
   * Lay out a band: parts side by side, boxes as roomy as the window allows, then gutters as wide as it allows.
   * @param {{width: number, height: number}} room in the window
   */
  function place(model, { boxes, lines }, room, isMany) {
    const narrow = laidFor(model, boxes, lines, room, isMany).sort((a, b) => b.routes.length - a.routes.length || 0);
    const used = narrow.reduce((sum, part) => sum + part.width + BETWEEN, -BETWEEN);
    const gutters = narrow.reduce((sum, part) => sum + Math.max(0, ...part.nodes.map((node) => node.rank)), 0);
    const more = gutters ? Math.max(0, Math.min(GUTTER.most - GUTTER.least, Math.floor((room.width - used) / gutters))) : 0;
    if (more) for (const part of narrow) lineage.layout.widen(part, more);
    // The order of the keyboard: as data flows.
    for (const { nodes } of narrow) nodes.sort((a, b) => a.x - b.x || a.y - b.y);
    return lineage.layout.shelved(entering(narrow), { across: BETWEEN, down: 24, room: room.width, inView: room.height });
  }

  // The roomiest parts that fit the window. What the most compact ones do not fit either is scrolled.
  function laidFor(model, boxes, lines, room, isMany) {
    const parts = lineage.layout.parts(boxes, lines);
    const laid = (size, isQuick) => {
      const byId = new Map(boxes.map((box) => [box.id, sized(model, box, size)]));
      return parts.map((ids) => {
        const own = new Set(ids);
        const inside = lines.filter((line) => own.has(line.source));
        return lineage.layout.layered(ids.map((id) => byId.get(id)), inside, { ...OPTIONS, gutter: GUTTER.least, isQuick, inView: room.height });
      });
    };
    const extent = (size) => {
      const found = laid(size, true);
      return ["width", "height"].map((side) => Math.max(...found.map((part) => part[side])));
    };
    if (isMany) return laid(FEW, true);
    const [least, lowest] = extent(SIZES.at(-1));
    const fits = (size) => {
      const [width, height] = extent(size);
      return (least > room.width ? size[1] === 1 : width <= room.width) && height <= Math.max(room.height, lowest);
    };
    return laid(SIZES.find(fits) ?? SIZES.at(-1), false);
  }

  // Parts with files first: data enters there.
  function entering(parts) {
    const hasFile = (part) => part.nodes.some((node) => /^ps3:|^pgs:|^pabfs/.test(node.id));
    return [...parts].sort((a, b) => (b.routes.length > 0) - (a.routes.length > 0) || hasFile(b) - hasFile(a));
  }

  return { make, place, MANY };
})();
