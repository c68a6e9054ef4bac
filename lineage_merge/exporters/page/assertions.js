"use strict";
// Tests of datasets and columns, their states, and the freshness of data (pure).
lineage.assertions = (() => {
  const { ageOf, STATES } = lineage.processes;
  const { counted } = lineage.dom;
  const NONE = [];
  const ORDER = ["failed", "stale", "none", "ok"];
  const UNITS = { m: 60_000, h: 3_600_000, d: 86_400_000, w: 604_800_000 };

  // A test that only warns has the shape of an old run.
  function stateOf({ status, severity }) {
    if (status === "passed") return "ok";
    if (status === "warned" || (status === "failed" && severity === "warn")) return "stale";
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
  const isLate = (check) => check !== null && (check.state === "failed" || check.state === "stale");

  /** Return the time of the newest successful write, or of the newest row that a freshness check found; null: unknown. */
  function freshAt(dataset) {
    let newest = null;
    for (const { finished, status } of dataset.writers) {
      if (finished !== null && finished > newest && !/^fail/i.test(status)) newest = finished;
    }
    return newest ?? (dataset.tests.length ? (freshnessOf(dataset)?.freshness.loadedAt ?? null) : null);
  }

  /** Return what failed tests, a late source or warnings mean, in words; "" if there are none. */
  function problemOf({ tests }, now) {
    if (!tests.length) return "";
    const failed = inState(tests, "failed");
    if (failed) return `${counted(failed, "test")} failed`;
    const late = freshnessOf({ tests });
    if (isLate(late)) return late.freshness.loadedAt ? `stale: ${ageOf(late.freshness.loadedAt, now)} old` : "stale source";
    const warned = inState(tests, "stale");
    return warned ? `${counted(warned, "test")} warned` : "";
  }

  /** Return the state of a dataset: of its newest run and of its tests, the worst of these. */
  function worst({ state, tests }) {
    if (!tests.length) return state;
    const states = new Set([state, ...tests.map((each) => (each.freshness && each.state === "failed" ? "stale" : each.state))]);
    return ["failed", "stale", "ok"].find((each) => states.has(each)) ?? "none";
  }

  /** Return the state of a dataset in words: of the run, and of the tests. */
  const wordsOf = (dataset, now) =>
    [STATES[dataset.state], problemOf(dataset, now)].filter((part) => part).join(", ");

  const FILTERS = {
    ok: "last run succeeded",
    stale: `last run ${STATES.stale}`,
    failed: "last run failed",
    none: STATES.none,
    "tests-failed": "tests failed",
    "tests-warned": "tests warned",
    "tests-passed": "all tests passed",
    "source-stale": "source stale",
  };

  /** Return whether a dataset has a status of the filter. */
  function has(dataset, status) {
    const { tests } = dataset;
    if (dataset.state === status) return true;
    if (!tests.length) return false;
    if (status === "tests-failed") return inState(tests, "failed") > 0;
    if (status === "tests-warned") return tests.some((each) => each.state === "stale");
    if (status === "tests-passed") return tests.every((each) => each.state === "ok");
    return status === "source-stale" && isLate(freshnessOf(dataset));
  }

  /** Return a duration such as 90m, 6h, 1d, 2w in milliseconds; null: no duration. */
  function duration(text) {
    const [, number, unit] = /^([1-9]\d{0,4})([mhdw])$/.exec(text) ?? [];
    return unit ? Number(number) * UNITS[unit] : null;
  }

  return { attach, stateOf, inState, freshnessOf, isLate, freshAt, problemOf, worst, wordsOf, has, duration, FILTERS, NONE };
})();
