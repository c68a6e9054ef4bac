"use strict";
// Orthogonal lines: lanes across ranks, tracks in the gutters between them (pure).
lineage.routing = (() => {
  const { laneKey } = lineage.ordering;
  const TRACK = 9;
  const CLEAR_CARD = 12;
  const CLEAR_LANE = 9;
  const NEARLY_STRAIGHT = 16;
  const PORT = 11;
  const INSET = 9;
  const CLOSE = 4;
  const ROUNDS = 20;

  const middle = (node) => Math.round(node.y + node.height / 2);
  const exitOf = (edge, node) =>
    edge.sourceOffset === undefined ? middle(node) : Math.round(node.y + edge.sourceOffset);

  // Heights of an edge at its passage through the ranks, from its source (left out: its entry).
  function passages(edges, byId, ranks, lanes) {
    const lanesOf = ranks.map(() => new Map());
    for (const edge of edges) {
      const [source, target] = [byId.get(edge.source), byId.get(edge.target)];
      const [from, to] = edge.isBack ? [target.rank, source.rank] : [source.rank + 1, target.rank - 1];
      for (let rank = from; rank <= to; rank += 1) {
        const key = laneKey(edge.net, rank);
        lanesOf[rank].set(key, lanes.get(key));
      }
    }
    const settled = new Set();
    // A lane moves to the height of the line before it where nothing is near.
    const straighten = (key, rank, wished) => {
      const own = lanesOf[rank].get(key);
      if (settled.has(key)) return own;
      settled.add(key);
      if (wished === own || Math.abs(wished - own) >= NEARLY_STRAIGHT) return own;
      const [low, high] = [Math.min(own, wished), Math.max(own, wished)];
      const hitsCard = ranks[rank].some(
        (node) => high > node.y - CLEAR_CARD && low < node.y + node.height + CLEAR_CARD,
      );
      if (hitsCard) return own;
      for (const [other, y] of lanesOf[rank]) {
        if (other !== key && y > low - CLEAR_LANE && y < high + CLEAR_LANE) return own;
      }
      lanesOf[rank].set(key, wished);
      return wished;
    };
    for (const edge of edges) {
      const [source, target] = [byId.get(edge.source), byId.get(edge.target)];
      edge.heights = [exitOf(edge, source)];
      if (edge.isBack) {
        for (let rank = source.rank; rank >= target.rank; rank -= 1) {
          edge.heights.push(lanesOf[rank].get(laneKey(edge.net, rank)));
        }
        continue;
      }
      for (let rank = source.rank + 1; rank < target.rank; rank += 1) {
        edge.heights.push(straighten(laneKey(edge.net, rank), rank, edge.heights.at(-1)));
      }
    }
  }

  // Entries at a card: in the order and, within the card, at the height at which lines arrive.
  function entries(edges, byId) {
    const into = new Map();
    for (const edge of edges) {
      const target = byId.get(edge.target);
      if (edge.targetOffset !== undefined) {
        edge.heights.push(Math.round(target.y + edge.targetOffset));
        continue;
      }
      if (!into.has(edge.target)) into.set(edge.target, []);
      into.get(edge.target).push(edge);
    }
    for (const [id, list] of into) {
      const card = byId.get(id);
      const [top, bottom] = [card.y + INSET, card.y + card.height - INSET];
      list.sort((a, b) => a.heights.at(-1) - b.heights.at(-1));
      const gap = Math.min(PORT, (bottom - top) / Math.max(1, list.length - 1));
      const arrivals = list.map((edge) => edge.heights.at(-1));
      const isStraight = (y) => y >= top && y <= bottom;
      const fitted = lineage.isotonic.fit(
        arrivals.map((y, index) => (isStraight(y) ? y : middle(card)) - index * gap),
        arrivals.map((y) => (isStraight(y) ? 20 : 1)),
      );
      list.forEach((edge, index) => {
        const low = top + index * gap;
        const high = bottom - (list.length - 1 - index) * gap;
        const y = Math.max(low, Math.min(high, fitted[index] + index * gap));
        edge.heights.push(gap < 1 ? y : Math.round(y));
      });
    }
  }

  // The part of a net within one gutter: heights on its left and right, and edges with their two heights.
  function segments(edges, byId, count) {
    const gutters = Array.from({ length: count + 1 }, () => new Map());
    const add = (gutter, edge, from, to, isFromLeft, isToLeft) => {
      if (!gutters[gutter].has(edge.net)) {
        gutters[gutter].set(edge.net, { net: edge.net, left: new Set(), right: new Set() });
      }
      const segment = gutters[gutter].get(edge.net);
      (isFromLeft ? segment.left : segment.right).add(from);
      (isToLeft ? segment.left : segment.right).add(to);
    };
    for (const edge of edges) {
      const [source, target] = [byId.get(edge.source), byId.get(edge.target)];
      const { heights } = edge;
      if (!edge.isBack) {
        for (let rank = source.rank; rank < target.rank; rank += 1) {
          const at = rank - source.rank;
          add(rank + 1, edge, heights[at], heights[at + 1], true, false);
        }
        continue;
      }
      add(source.rank + 1, edge, heights[0], heights[1], true, true);
      for (let rank = source.rank; rank > target.rank; rank -= 1) {
        const at = source.rank - rank + 1;
        add(rank, edge, heights[at], heights[at + 1], false, true);
      }
      add(target.rank, edge, heights.at(-2), heights.at(-1), false, false);
    }
    return gutters;
  }

  // Cost of having the first segment's trunk to the left of the second's.
  function crossings(first, second) {
    let cost = 0;
    for (const y of second.left) {
      if (y > first.low - 1 && y < first.high + 1) {
        cost += [...first.right].some((other) => Math.abs(other - y) < CLOSE) ? 30 : 1;
      }
    }
    for (const y of first.right) {
      if (y > second.low - 1 && y < second.high + 1) {
        cost += [...second.left].some((other) => Math.abs(other - y) < CLOSE) ? 30 : 1;
      }
    }
    return cost;
  }

  // Order of trunks with few crossings: each moves to its best place until none improves.
  function arranged(list) {
    // The two parts of a split trunk stay in their order.
    const costOf = (a, b) => (a.net === b.net && a.isSecond ? 1000 : crossings(a, b));
    const cost = list.map((a) => list.map((b) => (a === b ? 0 : costOf(a, b))));
    const order = list.map((_, index) => index);
    let isBetter = true;
    for (let round = 0; isBetter && round < ROUNDS; round += 1) {
      isBetter = false;
      for (let at = 0; at < order.length; at += 1) {
        const moved = order[at];
        let [change, best, place] = [0, 0, at];
        for (let to = at + 1; to < order.length; to += 1) {
          change += cost[order[to]][moved] - cost[moved][order[to]];
          if (change < best) [best, place] = [change, to];
        }
        change = 0;
        for (let to = at - 1; to >= 0; to -= 1) {
          change += cost[moved][order[to]] - cost[order[to]][moved];
          if (change < best) [best, place] = [change, to];
        }
        if (place !== at) {
          order.splice(at, 1);
          order.splice(place, 0, moved);
          isBetter = true;
        }
      }
    }
    return order.map((index) => list[index]);
  }

  const isClose = (some, others) => [...some].some((y) => [...others].some((other) => Math.abs(other - y) < CLOSE));

  // Pairs of trunks whose lines lie on each other: the first leaves at the height at which the second arrives.
  const conflicts = (order) =>
    order.flatMap((first, at) => order.slice(at + 1).flatMap((second) => (first.net !== second.net && isClose(first.right, second.left) ? [[first, second]] : [])));

  const segment = (net, left, right, more) => {
    const all = [...left, ...right];
    return { net, left, right, low: Math.min(...all), high: Math.max(...all), start: Math.min(...left), ...more };
  };

  // A trunk as two with a line between them, at a height that nothing else has; null: that is not possible.
  function split(list, trunk) {
    if (trunk.jog !== undefined || !trunk.left.size || !trunk.right.size || isClose(trunk.left, trunk.right)) return null;
    const heights = [...new Set(list.flatMap(({ left, right }) => [...left, ...right]))].sort((a, b) => a - b);
    const center = (trunk.low + trunk.high) / 2;
    const free = heights.slice(1).flatMap((y, at) => (y - heights[at] >= 2 * CLOSE ? [Math.round((y + heights[at]) / 2)] : []));
    if (!free.length) return null;
    const jog = free.reduce((a, b) => (Math.abs(b - center) < Math.abs(a - center) ? b : a));
    const parts = [segment(trunk.net, trunk.left, new Set([jog]), { jog }), segment(trunk.net, new Set([jog]), trunk.right, { jog, isSecond: true })];
    return list.flatMap((each) => (each === trunk ? parts : [each]));
  }

  // The trunks of a gutter from left to right. Where two would have to be on the left of each other, one is split.
  function tracks(segmentsOfGutter) {
    const list = [...segmentsOfGutter.values()]
      .map(({ net, left, right }) => segment(net, left, right))
      .filter((each) => each.high - each.low > 0.5)
      .sort((a, b) => a.start - b.start || a.low - b.low || (a.net < b.net ? -1 : 1));
    let order = arranged(list);
    for (let pairs = conflicts(order), isBetter = true; isBetter && pairs.length; ) {
      isBetter = false;
      for (const trunk of new Set(pairs.flat())) {
        const parts = split(order, trunk);
        const next = parts && arranged(parts);
        if (!next || conflicts(next).length >= pairs.length) continue;
        [order, pairs, isBetter] = [next, conflicts(next), true];
        break;
      }
    }
    return order;
  }

  /**
   * Set `x` of each node and return the corners of each edge, from its source to its target.
   * @param {{id: string, rank: number, width: number, height: number, y: number}[]} nodes
   * @param {{source: string, target: string, net: string, isBack: boolean}[]} edges
   * @param {number} count of ranks
   * @param {Map<string, number>} lanes y by `laneKey`
   * @param {{gutter: number, pad: number}} options
   * @returns {number[][][]} corners [x, y] per edge
   */
  function route(nodes, edges, count, lanes, options) {
    const byId = new Map(nodes.map((node) => [node.id, node]));
    const ranks = Array.from({ length: count }, () => []);
    for (const node of nodes) ranks[node.rank].push(node);
    passages(edges, byId, ranks, lanes);
    entries(edges, byId);
    const gutters = segments(edges, byId, count).map(tracks);
    const trackX = gutters.map(() => new Map());
    let left = 0;
    gutters.forEach((trunks, gutter) => {
      const isMargin = gutter === 0 || gutter === count;
      const needed = trunks.length ? 2 * options.pad + 4 + (trunks.length - 1) * TRACK : 0;
      const width = isMargin ? needed : Math.max(options.gutter, needed);
      const [low, high] = [left + options.pad, left + width - options.pad - 4];
      trunks.forEach(({ net, jog }, index) => {
        const part = trunks.length === 1 ? 0.5 : index / (trunks.length - 1);
        const known = trackX[gutter].get(net) ?? { jog, at: [] };
        known.at.push(Math.round((low + (high - low) * part) * 2) / 2);
        trackX[gutter].set(net, known);
      });
      left += width;
      if (gutter === count) return;
      for (const node of ranks[gutter]) node.x = left;
      left += Math.max(0, ...ranks[gutter].map((node) => node.width));
    });
    return edges.map((edge) => corners(edge, byId, trackX));
  }

  function corners(edge, byId, trackX) {
    const [source, target] = [byId.get(edge.source), byId.get(edge.target)];
    const { heights } = edge;
    const points = [[source.x + source.width, heights[0]]];
    const turn = (gutter, from, to) => {
      if (Math.abs(from - to) > 0.5) {
        const { jog, at: [x, second] } = trackX[gutter].get(edge.net);
        if (second === undefined) points.push([x, from], [x, to]);
        else points.push([x, from], [x, jog], [second, jog], [second, to]);
      }
    };
    if (edge.isBack) {
      turn(source.rank + 1, heights[0], heights[1]);
      for (let rank = source.rank; rank > target.rank; rank -= 1) {
        const at = source.rank - rank + 1;
        turn(rank, heights[at], heights[at + 1]);
      }
      turn(target.rank, heights.at(-2), heights.at(-1));
    } else {
      for (let rank = source.rank; rank < target.rank; rank += 1) {
        turn(rank + 1, heights[rank - source.rank], heights[rank - source.rank + 1]);
      }
    }
    points.push([target.x, heights.at(-1)]);
    return points;
  }

  const RADIUS = 7;
  const TIP = 5;

  /** Return the SVG path through these corners, rounded, ending before the arrow's tip. */
  function path(points, radius = RADIUS) {
    let text = `M${points[0][0]} ${points[0][1]}`;
    for (let index = 1; index < points.length - 1; index += 1) {
      const [a, b, c] = points.slice(index - 1, index + 2);
      const before = Math.hypot(b[0] - a[0], b[1] - a[1]);
      const after = Math.hypot(c[0] - b[0], c[1] - b[1]);
      const cut = Math.min(radius, before / 2, after / 2);
      if (cut < 0.5) {
        text += `L${b[0]} ${b[1]}`;
        continue;
      }
      const from = [b[0] + ((a[0] - b[0]) / before) * cut, b[1] + ((a[1] - b[1]) / before) * cut];
      const to = [b[0] + ((c[0] - b[0]) / after) * cut, b[1] + ((c[1] - b[1]) / after) * cut];
      text += `L${from[0]} ${from[1]}Q${b[0]} ${b[1]} ${to[0]} ${to[1]}`;
    }
    const [x, y] = points[points.length - 1];
    return `${text}L${x - TIP} ${y}`;
  }

  /** Return the SVG path of the arrow at the end of these corners. */
  function arrow(points) {
    const [x, y] = points[points.length - 1];
    return `M${x} ${y}l-7 -3.6v7.2z`;
  }

  return { route, path, arrow };
})();
