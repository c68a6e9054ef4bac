"use strict";
// What the overview lists at the left: end points, sources, and what is worth a look (pure).
lineage.attention = (() => {
  const { counted } = lineage.dom;
  const APART = 3;
  const RANK = { exposure: 0, saved_query: 0, metric: 0, semantic_model: 1, snapshot: 1, view: 2, table: 2, topic: 3, seed: 3, file: 4 };

  // Several datasets of one place are one entry.
  function collapsed(model, found) {
    const groups = new Map();
    for (const dataset of found) {
      const key = `${model.bandOf[dataset.index]}\n${dataset.place.key}\n${dataset.kind}`;
      if (!groups.has(key)) groups.set(key, []);
      groups.get(key).push(dataset);
    }
    return [...groups.values()].flatMap((members) =>
      members.length > APART
        ? [{ name: members[0].place.name, members, kind: members[0].kind }]
        : members.map((each) => ({ name: each.name, members: [each], kind: each.kind })),
    );
  }

  const hasOther = (edges, end, index) => edges.some((edge) => edge[end] !== index);
  const isEnd = (each) => !hasOther(each.down, "to", each.index) && hasOther(each.up, "from", each.index);
  const isSource = (each) => hasOther(each.down, "to", each.index) && !hasOther(each.up, "from", each.index);

  const order = (model) => (a, b) =>
    RANK[a.kind] - RANK[b.kind] ||
    model.bandOf[a.members[0].index] - model.bandOf[b.members[0].index] ||
    b.members.length - a.members.length ||
    (a.name < b.name ? -1 : 1);

  /** Return the datasets without a reader, dashboards first. */
  const endPoints = (model, datasets) =>
    collapsed(model, datasets.filter(isEnd)).sort(order(model));

  /** Return the datasets that feed others and that nothing in the graph feeds. */
  const sources = (model, datasets) => {
    const found = new Map();
    for (const dataset of datasets.filter(isSource)) {
      const key = `${model.bandOf[dataset.index]}\n${dataset.place.key}`;
      if (!found.has(key)) found.set(key, { name: dataset.place.name, members: [], kind: dataset.kind });
      found.get(key).members.push(dataset);
    }
    return [...found.values()].sort(
      (a, b) =>
        model.bandOf[a.members[0].index] - model.bandOf[b.members[0].index] ||
        b.members.length - a.members.length,
    );
  };

  /** Return the entries, those of several environments as one with `twins`. */
  function withTwins(entries) {
    const found = new Map();
    for (const each of entries) {
      const { environment, place } = each.members[0];
      const key = JSON.stringify([each.name, each.kind, place.name, each.members.length]);
      const known = found.get(key) ?? [];
      const twin = known.find((other) => [other, ...other.twins].every(({ members }) => members[0].environment !== environment));
      if (twin) twin.twins.push(each);
      else found.set(key, [...known, { ...each, twins: [] }]);
    }
    return [...found.values()].flat();
  }

  // Files and topics that a job writes and nothing reads; people query tables directly.
  function unread(model, datasets) {
    const found = datasets.filter((each) => (each.kind === "file" || each.kind === "topic") && isEnd(each));
    return collapsed(model, found).map(({ name, members }) => ({
      what: members.length > 1 ? `${members.length} outputs in ${name} are not read` : `${name} is not read`,
      members,
      more: members.length > 1 ? "" : members[0].place.name,
      severity: "note",
    }));
  }

  // An alias of one dataset that is the name of another one.
  function sameDataset(model, datasets) {
    const withAlias = datasets.filter((each) => each.facts.some(([what]) => what === "aliases"));
    if (!withAlias.length) return [];
    const named = new Map(datasets.map((each) => [`${each.environment}|${each.namespace}|${each.path}`, each]));
    return withAlias.flatMap((dataset) =>
      (dataset.facts.find(([what]) => what === "aliases")?.[1] ?? "").split("\n").flatMap((alias) => {
        const other = named.get(`${dataset.environment}|${alias.replace(/ \([^()]*\)$/, "")}`);
        if (!other || other === dataset) return [];
        return [
          {
            what: `${dataset.name} has two names`,
            members: [other, dataset],
            more: `also ${other.title}`,
            severity: "note",
          },
        ];
      }),
    );
  }

  // Pairs whose datasets are both shown; dismissed ones are one entry.
  function nearMisses(model, datasets) {
    const visible = new Set(datasets);
    const found = (model.near_misses ?? [])
      .map(({ written, read, ...rest }) => ({ ...rest, members: [model.byId.get(written), model.byId.get(read)] }))
      .filter(({ members }) => members.every((each) => visible.has(each)));
    const dismissed = found.filter((each) => each.is_dismissed);
    const entries = found.filter((each) => !each.is_dismissed).map(({ members, text, fix }) => ({
      what: `${members[0].name} is written and read under two names`,
      members,
      more: `read as ${members[1].title}; ${text}`,
      fix,
      severity: "note",
    }));
    if (!dismissed.length) return entries;
    const more = dismissed.map(({ members, text }) => `${members[0].name} ${text}`).join("; ");
    return [...entries, { what: `dismissed near misses: ${dismissed.length}`, members: dismissed.flatMap((each) => each.members), more, severity: "note" }];
  }

  function failedRuns(model, datasets) {
    const visible = new Set(datasets.map((each) => each.index));
    const found = [];
    for (const process of model.processes) {
      const members = [...process.targets].filter((index) => visible.has(index));
      if (!members.length || lineage.processes.stateOf(process) !== "failed") continue;
      const age = lineage.processes.ageOf(process.finished, model.now);
      found.push({
        what: `${process.short} failed`,
        members: members.map((index) => model.datasets[index]),
        more: age && `${age} ago`,
        severity: "failed",
        process,
      });
    }
    return found;
  }

  const { inState } = lineage.assertions;
  const { factOf, ownersOf, NO_OWNER } = lineage.model;

  function failedTests(datasets) {
    return datasets.flatMap((each) => {
      const failed = inState(each.tests, "failed");
      if (!failed) return [];
      const more = each.tests.slice(0, 3).filter((test) => test.state === "failed" && !test.freshness).map((test) => test.name);
      return [{ what: `${each.name}: ${counted(failed, "test")} failed`, members: [each], more: more.join(", "), severity: "failed" }];
    });
  }

  // What is only downstream of stale data is not listed.
  function staleData(model, datasets) {
    return datasets.flatMap((each) => {
      const { origin, why, updatedAt } = each.freshness;
      if (!origin) return [];
      const age = lineage.processes.ageOf(updatedAt, model.now);
      return [{ what: `${each.name} is stale`, members: [each], more: [age && `last update ${age} ago`, why].filter((part) => part).join(", "), severity: "warned" }];
    });
  }

  // Of policies: each has the texts of its violations.
  function violations(model, datasets) {
    const visible = new Set(datasets);
    return (model.topics ?? []).flatMap(({ severity, entries }) =>
      entries.flatMap(([id, text, fix]) => (visible.has(model.byId.get(id)) ? [{ what: text, members: [model.byId.get(id)], more: fix, severity }] : [])),
    );
  }

  function deprecatedInUse(datasets) {
    return datasets.flatMap((each) => {
      const date = factOf(each, "deprecation date").slice(0, 10);
      if (!date || !hasOther(each.down, "to", each.index)) return [];
      const readers = new Set(each.down.map((edge) => edge.to).filter((to) => to !== each.index)).size;
      return [{ what: `${each.name} is deprecated and has ${counted(readers, "reader")}`, members: [each], more: `removal ${date}`, severity: "note" }];
    });
  }

  // Of a graph without owners, no dataset lacks one.
  function unowned(datasets) {
    const found = datasets.filter((each) => !ownersOf(each).length);
    if (!found.length || found.length === datasets.length) return [];
    const more = found.slice(0, 3).map((each) => each.name).join(", ") + (found.length > 3 ? ", …" : "");
    return [{ what: `${counted(found.length, "dataset")} without an owner`, members: found, more, severity: "note", owner: NO_OWNER }];
  }

  /** Return what deserves attention: {what, more, members, severity}, failed runs first. */
  function worthALook(model, datasets) {
    const all = [
      ...failedRuns(model, datasets),
      ...violations(model, datasets),
      ...failedTests(datasets),
      ...staleData(model, datasets),
      ...deprecatedInUse(datasets),
      ...sameDataset(model, datasets),
      ...nearMisses(model, datasets),
      ...unread(model, datasets),
      ...unowned(datasets),
    ];
    const rank = { failed: 0, warned: 1, note: 2 };
    return all.sort((a, b) => rank[a.severity] - rank[b.severity]);
  }

  return { endPoints, sources, withTwins, worthALook };
})();
