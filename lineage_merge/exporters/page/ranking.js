"use strict";
// Ranks of cards: a card is to the right of everything that feeds it (pure).
lineage.ranking = (() => {
  // Aligning the cards of one group costs a search of the graph per card.
  const MOST_ALIGNED = 150;
  const ROUNDS = 10;

  /** Return the distinct pairs [source, target] of the edges, without loops. */
  function pairsOf(edges) {
    const seen = new Map();
    for (const { source, target } of edges) {
      if (source === target) continue;
      if (!seen.has(source)) seen.set(source, new Set());
      seen.get(source).add(target);
    }
    return [...seen].flatMap(([source, targets]) => [...targets].map((target) => [source, target]));
  }

  const adjacency = (nodes) => new Map(nodes.map((node) => [node.id, []]));

  // Depth first: pairs that close a cycle are dropped, the rest has a topological order.
  function acyclic(nodes, pairs) {
    const out = adjacency(nodes);
    const fed = new Set();
    for (const [source, target] of pairs) {
      out.get(source).push(target);
      fed.add(target);
    }
    const state = new Map();
    const order = [];
    const remaining = [];
    const visit = (start) => {
      const stack = [[start, 0]];
      state.set(start, "open");
      while (stack.length) {
        const top = stack[stack.length - 1];
        const next = out.get(top[0])[top[1]];
        top[1] += 1;
        if (next === undefined) {
          state.set(top[0], "done");
          order.push(top[0]);
          stack.pop();
        } else if (state.get(next) !== "open") {
          remaining.push([top[0], next]);
          if (!state.has(next)) {
            state.set(next, "open");
            stack.push([next, 0]);
          }
        }
      }
    };
    // Sources first, so that a cycle is cut where data enters it last.
    const starts = [...nodes].sort((a, b) => fed.has(a.id) - fed.has(b.id));
    for (const node of starts) if (!state.has(node.id)) visit(node.id);
    return { order: order.reverse(), pairs: remaining };
  }

  function neighbours(nodes, pairs) {
    const before = adjacency(nodes);
    const after = adjacency(nodes);
    for (const [source, target] of pairs) {
      after.get(source).push(target);
      before.get(target).push(source);
    }
    return { before, after };
  }

  // Extra pairs that move the cards of one group into one rank, as far as the edges allow it.
  function alignment(nodes, order, pairs) {
    if (nodes.length > MOST_ALIGNED) return [];
    const { before, after } = neighbours(nodes, pairs);
    const depth = new Map();
    for (const id of order) depth.set(id, Math.max(0, ...before.get(id).map((each) => depth.get(each) + 1)));
    const reaches = (start, goal) => {
      const waiting = [start];
      const seen = new Set(waiting);
      while (waiting.length) {
        const at = waiting.pop();
        if (at === goal) return true;
        for (const next of after.get(at)) {
          if (!seen.has(next)) {
            seen.add(next);
            waiting.push(next);
          }
        }
      }
      return false;
    };
    const groups = new Map();
    for (const node of nodes) {
      if (node.group === undefined) continue;
      if (!groups.has(node.group)) groups.set(node.group, []);
      groups.get(node.group).push(node.id);
    }
    const extra = [];
    const add = (source, target) => {
      if (source === undefined || target === undefined || source === target) return;
      if (reaches(target, source)) return;
      extra.push([source, target]);
      after.get(source).push(target);
      before.get(target).push(source);
    };
    for (const members of groups.values()) {
      const own = new Set(members);
      if (members.length < 2 || members.some((id) => after.get(id).some((next) => own.has(next)))) continue;
      const last = members.reduce((a, b) => (depth.get(b) > depth.get(a) ? b : a));
      const [source] = before.get(last);
      const [target] = after.get(last);
      for (const id of members) {
        if (id === last) continue;
        add(source, id);
        add(id, target);
      }
    }
    return extra;
  }

  /**
   * Return the rank of each node, from 0 without gaps.
   * @param {{id: string, group?: string}[]} nodes
   * @param {{source: string, target: string}[]} edges
   * @returns {{rank: Map<string, number>, count: number}}
   */
  function assign(nodes, edges) {
    const real = acyclic(nodes, pairsOf(edges));
    const extra = alignment(nodes, real.order, real.pairs);
    // Without the extra pairs there is no cycle, so none of the real ones is dropped here.
    const { order, pairs } = acyclic(nodes, [...real.pairs, ...extra]);
    const { before, after } = neighbours(nodes, pairs);
    const wish = neighbours(nodes, real.pairs);
    const rank = new Map();
    for (const id of order) rank.set(id, Math.max(0, ...before.get(id).map((each) => rank.get(each) + 1)));
    // Each card moves next to the side on which it has more neighbours.
    for (let round = 0; round < ROUNDS; round += 1) {
      for (const id of round % 2 ? order : order.toReversed()) {
        const more = wish.after.get(id).length - wish.before.get(id).length;
        if (more > 0) rank.set(id, Math.min(...after.get(id).map((each) => rank.get(each))) - 1);
        else if (more < 0) rank.set(id, Math.max(...before.get(id).map((each) => rank.get(each))) + 1);
      }
    }
    const used = [...new Set(rank.values())].sort((a, b) => a - b);
    const place = new Map(used.map((each, index) => [each, index]));
    return { rank: new Map(nodes.map((node) => [node.id, place.get(rank.get(node.id))])), count: used.length };
  }

  return { assign };
})();
