"use strict";
// Jobs as the page shows them: one entry per job, also where several DAGs merge it (pure).
lineage.processes = (() => {
  const fact = (job, name) => job.facts.find(([what]) => what === name)?.[1] ?? "";

  /** Return milliseconds since 1970 of "2026-11-22 10:40:05 UTC" or "2026-11-22 10:40 UTC"; null: none. */
  function timeOf(text) {
    const found = Date.parse(String(text).replace(" UTC", "Z").replace(" ", "T"));
    return Number.isNaN(found) ? null : found;
  }

  /** Return the name without dbt's resource type and project: `stg_sales` of `model.tickit.stg_sales`. */
  const shortName = (job) =>
    job.type === "dbt" ? job.name.replace(/^(model|seed|snapshot|exposure|test|source|semantic_model|metric|saved_query)\.[^.]+\./, "") : job.name;

  /** Return the project in dbt's unique id: `tickit` of `exposure.tickit.sales_dashboard`. */
  const projectOf = (job) =>
    job.type === "dbt" ? (job.name.match(/^(?:model|seed|snapshot|exposure|semantic_model|metric|saved_query)\.([^.]+)\./)?.[1] ?? "") : "";

  // Two DAGs merge the same job if it has one name and writes at least one dataset in both.
  function entries(jobs, targets) {
    const parent = jobs.map((_, index) => index);
    const root = (index) => {
      let at = index;
      while (parent[at] !== at) at = parent[at];
      return at;
    };
    const first = new Map();
    jobs.forEach((job, index) => {
      const name = JSON.stringify([job.environment, job.type, job.name]);
      if (!first.has(name)) first.set(name, new Map());
      const byTarget = first.get(name);
      for (const target of targets[index]) {
        if (byTarget.has(target)) parent[root(index)] = root(byTarget.get(target));
        else byTarget.set(target, index);
      }
    });
    const grouped = new Map();
    jobs.forEach((_, index) => {
      const at = root(index);
      if (!grouped.has(at)) grouped.set(at, []);
      grouped.get(at).push(index);
    });
    return [...grouped.values()];
  }

  /**
   * Return the processes, and for each job the index of its process.
   * @param {object[]} jobs
   * @param {Set<number>[]} targets datasets that each job writes
   * @param {Set<number>[]} sources datasets that each job reads
   * @param {string[]} dags names
   */
  function build(jobs, targets, sources, dags) {
    const processOf = new Array(jobs.length);
    const processes = entries(jobs, targets).map((members, index) => {
      for (const job of members) processOf[job] = index;
      const all = members.map((job) => jobs[job]);
      const newest = all.reduce((a, b) => (fact(b, "last run at") > fact(a, "last run at") ? b : a));
      const union = (sets) => new Set(members.flatMap((job) => [...sets[job]]));
      const project = fact(newest, "project") || projectOf(newest);
      const { type, environment } = newest;
      return {
        index,
        name: newest.name,
        short: shortName(newest),
        type,
        environment,
        project,
        framework: fact(newest, "framework"),
        status: fact(newest, "status"),
        finished: timeOf(fact(newest, "last run at")),
        duration: Number(fact(newest, "duration ms")) || null,
        rows: fact(newest, "rows written") === "" ? null : Number(fact(newest, "rows written")),
        facts: newest.facts,
        dags: [...new Set(all.map((job) => dags[job.dag]))].filter((name) => name),
        jobs: members,
        targets: union(targets),
        // Of these, only some may be loaded.
        written: Math.max(union(targets).size, ...all.map((job) => job.written ?? 0)),
        sources: union(sources),
        // What has one frame: a job, or all models of a dbt project.
        frame: type === "dbt" && project ? `dbt\n${environment}\n${project}` : `job\n${index}`,
      };
    });
    return { processes, processOf };
  }

  /** Return the state of a run: ok, failed or none (not recorded). */
  function stateOf(process) {
    if (!process || (process.finished === null && !process.status)) return "none";
    return /^fail/i.test(process.status) ? "failed" : "ok";
  }

  /** Return the age as text: "25 h", "3 d"; "" if the time is unknown. */
  function ageOf(time, now) {
    if (time === null || time === undefined) return "";
    const minutes = Math.max(0, Math.round((now - time) / 60_000));
    if (minutes < 60) return `${minutes} min`;
    const hours = Math.round(minutes / 60);
    return hours < 48 ? `${hours} h` : `${Math.round(hours / 24)} d`;
  }

  /** Return a duration as text: "2.4 s", "3 min 10 s". */
  function durationOf(milliseconds) {
    if (milliseconds === null) return "";
    const seconds = milliseconds / 1000;
    if (seconds < 60) return `${seconds.toFixed(1)} s`;
    return `${Math.floor(seconds / 60)} min ${Math.round(seconds % 60)} s`;
  }

  /** Return a time as text: "2026-11-22 10:40:05"; a number that is no date as it is. */
  const timeText = (time) => {
    if (time === null) return "";
    if (!(Math.abs(time) <= 8.64e15)) return `${time} ms`;
    return new Date(time).toISOString().slice(0, 19).replace("T", " ");
  };

  const STATES = { ok: "succeeded", warned: "stale, or a test warned", failed: "failed", none: "no run recorded" };

  return { build, stateOf, ageOf, durationOf, timeOf, timeText, STATES };
})();
