"use strict";
// Order and heights of cards and lanes within their ranks: few crossings, then straight lines (pure).
lineage.ordering = (() => {
  const SWEEPS = 14;
  const SWAPS = 4;
  const FEW = 60;
  const LANE = 14;
  const LANE_TO_CARD = 17;
  const LANE_TO_FRAME = 36;

  // Cards and lanes of each rank, and the links between neighbouring ranks.
  function network(nodes, edges, count) {
    const items = new Map(
      nodes.map((node, index) => [
        node.id,
        {
          id: node.id,
          isLane: false,
          rank: node.rank,
          height: node.height,
          parent: node.parent ?? null,
          y: index * 90,
          index: 0,
          before: [],
          after: [],
        },
      ]),
    );
    const links = [];
    const lane = (key, rank, parent, y) => {
      const id = `${key}\u0001${rank}`;
      if (!items.has(id)) {
        items.set(id, { id, isLane: true, rank, height: 0, parent, y, index: 0, before: [], after: [] });
      }
      return items.get(id);
    };
    const seen = new Set();
    const link = (from, to, fromOffset, toOffset, weight) => {
      const key = `${from.id}\u0002${to.id}\u0002${fromOffset}\u0002${toOffset}`;
      if (from.isLane && to.isLane && seen.has(key)) return;
      seen.add(key);
      const made = { from, to, fromOffset, toOffset, weight };
      links.push(made);
      from.after.push(made);
      to.before.push(made);
    };
    for (const edge of edges) {
      const source = items.get(edge.source);
      const target = items.get(edge.target);
      const parent = source.parent === target.parent ? source.parent : null;
      const out = edge.sourceOffset === undefined ? 0 : edge.sourceOffset - source.height / 2;
      const into = edge.targetOffset === undefined ? 0 : edge.targetOffset - target.height / 2;
      if (edge.isBack) {
        // A line of a cycle passes every rank from its source to its target, both included.
        for (let rank = source.rank; rank > target.rank; rank -= 1) {
          const y = source.y + 40;
          link(lane(edge.net, rank - 1, null, y), lane(edge.net, rank, null, y), 0, 0, 4);
        }
        lane(edge.net, source.rank, null, source.y + 40);
        continue;
      }
      let before = source;
      for (let rank = source.rank + 1; rank < target.rank; rank += 1) {
        const part = (rank - source.rank) / (target.rank - source.rank);
        const next = lane(edge.net, rank, parent, source.y + (target.y - source.y) * part);
        link(before, next, before === source ? out : 0, 0, 8);
        before = next;
      }
      link(before, target, before === source ? out : 0, into, before.isLane ? 3 : 2);
    }
    const ranks = Array.from({ length: count }, () => []);
    for (const item of items.values()) ranks[item.rank].push(item);
    return { items, links, ranks };
  }

  const number = (ranks) => ranks.forEach((rank) => rank.forEach((item, index) => (item.index = index)));
  const blockOf = (item) => (item.parent === null ? item.id : `\u0003${item.parent}`);
  const sourceAt = (link) => link.from.index + link.fromOffset / 4096;
  const targetAt = (link) => link.to.index + link.toOffset / 4096;

  // Items of one job stay together.
  function sorted(rank, value) {
    const blocks = new Map();
    for (const item of rank) {
      const key = blockOf(item);
      if (!blocks.has(key)) blocks.set(key, []);
      blocks.get(key).push(item);
    }
    const ordered = [...blocks.values()].map((block) => {
      const values = new Map(block.map((item) => [item, value(item)]));
      block.sort((a, b) => values.get(a) - values.get(b));
      return { block, mean: block.reduce((sum, item) => sum + values.get(item), 0) / block.length };
    });
    ordered.sort((a, b) => a.mean - b.mean);
    return ordered.flatMap((each) => each.block);
  }

  // Crossings between two ranks, counted with a Fenwick tree.
  function crossingsOf(links) {
    const ends = links.map((link) => [sourceAt(link), targetAt(link)]);
    ends.sort((a, b) => a[0] - b[0] || a[1] - b[1]);
    const places = [...new Set(ends.map((end) => end[1]))].sort((a, b) => a - b);
    const place = new Map(places.map((value, index) => [value, index + 1]));
    const tree = new Array(places.length + 1).fill(0);
    let crossings = 0;
    ends.forEach((end, before) => {
      let lower = 0;
      for (let at = place.get(end[1]); at > 0; at -= at & -at) lower += tree[at];
      crossings += before - lower;
      for (let at = place.get(end[1]); at < tree.length; at += at & -at) tree[at] += 1;
    });
    return crossings;
  }

  // Crossings between the links of two neighbours in one rank, the first above the second.
  function crossingsOfPair(upper, lower) {
    let crossings = 0;
    for (const a of upper.before) for (const b of lower.before) if (sourceAt(a) > sourceAt(b)) crossings += 1;
    for (const a of upper.after) for (const b of lower.after) if (targetAt(a) > targetAt(b)) crossings += 1;
    return crossings;
  }

  function sweep(ranks, isForward) {
    for (let step = 0; step < ranks.length; step += 1) {
      const at = isForward ? step : ranks.length - 1 - step;
      ranks[at] = sorted(ranks[at], (item) => {
        const links = isForward ? item.before : item.after;
        if (!links.length) return item.index;
        const value = (link) =>
          isForward ? link.from.index + link.fromOffset / 2000 : link.to.index + link.toOffset / 2000;
        return links.reduce((sum, link) => sum + value(link), 0) / links.length;
      });
      ranks[at].forEach((item, index) => (item.index = index));
    }
  }

  const mayswap = (a, b) => blockOf(a) === blockOf(b) || (a.parent === null && b.parent === null);

  function swapNeighbours(ranks) {
    let isBetter = true;
    for (let turn = 0; isBetter && turn < SWAPS; turn += 1) {
      isBetter = false;
      for (const rank of ranks) {
        for (let at = 0; at + 1 < rank.length; at += 1) {
          const upper = rank[at];
          const lower = rank[at + 1];
          if (!mayswap(upper, lower)) continue;
          if (crossingsOfPair(lower, upper) < crossingsOfPair(upper, lower)) {
            rank[at] = lower;
            rank[at + 1] = upper;
            lower.index = at;
            upper.index = at + 1;
            isBetter = true;
          }
        }
      }
    }
  }

  function gapBetween(a, b, options) {
    let gap = options.gap;
    if (a.isLane && b.isLane) gap = LANE;
    else if (a.parent !== b.parent) gap = a.isLane || b.isLane ? LANE_TO_FRAME : options.frameGap;
    else if (a.isLane || b.isLane) gap = LANE_TO_CARD;
    return (a.height + b.height) / 2 + gap;
  }

  // Positions closest to the wanted ones (least squares) that retain order and gaps.
  function fit(rank, wanted, weights, options) {
    let offset = 0;
    const offsets = rank.map((item, index) =>
      index ? (offset += gapBetween(rank[index - 1], item, options)) : 0,
    );
    const fitted = lineage.isotonic.fit(
      wanted.map((y, index) => y - offsets[index]),
      weights,
    );
    rank.forEach((item, index) => (item.y = fitted[index] + offsets[index]));
  }

  // Return the cost of the heights: the extent, and how far lines are from straight.
  function settle(ranks, links, turns, options) {
    for (const rank of ranks) {
      let y = 0;
      rank.forEach((item, index) => {
        if (index) y += gapBetween(rank[index - 1], item, options);
        item.y = y;
      });
    }
    for (let turn = 0; turn < turns; turn += 1) {
      for (const rank of turn % 2 ? ranks.toReversed() : ranks) {
        const wanted = [];
        const weights = [];
        for (const item of rank) {
          const side = turn % 2 ? item.after : item.before;
          const used = turn < 40 && side.length ? side : [...item.before, ...item.after];
          let sum = 0;
          let weight = 0;
          for (const link of used) {
            const isTarget = link.to === item;
            const y = isTarget
              ? link.from.y + link.fromOffset - link.toOffset
              : link.to.y + link.toOffset - link.fromOffset;
            sum += y * link.weight;
            weight += link.weight;
          }
          wanted.push(weight ? sum / weight : item.y);
          weights.push(weight || 0.05);
        }
        fit(rank, wanted, weights, options);
      }
    }
    let top = Infinity;
    let bottom = -Infinity;
    for (const rank of ranks) {
      if (!rank.length) continue;
      top = Math.min(top, rank[0].y - rank[0].height / 2);
      const last = rank[rank.length - 1];
      bottom = Math.max(bottom, last.y + last.height / 2);
    }
    const bent = links.reduce(
      (sum, link) => sum + Math.abs(link.from.y + link.fromOffset - link.to.y - link.toOffset),
      0,
    );
    return (bottom - top) * 4 + bent;
  }

  // Move ranks up so that the first card of each is in view, as far as lanes leave room above it.
  function raise(ranks, options) {
    const topOf = (item) => item.y - item.height / 2;
    const top = Math.min(...ranks.flat().map(topOf));
    for (const rank of ranks) {
      const first = rank.find((item) => !item.isLane);
      // One less, because positions are rounded.
      const excess = first ? topOf(first) - top - Math.max(0, options.inView - 1 - first.height) : 0;
      if (excess <= 0) continue;
      let highest = top + rank[0].height / 2;
      rank.forEach((item, index) => {
        if (index) highest += gapBetween(rank[index - 1], item, options);
        item.y = Math.max(item.y - excess, highest);
      });
    }
  }

  // Swaps and mirrored halves that add no crossing but lower the cost.
  function refine(ranks, links, total, options) {
    let cost = settle(ranks, links, 24, options);
    const best = total();
    for (let turn = 0; turn < 2; turn += 1) {
      for (const rank of ranks) {
        for (let at = 0; at + 1 < rank.length; at += 1) {
          const [upper, lower] = [rank[at], rank[at + 1]];
          if (!mayswap(upper, lower) || crossingsOfPair(lower, upper) > crossingsOfPair(upper, lower)) continue;
          const swap = () => {
            [rank[at], rank[at + 1]] = [rank[at + 1], rank[at]];
            number(ranks);
          };
          swap();
          const swapped = settle(ranks, links, 24, options);
          if (swapped < cost - 1) cost = swapped;
          else swap();
        }
      }
    }
    for (let from = 1; from < ranks.length; from += 1) {
      const before = ranks.map((rank) => [...rank]);
      for (let at = from; at < ranks.length; at += 1) ranks[at].reverse();
      number(ranks);
      const mirrored = total() <= best ? settle(ranks, links, 24, options) : Infinity;
      if (mirrored < cost - 1) cost = mirrored;
      else {
        before.forEach((rank, at) => (ranks[at] = rank));
        number(ranks);
      }
    }
  }

  /**
   * Set `y` of each node; return the y of each lane by `laneKey`.
   * @param {{id: string, rank: number, height: number, parent?: string}[]} nodes
   * @param {{source: string, target: string, net: string, isBack: boolean}[]} edges
   * @param {number} count of ranks
   * @param {{gap: number, frameGap: number, isQuick?: boolean, inView?: number}} options `isQuick`: fewer attempts;
   *   `inView`: height in which the first card of each rank is
   * @returns {Map<string, number>}
   */
  function arrange(nodes, edges, count, options) {
    const { items, links, ranks } = network(nodes, edges, count);
    const byRank = Array.from({ length: count }, () => []);
    for (const link of links) byRank[link.from.rank].push(link);
    const total = () => {
      number(ranks);
      return byRank.reduce((sum, each) => sum + crossingsOf(each), 0);
    };
    let seed = 7;
    const random = () => (seed = (seed * 1664525 + 1013904223) >>> 0) / 4294967296;
    const few = !options.isQuick && items.size <= 2 * FEW && nodes.length <= FEW;
    const starts = options.isQuick ? 2 : items.size > 400 ? 2 : nodes.length > 150 ? 3 : nodes.length > FEW ? 5 : 10;
    let best = null;
    let fewest = Infinity;
    let lowest = Infinity;
    for (let start = 0; start < starts; start += 1) {
      ranks.forEach((rank, at) => {
        const drawn = new Map(rank.map((item) => [item, start > 1 ? random() : start ? -item.y : item.y]));
        ranks[at] = sorted(rank, (item) => drawn.get(item));
      });
      number(ranks);
      for (let turn = 0; turn < SWEEPS; turn += 1) {
        sweep(ranks, turn % 2 === 0);
        swapNeighbours(ranks);
      }
      const crossings = total();
      const cost = few && crossings <= fewest ? settle(ranks, links, 24, options) : 0;
      if (crossings < fewest || (crossings === fewest && cost < lowest)) {
        fewest = crossings;
        lowest = cost;
        best = ranks.map((rank) => [...rank]);
      }
      if (!crossings && !few) break;
    }
    (best ?? []).forEach((rank, at) => (ranks[at] = rank));
    number(ranks);
    if (few) refine(ranks, links, total, options);
    settle(ranks, links, nodes.length > 400 ? 44 : 60, options);
    if (options.inView) raise(ranks, options);
    for (const node of nodes) node.y = Math.round(items.get(node.id).y - node.height / 2);
    const lanes = new Map();
    for (const item of items.values()) if (item.isLane) lanes.set(item.id, Math.round(item.y));
    return lanes;
  }

  /** Return the key of a net's lane in a rank. */
  const laneKey = (net, rank) => `${net}\u0001${rank}`;

  return { arrange, laneKey };
})();
