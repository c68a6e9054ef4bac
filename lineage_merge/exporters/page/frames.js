"use strict";
// Frames around the datasets that one job writes; a frame never holds another job's card (pure).
lineage.frames = (() => {
  const PAD = { left: 11, top: 30, right: 11, bottom: 13 };
  const FREE = 6;
  const LABEL = { height: 20, inset: 5 };

  const padded = (node, pad) => ({
    left: node.x - pad.left,
    top: node.y - pad.top,
    right: node.x + node.width + pad.right,
    bottom: node.y + node.height + pad.bottom,
  });
  const around = (nodes) => {
    const boxes = nodes.map((node) => padded(node, PAD));
    return {
      left: Math.min(...boxes.map((box) => box.left)),
      top: Math.min(...boxes.map((box) => box.top)),
      right: Math.max(...boxes.map((box) => box.right)),
      bottom: Math.max(...boxes.map((box) => box.bottom)),
    };
  };
  const meets = (a, b) => a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom;

  // Groups of neighbours in one rank; a foreign card between two of them separates them.
  function runs(members, foreign) {
    const sorted = [...members].sort((a, b) => a.x - b.x || a.y - b.y);
    const found = [];
    for (const node of sorted) {
      const last = found.at(-1);
      if (last && last[0].x === node.x && !blocked(around([...last, node]), foreign)) last.push(node);
      else found.push([node]);
    }
    return found;
  }

  const blocked = (box, foreign) => foreign.some((each) => meets(box, each));

  // The fewest pieces: neighbouring runs are joined while no foreign card falls inside.
  function pieces(members, foreign) {
    if (!blocked(around(members), foreign)) return [members];
    const found = [];
    for (const run of runs(members, foreign)) {
      const joined = found.find((piece) => !blocked(around([...piece, ...run]), foreign));
      if (joined) joined.push(...run);
      else found.push([...run]);
    }
    return found;
  }

  // The place at the frame's upper edge that the fewest lines pass.
  function labelPlace(box, members, width, segments) {
    const y = box.top + LABEL.inset;
    const xs = [...new Set(members.map((node) => node.x))].sort((a, b) => a - b);
    let best = null;
    for (const x of xs) {
      const room = Math.min(width, box.right - x - 8);
      const area = { left: x, top: y, right: x + room, bottom: y + LABEL.height };
      const passing = segments.filter((segment) => meets(area, segment)).length;
      const cost = passing * 150 + (width - room) * 2;
      if (!best || cost < best.cost) best = { x, y, width: room, cost };
    }
    return best;
  }

  /**
   * Return the frames {parent, x, y, width, height, label}; only the first piece of a parent has a label.
   * @param {{x: number, y: number, width: number, height: number, parent?: string}[]} nodes
   * @param {{points: number[][]}[]} routes
   * @param {(parent: string) => number} labelWidth
   */
  function build(nodes, routes, labelWidth) {
    const byParent = new Map();
    for (const node of nodes) {
      if (!node.parent) continue;
      if (!byParent.has(node.parent)) byParent.set(node.parent, []);
      byParent.get(node.parent).push(node);
    }
    const segments = routes.flatMap(({ points }) =>
      points.slice(1).map((point, index) => ({
        left: Math.min(point[0], points[index][0]) - 1,
        right: Math.max(point[0], points[index][0]) + 1,
        top: Math.min(point[1], points[index][1]) - 1,
        bottom: Math.max(point[1], points[index][1]) + 1,
      })),
    );
    const frames = [];
    const free = { left: FREE, top: FREE, right: FREE, bottom: FREE };
    for (const [parent, members] of byParent) {
      const foreign = nodes
        .filter((node) => node.parent !== parent)
        .map((node) => padded(node, node.parent ? PAD : free));
      const others = frames.map((frame) => frame.box);
      pieces(members, [...foreign, ...others]).forEach((piece, index) => {
        const box = around(piece);
        frames.push({
          parent,
          box,
          x: box.left,
          y: box.top,
          width: box.right - box.left,
          height: box.bottom - box.top,
          label: index ? null : labelPlace(box, piece, labelWidth(parent), segments),
        });
      });
    }
    return frames;
  }

  return { build };
})();
