"use strict";
// Search in the shards of names: what is typed selects the few that may have it.
lineage.finding = (() => {
  const { icon, byId } = lineage.dom;
  const { shards, part } = lineage;
  // Shards that are loaded for a word, and datasets whose columns are searched.
  const MOST = 3;
  const MOST_DATASETS = 8;

  let about = null;
  let wanted = ""; // the last text that was typed
  let answer = { found: [], total: 0 };

  const { normal } = lineage.matching;

  // The shards whose names may begin with a text: from the last one that begins before it.
  function rangeOf(text) {
    const { names } = about;
    const before = (isBefore) => {
      let [low, high] = [0, names.length];
      while (low < high) {
        const middle = (low + high) >> 1;
        if (isBefore(names[middle])) low = middle + 1;
        else high = middle;
      }
      return low - 1;
    };
    return [Math.max(0, before((each) => each < text)), Math.max(0, before((each) => each <= `${text}\uffff`))];
  }

  const longest = 40; // of the beginnings of names

  // Rows of the shards of the word that has the fewest.
  async function rowsOf(words) {
    if (!about.names.length) return { rows: [], isCut: false };
    const ranges = words.map((word) => rangeOf(word.slice(0, longest)));
    const [first, last] = ranges.reduce((a, b) => (b[1] - b[0] < a[1] - a[0] ? b : a));
    const end = Math.min(last, first + MOST - 1);
    const contents = await Promise.all(Array.from({ length: end - first + 1 }, (_, at) => shards.load("search", first + at)));
    return { rows: contents.flat(), isCut: end < last };
  }

  const parts = (kind, text, where, of) => [icon(about.kinds[kind]), text, where, about.environments[of]];

  function entriesOf(rows) {
    const [datasets, columns] = [new Map(), new Map()];
    for (const row of rows) {
      if (Array.isArray(row[2])) columns.set(row[0], row);
      else datasets.set(row[0], row);
    }
    const ofDatasets = [...datasets.values()].map(([number, text, title, kind, of]) => ({
      kind: "dataset", at: number, name: text, more: title, parts: parts(kind, text, title, of), open: () => part.open(number),
    }));
    const ofColumns = [...columns.values()].flatMap(([text, count, places]) =>
      places.map(([number, title, kind, of], index) => ({
        kind: "column", at: number, name: text, more: "", rest: index ? 0 : count - places.length,
        parts: parts(kind, text, `column of ${title}`, of), open: () => part.open(number, text),
      })),
    );
    return lineage.matching.index([...ofDatasets, ...ofColumns]);
  }

  async function columnsOf(typed) {
    const [dataset, column] = [typed.slice(0, typed.indexOf("#")), normal(typed.slice(typed.indexOf("#") + 1))];
    const { rows } = await rowsOf([normal(dataset)]);
    const entries = entriesOf(rows).filter((each) => each.kind === "dataset");
    const { found } = lineage.matching.find(entries, dataset, () => "");
    const best = await Promise.all(found.slice(0, MOST_DATASETS).map(async (each) => [each, await shards.dataset(each.at)]));
    const columns = best.flatMap(([each, row]) =>
      row.columns
        .filter(([text]) => normal(text).startsWith(column))
        .map(([text]) => ({ ...each, kind: "column", name: text, parts: [each.parts[0], text, `column of ${each.more}`, each.parts[3]], open: () => part.open(each.at, text) })),
    );
    columns.sort((a, b) => (normal(b.name) === column) - (normal(a.name) === column));
    return { found: columns.slice(0, MOST_DATASETS * 5), total: columns.length, isCut: found.length > MOST_DATASETS };
  }

  async function search(typed) {
    if (typed.includes("#") && typed.indexOf("#") > 0) return columnsOf(typed);
    const words = normal(typed).split(/\s+/);
    const { found, total, isCut } = matching(await rowsOf(words), typed);
    // The first two letters select where typing errors are looked for.
    return total ? { found, total, isCut } : matching(await rowsOf(words.map((word) => word.slice(0, 2))), typed);
  }

  function matching({ rows, isCut }, typed) {
    const { found, total } = lineage.matching.find(entriesOf(rows), typed, () => "");
    const rest = found.reduce((sum, each) => sum + (each.rest ?? 0), 0);
    return { found, total: total + rest, isCut };
  }

  /** Return what is found by now; `again` is called when more is. */
  function find(typed, again) {
    const text = typed.trim();
    if (text === wanted || answer.isFailed) {
      const found = answer;
      if (answer.isFailed) answer = { found: [], total: 0 };
      return found;
    }
    wanted = text;
    answer = { found: [], total: 0, isPending: text !== "" };
    if (text) {
      search(text).then(
        (found) => {
          if (text !== wanted) return;
          answer = found;
          if (found.found.length) shards.expect(found.found[0].at);
          again();
        },
        (error) => {
          wanted = "";
          answer = { found: [], total: 0, isFailed: true };
          part.fail(error);
          again();
        },
      );
    }
    return answer;
  }

  /** Begin with the data of a page without datasets. */
  function start(data) {
    about = data.shards;
    byId("search").placeholder = "Dataset, column …";
    byId("search").labels[0].textContent = "Search datasets and columns";
  }

  return { start, find };
})();
