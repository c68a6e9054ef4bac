"use strict";
// Search in the shards of names: what is typed selects the few that may have it.
lineage.finding = (() => {
  const { icon, byId, counted } = lineage.dom;
  const { shards, part } = lineage;
  // Shards that are loaded for a word, and datasets whose columns are searched.
  const MOST = 3;
  const MOST_DATASETS = 8;
  // Datasets that the shards have of a word of descriptions, words that are looked for in these, and results.
  const MOST_OF_WORD = 200;
  const MOST_WORDS = 3;
  const MOST_FOUND = 40;

  let about = null;
  let wanted = ""; // the last text that was typed
  let answer = { found: [], total: 0 };

  const { normal } = lineage.matching;

  // The shards of an index that may have keys from one text to another: from the last one that begins before.
  function rangeOf(index, from, to = `${from}\uffff`) {
    const names = about.beginnings[index];
    const before = (isBefore) => {
      let [low, high] = [0, names.length];
      while (low < high) {
        const middle = (low + high) >> 1;
        if (isBefore(names[middle])) low = middle + 1;
        else high = middle;
      }
      return low - 1;
    };
    return [Math.max(0, before((each) => each < from)), Math.max(0, before((each) => each <= to))];
  }

  const longest = 40; // of the beginnings of names

  // Rows of the shards of the word that has the fewest.
  async function rowsOf(words, index = "search") {
    if (!about.beginnings[index].length) return { rows: [], isCut: false };
    const ranges = words.map((word) => rangeOf(index, word.slice(0, longest)));
    const [first, last] = ranges.reduce((a, b) => (b[1] - b[0] < a[1] - a[0] ? b : a));
    const end = Math.min(last, first + MOST - 1);
    const contents = await Promise.all(Array.from({ length: end - first + 1 }, (_, at) => shards.load(index, first + at)));
    return { rows: contents.flat(), isCut: end < last };
  }

  const parts = (kind, text, where, of) => [icon(about.kinds[kind]), text, where, about.environments[of]];

  function entriesOf(rows) {
    const [datasets, columns, others] = [new Map(), new Map(), new Map()];
    for (const row of rows) {
      if (typeof row[0] === "number") datasets.set(row[0], row);
      else if (typeof row[1] === "number") columns.set(row[0], row);
      else others.set(JSON.stringify(row), row);
    }
    const ofDatasets = [...datasets.values()].map(([number, text, title, kind, of, words = ""]) => ({
      kind: "dataset", at: number, name: text, more: `${title} ${words}`, title, parts: parts(kind, text, title, of), open: () => part.open(number),
    }));
    const ofColumns = [...columns.values()].flatMap(([text, count, places]) =>
      places.map(([number, title, kind, of], index) => ({
        kind: "column", at: number, name: text, more: "", rest: index ? 0 : count - places.length,
        parts: parts(kind, text, `column of ${title}`, of), open: () => part.open(number, text),
      })),
    );
    const ofOthers = [...others.values()].map(([text, what, at, count]) => {
      if (what !== "job") {
        const where = `${what} of ${counted(count, "dataset")}`;
        return { kind: what, name: text, parts: [icon(what, ""), text, where, ""], open: () => part.go({ view: "overview", mark: `${what} ${text}` }) };
      }
      const [number, , , of] = at;
      const where = `job · writes ${counted(count, "dataset")}`;
      return { kind: what, at: number, name: text, parts: [icon("job"), text, where, about.environments[of]], open: () => part.open(number, null, text) };
    });
    return lineage.matching.index([...ofDatasets, ...ofOthers, ...ofColumns]);
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
        .map(([text]) => ({ ...each, kind: "column", name: text, parts: [each.parts[0], text, `column of ${each.title}`, each.parts[3]], open: () => part.open(each.at, text) })),
    );
    columns.sort((a, b) => (normal(b.name) === column) - (normal(a.name) === column));
    return { found: columns.slice(0, MOST_DATASETS * 5), total: columns.length, isCut: found.length > MOST_DATASETS };
  }

  async function search(typed) {
    if (typed.includes("#") && typed.indexOf("#") > 0) return columnsOf(typed);
    const words = normal(typed).split(/\s+/);
    const named = await rowsOf(words);
    const first = matching(named, typed);
    const { found, total, isCut } = first.total < MOST_FOUND ? matching(await withDescribed(named, words), typed) : first;
    // The first two letters select where typing errors are looked for.
    return total ? { found, total, isCut } : matching(await rowsOf(words.map((word) => word.slice(0, 2))), typed);
  }

  // Also the datasets whose descriptions or aliases have one of the words: all of its words decide later.
  async function withDescribed(named, words) {
    const described = await Promise.all(words.slice(0, MOST_WORDS).map((word) => rowsOf([word], "word")));
    const isCut = described.some((each, at) => each.isCut || each.rows.filter((row) => row[5].includes(words[at])).length >= MOST_OF_WORD);
    return { rows: [...named.rows, ...described.flatMap((each) => each.rows)], isCut: named.isCut || isCut };
  }

  /** Return the list of a tag or an owner, as the marks of the page have it; undefined: there is none. */
  async function listOf(mark) {
    const [what, ...rest] = mark.split(" ");
    const text = rest.join(" ");
    const key = normal([...text].slice(0, longest).join(""));
    // Of a key, tags and owners come first.
    const [first, last] = rangeOf("search", key, key);
    const contents = await Promise.all([...new Set([first, Math.min(first + 1, last)])].map((at) => shards.load("search", at)));
    const row = contents.flat().find((each) => each[0] === text && each[1] === what);
    return row && [mark, mark, what, row[2], row[3]];
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
          if (found.found[0]?.at !== undefined) shards.expect(found.found[0].at);
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
    byId("search").labels[0].textContent = "Search datasets, columns, jobs, tags and owners";
  }

  return { start, find, listOf };
})();
