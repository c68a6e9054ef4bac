"use strict";
// Parts of the panel: tests, owners, tags, notices, freshness.
lineage.details = (() => {
  const { element, button, name, icon, state, counted } = lineage.dom;
  const { ageOf, durationOf, timeText } = lineage.processes;
  const { freshnessOf, freshnessText, inState } = lineage.assertions;
  const { factOf, tagsOf, ownersOf } = lineage.model;
  const MOST = 200;
  const FEW = 3;

  const section = (title, note, ...children) =>
    element("section", {}, element("h3", {}, title, note ? element("span", {}, note) : null), ...children);

  const plain = (pairs) =>
    element(
      "dl",
      { class: "plain" },
      pairs.flatMap(([what, text]) => [
        element("dt", {}, what),
        element("dd", {}, String(text).split("\n").map((line) => element("div", {}, name(line)))),
      ]),
    );

  const joined = (parts, by = " · ") => parts.filter((part) => part).join(by);

  /** Return facts as pairs to show, with custom metadata as one line per key. */
  const shownFacts = (facts) =>
    facts.map(([what, text]) => {
      if (what === "duration ms") return ["duration", durationOf(Number(text))];
      return [what, what === "meta" ? metaText(text) : text];
    });

  function metaText(text) {
    try {
      const lines = Object.entries(JSON.parse(text));
      return lines.map(([key, value]) => `${key}: ${typeof value === "string" ? value : JSON.stringify(value)}`).join("\n");
    } catch {
      return text;
    }
  }

  /** Return a link to an address of the data; null if it is not an http address. */
  function link(text, words) {
    let address = null;
    try {
      address = new URL(text);
    } catch {
      return null;
    }
    if (!/^https?:$/.test(address.protocol)) return null;
    return element("a", { class: "small", href: address.href, target: "_blank", rel: "noopener noreferrer", title: address.href }, icon("link", ""), words);
  }

  /** Return the policies that a dataset violates, with what to do. */
  const violations = (model, { id }) =>
    (model.topics ?? []).flatMap(({ entries }) => entries.filter(([of]) => of === id).map(([, text, fix]) => element("p", { class: "notice" }, icon("warn", "warn"), element("span", {}, name(text), element("br"), element("span", { class: "quiet" }, name(fix))))));

  /** Return notices about deprecation and version; null: none. */
  function notice(dataset, now) {
    const date = factOf(dataset, "deprecation date").slice(0, 10);
    const [version, latest] = [factOf(dataset, "version"), factOf(dataset, "latest version")];
    const isPast = date && Date.parse(date) < now;
    const text = joined([
      date && `deprecated, ${isPast ? "was to be" : "will be"} removed on ${date}`,
      version && latest && version !== latest && `version ${version}, the latest is ${latest}`,
    ], "; ");
    return text ? element("p", { class: "notice" }, icon("warn", "warn"), name(text)) : null;
  }

  // The newest row of a source, and the limits and result of its check.
  function sourceCheck(model, check) {
    const { loadedAt, warnAfter, failAfter } = check.freshness;
    const text = joined([
      loadedAt ? `newest row ${ageOf(loadedAt, model.now)} old` : "newest row unknown",
      warnAfter && `warns after ${ageOf(0, warnAfter)}`,
      failAfter && `fails after ${ageOf(0, failAfter)}`,
      check.finished ? `checked ${ageOf(check.finished, model.now)} ago: ${check.status}` : "not checked",
    ]);
    return element("p", { class: "check", title: loadedAt ? `${timeText(loadedAt)} UTC` : "" }, name(text));
  }

  const DOTS = { fresh: "ok", stale: "warned" };

  /** Return the lines about the freshness of a dataset and its check; without either empty. */
  function freshness(model, dataset) {
    const { status } = dataset.freshness;
    const check = freshnessOf(dataset);
    return [
      status ? element("p", { class: "fresh" }, state(DOTS[status] ?? "none", status), name(freshnessText(model, dataset.freshness))) : null,
      check ? sourceCheck(model, check) : null,
    ];
  }

  function test(model, each) {
    const isRow = each.failures !== null && each.failures !== undefined && each.state !== "ok" && each.state !== "none";
    const what = each.status || "not run";
    const about = [isRow ? `${what}: ${counted(each.failures, "row")}` : what, each.type, each.facts.get("checks")];
    const age = ageOf(each.finished, model.now);
    const { facts } = each;
    const pairs = [
      ["type", each.type],
      ["severity", each.severity],
      ["failing rows", each.failures ?? ""],
      ["finished", each.finished ? `${timeText(each.finished)} UTC` : "no run recorded"],
      ...shownFacts([...facts]),
    ].filter(([, text]) => text !== "");
    return element(
      "details",
      { class: "test" },
      element(
        "summary",
        {},
        state(each.state, what),
        "\u00a0",
        name(each.name),
        name(joined([...about, age && `${age} ago`]), { class: "quiet" }),
      ),
      plain(pairs),
    );
  }

  /** Return the section of the tests of a dataset or column, those that failed first; null: none. */
  function tests(model, found) {
    if (!found.length) return null;
    const words = { failed: "failed", warned: "warned", ok: "passed", none: "not run" };
    const late = found.filter((each) => each.freshness);
    const number = (which) => inState(found, which) + late.filter((each) => each.state === which).length;
    const note = Object.entries(words).map(([which, word]) => number(which) && `${number(which)} ${word}`);
    return section("Tests", joined(note, ", "), ...found.slice(0, MOST).map((each) => test(model, each)));
  }

  // A list of few names, or their number.
  const some = (names, one) => (names.length > FEW ? counted(names.length, one) : names.join(", "));

  /** Return the section of the owners of a dataset, its columns and the jobs that write it; null: none. */
  function owners(dataset) {
    const found = new Map();
    const note = (owner, what, text) => {
      if (!found.has(owner)) found.set(owner, { columns: [], jobs: [] });
      if (what) found.get(owner)[what].push(text);
    };
    for (const owner of ownersOf(dataset)) note(owner);
    for (const column of dataset.columns) for (const owner of ownersOf(column)) note(owner, "columns", column.name);
    for (const job of dataset.writers) for (const owner of ownersOf(job)) note(owner, "jobs", job.short);
    if (!found.size) return null;
    const own = new Set(ownersOf(dataset));
    const line = ([owner, { columns, jobs }]) => {
      const what = joined([own.has(owner) && "dataset", some(columns, "column"), jobs.length && `job ${some(jobs, "job")}`], ", ");
      return element("li", {}, button({ class: "item", "data-owner": owner, title: `Filter by ${owner}` }, name(owner, { class: "what" }), name(what, { class: "far-end" })));
    };
    return section("Owners", "", element("ul", {}, [...found].slice(0, MOST).map(line)));
  }

  /** Return the tags as buttons that filter; those of columns have the names of the columns. Null: none. */
  function tags(own, columns = []) {
    const found = new Map(own.map((tag) => [tag, []]));
    for (const column of columns) {
      for (const tag of tagsOf(column)) {
        if (!found.has(tag)) found.set(tag, []);
        if (!own.includes(tag)) found.get(tag).push(column.name);
      }
    }
    if (!found.size) return null;
    const chip = ([tag, of]) =>
      button({ class: "tag", "data-tag": tag, title: `Filter by ${tag}` }, name(tag), of.length ? name(some(of, "column"), { class: "quiet" }) : null);
    return element("div", { class: "tags" }, [...found].slice(0, MOST).map(chip));
  }

  /** Return the first owners, for a cell. */
  const ownerText = (found) => (found.length > 1 ? `${found[0]} and ${found.length - 1} more` : found.join());

  return { section, plain, shownFacts, link, notice, violations, freshness, tests, owners, tags, ownerText };
})();
