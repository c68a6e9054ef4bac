"use strict";
// The page's data as of one of its moments, or of two together (pure).
lineage.moments = (() => {
  const ROWS = {
    feeds: { ends: [0, 1], job: 2 },
    column_feeds: { ends: [0, 2], columns: true, job: 4 },
    influences: { ends: [0, 2], column: true, job: 3 },
    writes: { ends: [1], job: 0 },
  };
  const bit = (moment) => (moment === null ? 0 : 1 << moment);

  function grouped(rows) {
    const found = new Map();
    for (const [at, moment, values] of rows ?? []) {
      if (!found.has(at)) found.set(at, {});
      found.get(at)[moment] = values;
    }
    return found;
  }

  // Elements that a moment has, with its values, and their new indexes; -1: not among them.
  function selected(rows, masks, everywhere, values, { at, from }) {
    const known = new Map(masks ?? []);
    const places = [];
    const found = [];
    rows.forEach((row, index) => {
      const mask = known.get(index) ?? everywhere;
      const has = mask & (bit(at) | bit(from));
      places.push(has ? found.length : -1);
      if (!has) return;
      const own = values.get(index)?.[mask & bit(at) ? at : from];
      found.push(own ? Object.assign(Array.isArray(row) ? [...row] : { ...row }, own) : row);
    });
    return { rows: found, places };
  }

  /**
   * Return the data of a moment in the format of a page with one, and the places of its elements.
   * @param {{at: number, from: number | null}} shown `from`: also what only this moment has
   */
  function restore(data, shown) {
    const { list, present, columns, values, column_values } = data.moments;
    const everywhere = 2 ** list.length - 1;
    const select = (name) => selected(data[name], present[name], everywhere, grouped(values[name]), shown);
    const datasets = select("datasets");
    const masks = new Map(present.datasets ?? []);
    const ofDataset = (rows) => {
      const found = new Map();
      for (const [dataset, ...row] of rows) found.set(dataset, [...(found.get(dataset) ?? []), row]);
      return found;
    };
    const [columnMasks, columnValues] = [ofDataset(columns), ofDataset(column_values)];
    const columnPlaces = [];
    datasets.places.forEach((place, index) => {
      if (place < 0) return;
      const all = masks.get(index) ?? everywhere;
      const found = selected(data.datasets[index].columns, columnMasks.get(index), all, grouped(columnValues.get(index)), shown);
      columnPlaces[index] = found.places;
      datasets.rows[place] = { ...datasets.rows[place], columns: found.rows };
    });
    const jobs = select("jobs");
    const made = { ...data, datasets: datasets.rows, jobs: jobs.rows };
    for (const [name, kind] of Object.entries(ROWS)) {
      made[name] = select(name).rows.map((row) => {
        const moved = [...row];
        for (const end of kind.ends) {
          moved[end] = datasets.places[row[end]];
          if (kind.columns || (kind.column && end === 0)) moved[end + 1] = columnPlaces[row[end]][row[end + 1]];
        }
        moved[kind.job] = jobs.places[row[kind.job]];
        return moved;
      });
    }
    made.assertions = select("assertions").rows.map((row) => {
      const moved = [...row];
      moved[6] = row[6].map(([dataset, column]) => [datasets.places[dataset], column < 0 ? column : columnPlaces[dataset][column]]);
      return moved;
    });
    // The newest moment is that of the page; ages are as of the moment.
    if (shown.at < list.length - 1) Object.assign(made, { made_at: list[shown.at].name, topics: [], near_misses: [] });
    return { data: made, places: { datasets: datasets.places, columns: columnPlaces, jobs: jobs.places } };
  }

  return { restore };
})();
