"use strict";
// Tolerant search: several words in any order, parts of words, and typing errors (pure).
lineage.matching = (() => {
  const MOST = 40;
  const WORD = /[\p{L}\p{N}]+/gu;

  const normal = (text) => text.toLowerCase().normalize("NFKC");

  /** Return whether two words differ by at most `most` insertions, deletions, substitutions or swaps. */
  function isNear(a, b, most) {
    if (Math.abs(a.length - b.length) > most) return false;
    let before = null;
    let last = Array.from({ length: b.length + 1 }, (_, index) => index);
    for (let i = 1; i <= a.length; i += 1) {
      const row = [i];
      let least = i;
      for (let j = 1; j <= b.length; j += 1) {
        const cost = a[i - 1] === b[j - 1] ? 0 : 1;
        let value = Math.min(last[j] + 1, row[j - 1] + 1, last[j - 1] + cost);
        if (before && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]) value = Math.min(value, before[j - 2] + 1);
        row.push(value);
        least = Math.min(least, value);
      }
      if (least > most) return false;
      [before, last] = [last, row];
    }
    return last[b.length] <= most;
  }

  const allowed = (word) => (word.length >= 8 ? 2 : word.length >= 4 ? 1 : 0);

  /**
   * Return entries to search: `name` counts most, `more` is searched too.
   * @param {{kind: string, at: number, name: string, more: string}[]} found
   */
  const index = (found) =>
    found.map((each) => ({ ...each, text: normal(each.name), more: normal(each.more ?? "") }));

  // 0: the name, 1: its start, 2: the start of its words, 3: within it, 4: elsewhere.
  function rank(entry, words, whole) {
    if (entry.text === whole) return 0;
    if (entry.text.startsWith(whole)) return 1;
    if (entry.text.includes(whole)) return 2;
    if (words.every((word) => entry.text.includes(word))) return 3;
    if (words.every((word) => entry.text.includes(word) || entry.more.includes(word))) return 4;
    return -1;
  }

  function collect(entries, rankOf) {
    const ranked = [[], [], [], [], [], []];
    let total = 0;
    for (const entry of entries) {
      const at = rankOf(entry);
      if (at < 0) continue;
      total += 1;
      if (ranked[at].length < MOST) ranked[at].push(entry);
    }
    return { found: ranked.flat().slice(0, MOST), total };
  }

  // Words of the data that resemble a typed word.
  function resembling(entries, words) {
    const known = new Map();
    for (const entry of entries) {
      entry.words ??= entry.text.match(WORD) ?? [];
      for (const word of entry.words) if (!known.has(word)) known.set(word, null);
    }
    return words.map((word) => {
      const most = allowed(word);
      const close = new Set();
      if (most) for (const each of known.keys()) if (isNear(word, each, most)) close.add(each);
      return { word, close };
    });
  }

  /**
   * Return the entries that match a text, best first, at most 40, and how many match.
   * A text with `#` finds columns: `dataset#column`.
   * @param {(entry: object) => string} ownerOf name of the dataset of a column's entry
   */
  function find(entries, typed, ownerOf) {
    const whole = normal(typed.trim());
    if (!whole) return { found: [], total: 0 };
    if (whole.includes("#")) {
      const [dataset, column] = whole.split("#");
      return collect(entries, (entry) =>
        entry.kind === "column" && normal(ownerOf(entry)).includes(dataset) && entry.text.startsWith(column)
          ? entry.text === column
            ? 0
            : 1
          : -1,
      );
    }
    const words = whole.split(/\s+/);
    const exact = collect(entries, (entry) => rank(entry, words, whole));
    if (exact.total) return exact;
    const near = resembling(entries, words);
    return collect(entries, (entry) => {
      const hits = near.every(
        ({ word, close }) =>
          entry.text.includes(word) || entry.more.includes(word) || entry.words.some((each) => close.has(each)),
      );
      return hits ? 5 : -1;
    });
  }

  return { normal, index, find };
})();
