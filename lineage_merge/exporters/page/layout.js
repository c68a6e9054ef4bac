"use strict";
// Layered layout from left to right: ranks, order, heights, lines; one run per connected part (pure).
lineage.layout = (() => {
  const DEFAULTS = { gap: 24, frameGap: 48, gutter: 38, pad: 14, stretch: false };

  /**
   * Return positions of the nodes and corners of the edges, from the origin.
   * @param {{id: string, width: number, height: number, parent?: string, group?: string}[]} nodes
   * @param {{source: string, target: string, sourceOffset?: number, targetOffset?: number}[]} edges
   *   offsets: from the top of the card, default: the middle
   * @param {Partial<typeof DEFAULTS>} [options]
   * @returns {{nodes: object[], routes: {edge: object, points: number[][]}[], width: number, height: number}}
   */
  function layered(nodes, edges, options = {}) {
    const wanted = { ...DEFAULTS, ...options };
    const placed = nodes.map((node) => ({ ...node, x: 0, y: 0 }));
    const { rank, count } = lineage.ranking.assign(placed, edges);
    for (const node of placed) node.rank = rank.get(node.id);
    if (wanted.stretch) {
      const widest = new Map();
      for (const node of placed) widest.set(node.rank, Math.max(node.width, widest.get(node.rank) ?? 0));
      for (const node of placed) node.width = widest.get(node.rank);
    }
    const lines = edges.map((edge) => {
      const isBack = rank.get(edge.target) <= rank.get(edge.source);
      const net = `${isBack ? `back\u0001${edge.target}\u0001` : ""}${edge.source}\u0001${edge.sourceOffset ?? ""}\u0001${edge.style ?? ""}`;
      return { ...edge, edge, isBack, net };
    });
    const lanes = lineage.ordering.arrange(placed, lines, count, wanted);
    const corners = lineage.routing.route(placed, lines, count, lanes, wanted);
    const routes = lines.map((line, index) => ({
      edge: line.edge,
      net: line.net,
      isBack: line.isBack,
      points: corners[index],
    }));
    return framed(placed, routes);
  }

  // Move everything to the origin.
  function framed(nodes, routes) {
    const xs = [];
    const ys = [];
    for (const node of nodes) {
      xs.push(node.x, node.x + node.width);
      ys.push(node.y, node.y + node.height);
    }
    for (const { points } of routes) {
      for (const [x, y] of points) {
        xs.push(x);
        ys.push(y);
      }
    }
    const least = (values) => values.reduce((a, b) => Math.min(a, b), Infinity);
    const most = (values) => values.reduce((a, b) => Math.max(a, b), -Infinity);
    if (!nodes.length) return { nodes, routes, width: 0, height: 0 };
    const [left, top] = [least(xs), least(ys)];
    shift(nodes, routes, -left, -top);
    return { nodes, routes, width: most(xs) - left, height: most(ys) - top };
  }

  function shift(nodes, routes, dx, dy) {
    for (const node of nodes) {
      node.x += dx;
      node.y += dy;
    }
    for (const route of routes) for (const point of route.points) {
      point[0] += dx;
      point[1] += dy;
    }
  }

  /** Widen the gutters of a laid out part by so many pixels each. */
  function widen(part, more) {
    const lefts = [];
    for (const node of part.nodes) lefts[node.rank] = node.x;
    // To the right of `passed` ranks; a track stays in the middle of its gutter.
    const moved = (x) => {
      const passed = lefts.filter((left) => left <= x).length;
      return passed === 0 ? 0 : (passed - 0.5) * more;
    };
    const byId = new Map(part.nodes.map((node) => [node.id, node]));
    for (const { edge, points } of part.routes) {
      const ends = [byId.get(edge.source).rank * more, byId.get(edge.target).rank * more];
      points.forEach((point, at) => {
        const isEnd = at === 0 || at === points.length - 1;
        point[0] += isEnd ? ends[at === 0 ? 0 : 1] : moved(point[0]);
      });
    }
    for (const node of part.nodes) node.x += node.rank * more;
    part.width += Math.max(0, lefts.length - 1) * more;
  }

  /** Return the ids of the nodes by connected part, in the order of the nodes. */
  function parts(nodes, edges) {
    const near = new Map(nodes.map((node) => [node.id, []]));
    for (const { source, target } of edges) {
      near.get(source).push(target);
      near.get(target).push(source);
    }
    const part = new Map();
    const found = [];
    for (const node of nodes) {
      if (part.has(node.id)) continue;
      const waiting = [node.id];
      part.set(node.id, found.length);
      while (waiting.length) {
        for (const next of near.get(waiting.pop())) {
          if (!part.has(next)) {
            part.set(next, found.length);
            waiting.push(next);
          }
        }
      }
      found.push([]);
    }
    for (const node of nodes) found[part.get(node.id)].push(node.id);
    return found;
  }

  /**
   * Lay out each connected part and put the parts on shelves of about `room` width.
   * @param {object} spacing `across` and `down`: between parts; `room`: width of a shelf
   */
  function packed(nodes, edges, options, spacing) {
    const byId = new Map(nodes.map((node) => [node.id, node]));
    const found = parts(nodes, edges).map((ids) => {
      const own = new Set(ids);
      const inside = edges.filter((edge) => own.has(edge.source));
      return layered(ids.map((id) => byId.get(id)), inside, options);
    });
    return shelved(found, spacing);
  }

  /** Put laid out parts on shelves; their nodes and routes are moved. `inView`: height that parts are drawn in, if they fit. */
  function shelved(found, { across, down, room, inView = Infinity }) {
    const shelves = [];
    for (const part of found) {
      const shelf = shelves.at(-1);
      if (shelf && shelf.width + across + part.width <= room) {
        shelf.parts.push(part);
        shelf.width += across + part.width;
        shelf.height = Math.max(shelf.height, part.height);
      } else {
        shelves.push({ parts: [part], width: part.width, height: part.height });
      }
    }
    let y = 0;
    const dividers = [];
    for (const shelf of shelves) {
      let x = 0;
      for (const part of shelf.parts) {
        if (x) dividers.push({ x: x - across / 2, y, height: shelf.height });
        const above = Math.min((shelf.height - part.height) / 2, Math.max(0, inView - part.height));
        shift(part.nodes, part.routes, x, Math.round(y + above));
        x += part.width + across;
      }
      y += shelf.height + down;
    }
    return {
      nodes: found.flatMap((part) => part.nodes),
      routes: found.flatMap((part) => part.routes),
      parts: found.map((part) => part.nodes.map((node) => node.id)),
      dividers,
      width: Math.max(0, ...shelves.map((shelf) => shelf.width)),
      height: Math.max(0, y - down),
    };
  }

  return { layered, widen, packed, shelved, parts };
})();
