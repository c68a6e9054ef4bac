"use strict";
// The order of rows in the cards of a column trace (pure).
lineage.columnRows = (() => {
  /** Sort the rows of cards by those they come from and lead to, so that few lines between two cards cross. */
  function sort(found, rows) {
    const at = new Map();
    const number = () => {
      for (const columns of rows.values()) columns.forEach((column, place) => at.set(column, (place + 0.5) / columns.length));
    };
    const next = { from: new Map(), to: new Map() };
    for (const { from, to } of found.steps) {
      next.to.set(to, [...(next.to.get(to) ?? []), from]);
      next.from.set(from, [...(next.from.get(from) ?? []), to]);
    }
    const hops = (columns) => Math.max(...columns.map((column) => (found.down.get(column) ?? 0) - (found.up.get(column) ?? 0)));
    const sorted = [...rows.values()].sort((a, b) => hops(a) - hops(b));
    number();
    for (const [neighbours, cards] of [
      [next.to, sorted],
      [next.from, [...sorted].reverse()],
      [next.to, sorted],
    ]) {
      for (const columns of cards) {
        const mean = (column) => {
          const known = (neighbours.get(column) ?? []).filter((each) => at.has(each));
          return known.length ? known.reduce((sum, each) => sum + at.get(each), 0) / known.length : at.get(column);
        };
        const means = new Map(columns.map((column) => [column, mean(column)]));
        columns.sort((a, b) => means.get(a) - means.get(b) || at.get(a) - at.get(b));
        number();
      }
    }
  }

  return { sort };
})();
