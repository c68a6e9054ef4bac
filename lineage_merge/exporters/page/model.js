"use strict";
// The graph of the page's data, indexed for the page's queries.
lineage.model = (() => {
  const INDIRECT = /CONDITIONAL|WINDOW/;
  const DIRECT = /IDENTITY|TRANSFORMATION|AGGREGATION/;
  const { NONE } = lineage.assertions;

  function build(data) {
    const datasets = data.datasets.map((each, index) => ({
      ...each,
      index,
      place: lineage.places.placeOf(each),
      up: [],
      down: [],
      decidedBy: [],
      writers: new Set(),
      tests: NONE,
      freshness: lineage.assertions.freshnessOfRow(each.freshness),
    }));
    const columns = [];
    for (const dataset of datasets) {
      dataset.columns = dataset.columns.map(([name, type, description, facts = NONE], place) => {
        const column = { index: columns.length, dataset: dataset.index, place, name, type, description, facts, tests: NONE };
        dataset.hasColumnFacts ||= facts !== NONE;
        columns.push(Object.assign(column, { up: [], down: [], decides: [] }));
        return column;
      });
    }
    const jobs = data.jobs.map((each, index) => ({ ...each, index, datasets: new Set() }));
    const [targets, sources] = [jobs.map(() => new Set()), jobs.map(() => new Set())];
    const feeds = data.feeds.map(([from, to, job, facts], index) => ({ index, from, to, job, facts }));
    for (const edge of feeds) {
      datasets[edge.from].down.push(edge);
      datasets[edge.to].up.push(edge);
      jobs[edge.job].datasets.add(edge.from).add(edge.to);
      targets[edge.job].add(edge.to);
      sources[edge.job].add(edge.from);
    }
    for (const [job, dataset] of data.writes ?? []) {
      jobs[job].datasets.add(dataset);
      targets[job].add(dataset);
    }
    const columnFeeds = data.column_feeds.map(
      ([dataset, column, target, made, job, transformation, expression, assumed]) => ({
        from: datasets[dataset].columns[column].index,
        to: datasets[target].columns[made].index,
        job,
        transformation,
        expression,
        assumed,
        indirect: INDIRECT.test(transformation) && !DIRECT.test(transformation),
      }),
    );
    for (const edge of columnFeeds) {
      columns[edge.from].down.push(edge);
      columns[edge.to].up.push(edge);
    }
    const influences = data.influences.map(([dataset, column, to, job, transformation, assumed]) => ({
      from: datasets[dataset].columns[column].index,
      to,
      job,
      transformation,
      assumed,
    }));
    for (const edge of influences) {
      columns[edge.from].decides.push(edge);
      datasets[edge.to].decidedBy.push(edge);
    }
    const { processes, processOf } = lineage.processes.build(jobs, targets, sources, data.dags);
    for (const process of processes) {
      for (const target of process.targets) datasets[target].writers.add(process);
    }
    // The page is a snapshot: ages and freshness are as of its creation.
    const now = lineage.processes.timeOf(data.made_at) ?? Date.now();
    const newest = (a, b) => ((b.finished ?? -1) > (a.finished ?? -1) ? b : a);
    lineage.assertions.attach(data.assertions ?? NONE, datasets);
    for (const dataset of datasets) {
      dataset.writer = [...dataset.writers].reduce((a, b) => (a ? newest(a, b) : b), null);
      dataset.state = lineage.processes.stateOf(dataset.writer);
      dataset.worst = lineage.assertions.worst(dataset);
    }
    const byId = new Map(datasets.map((each) => [each.id, each]));
    const model = { ...data, datasets, columns, jobs, feeds, columnFeeds, influences, byId, processes, processOf, now };
    model.writerOf = (dataset) => dataset.writer;
    return Object.assign(model, lineage.bands.build(model));
  }

  /** Return whether the columns of a feed are unknown. */
  const isLost = (feed) => feed.facts.some(([what, text]) => what === "column lineage" && text === "unavailable");

  // Values of a fact with several lines, such as tags, of a dataset, column or job.
  const factOf = (each, what) => each.facts.find(([name]) => name === what)?.[1] ?? "";
  const values = (each, what) => {
    const text = factOf(each, what);
    return text ? text.split("\n") : NONE;
  };
  const tagsOf = (each) => values(each, "tags");
  const ownersOf = (each) => (each.facts.length ? [...values(each, "owner"), ...values(each, "owners")] : NONE);

  // Of a dataset, its columns and the jobs that write it.
  function everyOf(dataset, valuesOf) {
    const found = [...valuesOf(dataset), ...[...dataset.writers].flatMap(valuesOf)];
    return dataset.hasColumnFacts ? [...new Set([...found, ...dataset.columns.flatMap(valuesOf)])] : found;
  }
  const NO_OWNER = "-";
  const isOwned = (dataset, owner) =>
    owner === NO_OWNER ? !ownersOf(dataset).length : everyOf(dataset, ownersOf).includes(owner);

  const isOlder = (model, { updatedAt }, limit) => updatedAt !== null && model.now - updatedAt > limit;

  // Return predicates for datasets and edges that match the filters.
  function passing(model, filters) {
    const { dag, environment, kind, platform, job, tag, owner, status, older, changed } = filters;
    const limit = lineage.assertions.duration(older);
    const dags = dag ? new Set(model.dags.flatMap((name, index) => (name === dag ? [index] : []))) : null;
    const jobs = job
      ? new Set(model.jobs.filter((each) => each.name === job).map((each) => each.index))
      : null;
    const ofJob = jobs ? new Set([...jobs].flatMap((index) => [...model.jobs[index].datasets])) : null;
    const dataset = (each) =>
      (!environment || each.environment === environment) &&
      (!kind || each.kind === kind) &&
      (!platform || each.place.platform === platform) &&
      (!dags || each.dags.some((index) => dags.has(index))) &&
      (!ofJob || ofJob.has(each.index)) &&
      (!tag || everyOf(each, tagsOf).includes(tag)) &&
      (!owner || isOwned(each, owner)) &&
      (!changed || !model.changes || each[changed]) &&
      (!status || lineage.assertions.has(each, status)) &&
      (!limit || isOlder(model, each.freshness, limit));
    const edge = (each) => (!jobs || jobs.has(each.job)) && (!dags || dags.has(model.jobs[each.job].dag));
    return { dataset, edge, isAll: !Object.values(filters).some((value) => value) };
  }

  // Return the distance in hops of everything reachable by `next`; 0 for the starts.
  function reach(starts, next, deepest = Infinity) {
    const found = new Map(starts.map((start) => [start, 0]));
    let level = starts;
    for (let depth = 1; level.length && depth <= deepest; depth += 1) {
      const following = [];
      for (const at of level) {
        for (const to of next(at)) {
          if (!found.has(to)) {
            found.set(to, depth);
            following.push(to);
          }
        }
      }
      level = following;
    }
    return found;
  }

  function datasetReach(model, start, passes, deepest = Infinity) {
    const goes = (edges, end) => edges.filter(passes.edge).map((edge) => edge[end]);
    return {
      up: reach([start], (at) => goes(model.datasets[at].up, "from"), deepest),
      down: reach([start], (at) => goes(model.datasets[at].down, "to"), deepest),
    };
  }

  // Return everything upstream and downstream of a dataset.
  function datasetTrace(model, start, passes) {
    const { up, down } = datasetReach(model, start, passes);
    const edges = new Set();
    const within = (side, edge) => side.has(edge.from) && side.has(edge.to);
    for (const side of [up, down]) {
      for (const at of side.keys()) {
        for (const edge of side === up ? model.datasets[at].up : model.datasets[at].down) {
          if (passes.edge(edge) && within(side, edge)) edges.add(edge.index);
        }
      }
    }
    return { kind: "dataset", start, up, down, edges };
  }

  // Return all columns upstream and downstream of a column, and the datasets whose rows it determines.
  function columnTrace(model, start, passes) {
    const upstream = (at) => model.columns[at].up.filter(passes.edge);
    const downstream = (at) => model.columns[at].down.filter(passes.edge);
    const upColumns = reach([start], (at) => upstream(at).map((edge) => edge.from));
    const downColumns = reach([start], (at) => downstream(at).map((edge) => edge.to));
    const edges = new Set();
    for (const at of upColumns.keys()) upstream(at).forEach((edge) => edges.add(edge));
    for (const at of downColumns.keys()) downstream(at).forEach((edge) => edges.add(edge));
    const decisions = [...downColumns.keys()].flatMap((at) => model.columns[at].decides.filter(passes.edge));
    const datasets = (found) => {
      const nearest = new Map();
      for (const [at, depth] of found) {
        const { dataset } = model.columns[at];
        if (!nearest.has(dataset)) nearest.set(dataset, depth);
      }
      return nearest;
    };
    const down = datasets(downColumns);
    for (const decision of decisions) {
      if (!down.has(decision.to)) down.set(decision.to, downColumns.get(decision.from) + 1);
    }
    return { kind: "column", start, upColumns, downColumns, edges, decisions, up: datasets(upColumns), down };
  }

  return { build, isLost, passing, reach, datasetReach, datasetTrace, columnTrace, factOf, tagsOf, ownersOf, everyOf, NO_OWNER };
})();
