"use strict";
// Pipelines: the datasets of one DAG in one environment (pure).
lineage.bands = (() => {
  const FIRST = ["prod", "production", "prd", "live"];

  const keyOf = (environment, dag) => `${environment}|${dag}`;

  // A dataset belongs to the DAG whose job wrote it last; one that no job writes, to the smallest of its DAGs.
  function home(model, dataset, sizes) {
    const size = (dag) => sizes.get(keyOf(dataset.environment, dag)) ?? Infinity;
    const smallest = (names) =>
      names.reduce((a, b) => (size(b) < size(a) || (size(b) === size(a) && b < a) ? b : a));
    const writer = model.writerOf(dataset);
    if (writer?.dags.length) return smallest(writer.dags);
    const own = dataset.dags.map((index) => model.dags[index]);
    return own.length ? smallest(own) : "";
  }

  /**
   * Return the bands, production first, then the largest.
   * @returns {{bands: {key: string, environment: string, dag: string, members: number[]}[], bandOf: number[]}}
   */
  function build(model) {
    const sizes = new Map();
    for (const dataset of model.datasets) {
      for (const dag of dataset.dags) {
        const key = keyOf(dataset.environment, model.dags[dag]);
        sizes.set(key, (sizes.get(key) ?? 0) + 1);
      }
    }
    const found = new Map();
    for (const dataset of model.datasets) {
      const dag = home(model, dataset, sizes);
      const key = keyOf(dataset.environment, dag);
      if (!found.has(key)) found.set(key, { key, environment: dataset.environment, dag, members: [] });
      found.get(key).members.push(dataset.index);
    }
    const bands = [...found.values()].sort(
      (a, b) =>
        isProduction(b.environment) - isProduction(a.environment) ||
        compare(a.environment, b.environment) ||
        widthOf(model, b) - widthOf(model, a) ||
        b.members.length - a.members.length ||
        compare(a.dag, b.dag),
    );
    const bandOf = new Array(model.datasets.length);
    bands.forEach((band, index) => band.members.forEach((member) => (bandOf[member] = index)));
    return { bands, bandOf };
  }

  const compare = (a, b) => (a < b ? -1 : a > b ? 1 : 0);
  const isProduction = (environment) => FIRST.includes(environment.toLowerCase());
  // The number of places that data passes in one part; large bands come first.
  const widthOf = (model, band) =>
    band.members.length > 100
      ? 100
      : Math.max(
          ...partsOf(model, band.members).map(
            (part) => new Set(part.map((index) => model.datasets[index].place.key)).size,
          ),
        );

  /** Return the members of the band by connected part, the largest with files first as data enters there. */
  function partsOf(model, members) {
    const inside = new Set(members);
    const seen = new Set();
    const parts = [];
    for (const start of members) {
      if (seen.has(start)) continue;
      const part = [];
      const waiting = [start];
      seen.add(start);
      while (waiting.length) {
        const at = waiting.pop();
        part.push(at);
        const { up, down } = model.datasets[at];
        for (const next of [...up.map((edge) => edge.from), ...down.map((edge) => edge.to)]) {
          if (inside.has(next) && !seen.has(next)) {
            seen.add(next);
            waiting.push(next);
          }
        }
      }
      parts.push(part.sort((a, b) => a - b));
    }
    const files = (part) => part.some((index) => model.datasets[index].kind === "file");
    return parts.sort(
      (a, b) => (b.length > 1) - (a.length > 1) || files(b) - files(a) || b.length - a.length || a[0] - b[0],
    );
  }

  /** Return the bands with datasets that pass the filters, with these and the number of their parts. */
  function shown(model, passes) {
    return model.bands.flatMap((band) => {
      const members = passes.isAll ? band.members : band.members.filter((index) => passes.dataset(model.datasets[index]));
      return members.length ? [{ band, members, parts: members.length > 150 ? 1 : partsOf(model, members).length }] : [];
    });
  }

  return { shown, build, partsOf, isProduction };
})();
