"use strict";
// Tests and freshness of datasets and columns, and their states (pure).
lineage.assertions = (() => {
  const { ageOf, STATES } = lineage.processes;
  const { counted } = lineage.dom;
  const NONE = [];
  const ORDER = ["failed", "warned", "none", "ok"];
  const UNITS = { m: 60_000, h: 3_600_000, d: 86_400_000, w: 604_800_000 };

  function stateOf({ status, severity }) {
    if (status === "passed") return "ok";
    if (status === "warned" || (status === "failed" && severity === "warn")) return "warned";
    return status === "failed" || status === "error" ? "failed" : "none";
  }

  // Several DAGs may merge one test: it is one entry with its newest result and all DAGs.
  function merged(rows) {
    const found = new Map();
    for (const [name, type, severity, status, failures, finished, checks, facts, freshness] of rows) {
      const [loadedAt, warnAfter, failAfter] = freshness ?? [];
      const each = { name, type, severity, status, failures, finished, checks, facts: new Map(facts) };
      each.freshness = freshness ? { loadedAt, warnAfter, failAfter } : null;
      const key = JSON.stringify([name, type, each.facts.get("job name"), checks]);
      const other = found.get(key);
      const dags = [other?.facts.get("DAG"), each.facts.get("DAG")].filter((dag) => dag).join("\n");
      const newest = other && (other.finished ?? 0) > (finished ?? 0) ? other : each;
      if (dags) newest.facts.set("DAG", dags);
      found.set(key, newest);
    }
    return found.values();
  }

  function add(owner, test) {
    if (owner.tests === NONE) owner.tests = [];
    if (!owner.tests.includes(test)) owner.tests.push(test);
  }

  /** Give datasets and columns their tests, those that failed first. */
  function attach(rows, datasets) {
    const all = [...merged(rows)].map((test) => ({ ...test, state: stateOf(test) }));
    all.sort((a, b) => ORDER.indexOf(a.state) - ORDER.indexOf(b.state) || (a.name < b.name ? -1 : 1));
    for (const test of all) {
      for (const [dataset, column] of test.checks) {
        add(datasets[dataset], test);
        if (column >= 0) add(datasets[dataset].columns[column], test);
      }
    }
  }

  const inState = (tests, state) => tests.filter((each) => !each.freshness && each.state === state).length;
  /** Return the newest check of the freshness of a dataset. */
  const freshnessOf = (dataset) =>
    dataset.tests.filter((each) => each.freshness).reduce((a, b) => (a && (a.finished ?? 0) >= (b.finished ?? 0) ? a : b), null);

  /** Return the freshness of a dataset: the page computes no status of its own. */
  const freshnessOfRow = ([status = "", updatedAt = null, why = "", origin = ""] = []) => ({ status, updatedAt, why, origin });

  /** Return the status of data, why, and its last update, in words; "" if it was not assessed. */
  function freshnessText({ statuses, now }, { status, why, updatedAt }) {
    if (!status) return "";
    const age = updatedAt === null ? "" : ` · last update ${ageOf(updatedAt, now)} ago`;
    return `${status}: ${why || statuses[status]}${age}`;
  }

  /** Return what failed tests, stale data or warnings mean, in words; "" if there are none. Columns have no freshness. */
  function problemOf({ tests, freshness }, now) {
    const failed = inState(tests, "failed");
    if (failed) return `${counted(failed, "test")} failed`;
    if (freshness?.status === "stale") return freshness.origin === "age" && freshness.updatedAt !== null ? `stale: ${ageOf(freshness.updatedAt, now)} old` : "stale";
    const warned = inState(tests, "warned");
    return warned ? `${counted(warned, "test")} warned` : "";
  }

  /** Return the state of a dataset: of its newest run, its tests and its data, the worst of these. */
  function worst({ state, tests, freshness }) {
    const isStale = freshness.status === "stale";
    if (!tests.length) return isStale && state !== "failed" ? "warned" : state;
    // Of a freshness check that did not pass, the data is stale.
    const states = new Set([state, ...tests.map((each) => (each.freshness && each.state !== "ok" ? "none" : each.state))]);
    if (isStale) states.add("warned");
    return ["failed", "warned", "ok"].find((each) => states.has(each)) ?? "none";
  }

  /** Return the state of a dataset in words: of the run, and of the tests. */
  const wordsOf = (dataset, now) =>
    [STATES[dataset.state], problemOf(dataset, now)].filter((part) => part).join(", ");

  const FILTERS = {
    ok: "last run succeeded",
    failed: "last run failed",
    none: STATES.none,
    fresh: "fresh",
    current: "current: as new as its inputs",
    stale: "stale",
    unknown: "last update unknown",
    "tests-failed": "tests failed",
    "tests-warned": "tests warned",
    "tests-passed": "all tests passed",
  };

  /** Return whether a dataset has a status of the filter. */
  function has(dataset, status) {
    const { tests } = dataset;
    if (dataset.state === status || dataset.freshness.status === status || dataset.topics.includes(status)) return true;
    if (!tests.length) return false;
    if (status === "tests-failed") return inState(tests, "failed") > 0;
    if (status === "tests-warned") return tests.some((each) => each.state === "warned");
    return status === "tests-passed" && tests.every((each) => each.state === "ok");
  }

  /** Return a duration such as 90m, 6h, 1d, 2w in milliseconds; null: no duration. */
  function duration(text) {
    const [, number, unit] = /^([1-9]\d{0,4})([mhdw])$/.exec(text) ?? [];
    return unit ? Number(number) * UNITS[unit] : null;
  }

  return { attach, stateOf, inState, freshnessOf, freshnessOfRow, freshnessText, problemOf, worst, wordsOf, has, duration, FILTERS, NONE };
})();
