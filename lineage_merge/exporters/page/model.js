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
      topics: [],
    }));
    const columns = [];
    for (const dataset of datasets) {
      dataset.columns = dataset.columns.map(([name, type, description, facts = NONE, path = null], place) => {
        const column = { index: columns.length, dataset: dataset.index, place, name, type, description, facts, tests: NONE };
        dataset.hasColumnFacts ||= facts.length > 0;
        columns.push(Object.assign(column, { up: [], down: [], decides: [], path, owner: null, fields: NONE }));
        return column;
      });
      nest(dataset);
      dataset.tops = dataset.columns.filter((column) => !column.owner).length;
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
        declared: jobs[job].type === "declared",
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
    for (const { key, title, datasets: members } of data.topics ?? NONE) {
      lineage.assertions.FILTERS[key] = title;
      for (const id of members) byId.get(id)?.topics.push(key);
    }
    const model = { ...data, datasets, columns, jobs, feeds, columnFeeds, influences, byId, processes, processOf, now };
    model.writerOf = (dataset) => dataset.writer;
    return Object.assign(model, lineage.bands.build(model));
  }

  const keyOf = (path) => JSON.stringify(path).toLowerCase();

  /** Give the fields of a dataset the column or field that they are a part of. */
  function nest(dataset) {
    if (!dataset.columns.some((column) => column.path)) return;
    const byPath = new Map(dataset.columns.map((column) => [keyOf(column.path ?? [column.name]), column]));
    for (const column of dataset.columns) {
      const owner = column.path && byPath.get(keyOf(column.path.slice(0, -1)));
      if (owner) contain(owner, column);
    }
  }

  function contain(owner, field) {
    field.owner = owner;
    if (owner.fields === NONE) owner.fields = [];
    owner.fields.push(field);
  }

  /** Return the structures of a field, the nearest first. */
  function structuresOf(column) {
    const found = [];
    for (let at = column.owner; at; at = at.owner) found.push(at);
    return found;
  }

  // Return a field of a structure; one that the graph does not have is made for the trace, and is in no dataset's list.
  function fieldOf(model, structure, names) {
    return names.reduce((owner, name) => {
      const known = owner.fields.find((field) => field.path.at(-1).toLowerCase() === name.toLowerCase());
      if (known) return known;
      const path = [...(owner.path ?? [owner.name]), name];
      const made = { index: model.columns.length, dataset: owner.dataset, place: -1, name: `${owner.name}.${name}`, type: "", description: "" };
      Object.assign(made, { facts: NONE, tests: NONE, up: [], down: [], decides: [], path, owner: null, fields: NONE });
      model.columns.push(made);
      contain(owner, made);
      return made;
    }, structure);
  }

  // Names of a path: a cycle that wraps a structure in another one has no end.
  const MOST_NAMES = 16;

  // Return the edge over which a field follows an edge of its structure: as questions do, `column_walk.py`.
  function passedOn(model, edge, structure, field, side) {
    const there = model.columns[side === "down" ? edge.to : edge.from];
    const names = field.path.slice((structure.path ?? [structure.name]).length);
    const isWhole = edge.transformation === "IDENTITY" && (there.path?.length ?? 1) + names.length <= MOST_NAMES;
    const other = (isWhole ? fieldOf(model, there, names) : there).index;
    edge.passed ??= new Map();
    const [from, to] = side === "down" ? [field.index, other] : [other, field.index];
    const key = `${from}>${to}`;
    if (!edge.passed.has(key)) edge.passed.set(key, { ...edge, from, to, passed: undefined });
    return edge.passed.get(key);
  }

  // Return the edges of a column, and of a field those of its structures that are not in the trace themselves.
  function edgesOf(model, index, side, passes, found) {
    const column = model.columns[index];
    const own = column[side].filter(passes.edge);
    if (!column.owner) return own;
    const above = structuresOf(column);
    if (above.some((structure) => found.has(structure.index))) return own;
    const passed = above.flatMap((structure) =>
      structure[side].filter(passes.edge).map((edge) => passedOn(model, edge, structure, column, side)),
    );
    return [...own, ...passed];
  }

  /** Return whether a walk continues at a field, or at one of its fields. */
  const leads = (field, side) =>
    field[side].length > 0 || (side === "down" && field.decides.length > 0) || field.fields.some((each) => leads(each, side));

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
        for (const to of next(at, found)) {
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
    const edges = new Set();
    // A column covers its fields.
    const side = (up, end) =>
      reach([start], (at, found) => {
        const next = edgesOf(model, at, up, passes, found);
        next.forEach((edge) => edges.add(edge));
        const fields = model.columns[at].fields.filter((field) => leads(field, up));
        return [...next.map((edge) => edge[end]), ...fields.map((field) => field.index)];
      });
    const [upColumns, downColumns] = [side("up", "from"), side("down", "to")];
    const decisions = [...downColumns.keys()].flatMap((at) => {
      const own = model.columns[at].decides;
      const above = structuresOf(model.columns[at]).filter((structure) => !downColumns.has(structure.index));
      const passed = above.flatMap((structure) => structure.decides.map((edge) => ({ ...edge, from: at })));
      return [...own, ...passed].filter(passes.edge);
    });
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

  /** Return the job of a feed, and who declares it if no tool reports it. */
  function saidOf(model, feed) {
    const { name, type } = model.jobs[feed.job];
    return type === "declared" ? `${name} declared ${factOf(feed, "declared")}`.trim() : name;
  }

  return { build, structuresOf, isLost, passing, reach, datasetReach, datasetTrace, columnTrace, factOf, tagsOf, ownersOf, everyOf, saidOf, NO_OWNER };
})();
