"use strict";
// The part of the graph that is loaded: the lineage of the datasets in the address, or a group of datasets.
lineage.part = (() => {
  const { element, button, byId, counted, digits } = lineage.dom;
  const { shards } = lineage;
  // Datasets of a lineage that are loaded at first, and on request.
  const STEPS = [500, 2_000, 5_000];
  // Datasets that a walk counts, and that are drawn of a group.
  const FARTHEST = 20_000;
  const MOST_MEMBERS = 2_000;

  let data = null; // of the page, without datasets
  let shown = nothing();
  let address = { band: null, place: null, mark: null, most: STEPS[0] };
  let turns = 0;

  function nothing() {
    return { key: null, subjects: [], members: null, total: 0, count: 0, isMore: false };
  }

  // Everything upstream (side 0) or downstream (side 1) of a dataset, with its distance in hops.
  async function reach(start, side) {
    const found = new Map([[start, 0]]);
    let level = [start];
    for (let depth = 1; level.length && found.size <= FARTHEST; depth += 1) {
      const rows = await shards.pick("walk", level);
      const following = [];
      level.forEach((at, index) => {
        for (const apart of rows[index][side]) {
          if (found.has(at + apart)) continue;
          found.set(at + apart, depth);
          following.push(at + apart);
        }
      });
      level = following;
    }
    return { found, isMore: level.length > 0 };
  }

  // The nearest datasets of a lineage, and how many it has.
  async function lineageOf(number, most) {
    const [up, down] = await Promise.all([reach(number, 0), reach(number, 1)]);
    const hops = new Map(up.found);
    for (const [at, depth] of down.found) hops.set(at, Math.min(depth, hops.get(at) ?? depth));
    const nearest = [...hops.keys()].sort((a, b) => hops.get(a) - hops.get(b) || a - b).slice(0, most);
    return { numbers: nearest, total: hops.size, isMore: up.isMore || down.isMore };
  }

  const bandOf = (key) => data.shards.bands.find((each) => each.key === key);

  /** Return the group of a band with this place: {namespace, name, first, count, marks}; undefined: none. */
  async function groupOf(band, place) {
    const rows = await shards.slice("group", ...band.groups);
    const row = rows.find(([namespace, name]) => `${namespace} ${name}` === place);
    return row && { namespace: row[0], name: row[1], first: row[2], count: row[3], marks: row[4] ?? [] };
  }

  async function membersOf({ band: key, place }) {
    const band = bandOf(key);
    if (!band) return null;
    const group = place === null ? null : await groupOf(band, place);
    const [first, count] = group ? [group.first, group.count] : band.names;
    const rows = await shards.slice("name", first, Math.min(count, MOST_MEMBERS));
    return { band: key, place: group && place, name: group?.name ?? (band.dag || "no DAG"), numbers: rows.map((row) => row[2]), total: count };
  }

  // What is loaded of several shards, as the data of a page: datasets by id, with the edges between them.
  async function merged(numbers) {
    const inside = new Set(numbers);
    const found = await shards.data(numbers);
    const rows = found.flatMap(({ first, content }) => content.datasets.flatMap((row, at) => (inside.has(first + at) ? [[first + at, row]] : [])));
    rows.sort(([, a], [, b]) => (a.id < b.id ? -1 : 1));
    const place = new Map(rows.map(([number], index) => [number, index]));
    const made = { datasets: [], jobs: [], feeds: [], column_feeds: [], influences: [], writes: [], assertions: [], dags: [], topics: [] };
    const numbered = new Map();
    const indexOf = (list, key, value) => {
      if (!numbered.has(key)) numbered.set(key, list.push(value) - 1);
      return numbered.get(key);
    };
    const [tests, topics] = [new Map(), new Map()];
    for (const { first, content } of found) {
      const dag = (index) => indexOf(made.dags, `dag ${content.dags[index]}`, content.dags[index]);
      const job = (index) => {
        const each = content.jobs[index];
        const key = JSON.stringify([each.environment, content.dags[each.dag], each.type, each.name]);
        return indexOf(made.jobs, `job ${key}`, { ...each, dag: dag(each.dag) });
      };
      content.datasets.forEach((row, at) => {
        if (place.has(first + at)) made.datasets[place.get(first + at)] = { ...row, dags: row.dags.map(dag) };
      });
      for (const [from, to, by, facts] of content.feeds) {
        if (place.has(from) && place.has(to)) made.feeds.push([place.get(from), place.get(to), job(by), facts]);
      }
      for (const [from, column, to, target, by, ...how] of content.column_feeds) {
        if (place.has(from) && place.has(to)) made.column_feeds.push([place.get(from), column, place.get(to), target, job(by), ...how]);
      }
      for (const [from, column, to, by, ...how] of content.influences) {
        if (place.has(from) && place.has(to)) made.influences.push([place.get(from), column, place.get(to), job(by), ...how]);
      }
      for (const [by, to] of content.writes) if (place.has(to)) made.writes.push([job(by), place.get(to)]);
      for (const row of content.assertions) {
        const checks = row[6].filter(([dataset]) => place.has(dataset)).map(([dataset, column]) => [place.get(dataset), column]);
        if (!checks.length) continue;
        // A test of several datasets is in the shard of each.
        const key = JSON.stringify(Object.assign([...row], { 6: null }));
        if (!tests.has(key)) tests.set(key, Object.assign([...row], { 6: [] }));
        tests.get(key)[6].push(...checks);
      }
      for (const topic of content.topics) {
        if (!topics.has(topic.key)) topics.set(topic.key, { ...topic, datasets: [], entries: [] });
        topics.get(topic.key).datasets.push(...topic.datasets);
        topics.get(topic.key).entries.push(...topic.entries);
      }
    }
    made.assertions.push(...tests.values());
    made.topics.push(...topics.values());
    const byEnds = (to) => (a, b) => a[0] - b[0] || a[to] - b[to];
    made.feeds.sort(byEnds(1));
    made.column_feeds.sort(byEnds(2));
    made.influences.sort(byEnds(2));
    return made;
  }

  /** Return the address with the view that it means, without what only this module reads. */
  function normalized(hash) {
    const params = new URLSearchParams(hash.replace(/^#/, ""));
    const isOverview = params.get("view") === "overview" || !["focus", "dataset", "band"].some((key) => params.has(key));
    if (isOverview) {
      for (const key of ["focus", "dataset", "column"]) params.delete(key);
      params.set("view", "overview");
    } else if (!["view", "focus", "column"].some((key) => params.has(key)) && params.has("dataset")) {
      params.set("focus", params.get("dataset"));
    }
    return { params, isOverview };
  }

  async function load({ band, place, most }, ids) {
    const found = { ...nothing(), subjects: [] };
    const numbers = new Set();
    const all = await Promise.all(ids.map(shards.numberOf));
    const starts = all.filter((number) => number !== null);
    for (const each of await Promise.all(starts.map((number) => lineageOf(number, most)))) {
      for (const number of each.numbers) numbers.add(number);
      found.total = Math.max(found.total, each.total);
      found.isMore ||= each.isMore;
      found.isCut ||= each.total > each.numbers.length;
    }
    found.subjects = ids.filter((_, at) => all[at] !== null);
    if (band !== null) {
      found.members = await membersOf({ band, place });
      for (const number of found.members?.numbers ?? []) numbers.add(number);
    }
    found.count = numbers.size;
    return [found, numbers.size ? await merged([...numbers]) : {}];
  }

  /**
   * Load what an address shows, and change the model to it.
   * @returns {Promise<{hash: string, isTurned: boolean} | null>} null: it failed, or another address followed
   */
  async function follow(model, hash) {
    turns += 1;
    const own = turns;
    const { params, isOverview } = normalized(hash);
    const next = { band: params.get("band"), place: params.get("place"), mark: params.get("mark"), most: STEPS.find((step) => step === Number(params.get("most"))) ?? STEPS[0] };
    const ids = [...new Set([params.get("focus"), params.get("dataset")])].filter((id) => id !== null);
    if (params.has("focus")) next.band = null;
    for (const key of ["band", "place", "mark", "most"]) params.delete(key);
    const key = JSON.stringify([ids, next.band, next.place, next.most]);
    const isTurned = !isOverview && key !== shown.key;
    try {
      if (isTurned) {
        const [found, made] = await load(next, ids);
        if (own !== turns) return null;
        shown = { ...found, key };
        Object.assign(model, lineage.model.build({ ...data, ...made }));
      }
    } catch (error) {
      if (own === turns) fail(error);
      return null;
    }
    address = next;
    recover();
    return { hash: `#${params}`, isTurned };
  }

  /** Return whether a state needs the lineage of a dataset that is not loaded. */
  function lacks(model, state) {
    const column = state.column === null ? null : model.columns[state.column].dataset;
    return [state.focus, state.dataset, column].some((index) => index !== null && !shown.subjects.includes(model.datasets[index].id));
  }

  /** Add to an address what is loaded, and where in the overview the page is. */
  function write(params, state) {
    const isOverview = state.view === "overview";
    const at = isOverview ? address : state.focus === null ? shown.members : null;
    if (at?.band) params.set("band", at.band);
    if (at?.place) params.set("place", at.place);
    if (isOverview && address.mark) params.set("mark", address.mark);
    if (!isOverview && address.most > STEPS[0]) params.set("most", String(address.most));
  }

  const go = (params) => (location.hash = new URLSearchParams(params).toString());

  /** Go to the lineage of a dataset, of it to what a job reads and writes, or to the trace of a column. */
  async function open(number, column = null, job = null) {
    try {
      const { id } = await shards.dataset(number);
      go(column === null ? { view: "pipeline", focus: id, ...(job === null ? { dataset: id } : { job }) } : { view: "column", dataset: id, column });
    } catch (error) {
      fail(error);
    }
  }

  /** Say what could not be loaded: what is missing is never left out without a word. */
  function fail(error) {
    byId("notice").hidden = false;
    byId("notice").replaceChildren(
      element("b", {}, "A part of the lineage is missing."),
      ` ${error.message}. index.html needs the folder ${data.shards.folder} beside it, of the same run. `,
      button({ class: "small", id: "retry" }, "Try again"),
    );
  }

  function recover() {
    byId("notice").hidden = true;
  }

  const titleOf = (model) => {
    const [first] = shown.subjects.map((id) => model.byId.get(id)).filter((each) => each);
    return first ? `the lineage of ${first.name}` : title();
  };

  /** Return the name of the group that is loaded. */
  const title = () => shown.members?.name ?? "";

  /** Say what is loaded of how much, and offer more. */
  function draw(model, state) {
    const { count, total, isMore, members } = shown;
    const isPart = state.view !== "overview" && count > 0;
    byId("part").hidden = !isPart;
    if (!isPart) return;
    const more = STEPS.find((step) => step > address.most);
    const all = `${digits(total)}${isMore ? " or more" : ""}`;
    const cut = members && members.numbers.length < members.total;
    byId("part").replaceChildren(
      element("span", {}, `Loaded: ${counted(count, "dataset")} of ${digits(data.shards.datasets)}, ${titleOf(model)}`),
      shown.isCut ? element("b", {}, `Only the nearest ${digits(address.most)} of ${all} upstream and downstream are loaded.`) : "",
      shown.isCut && more ? button({ class: "small", id: "load-more" }, `Load ${digits(more)}`) : "",
      cut ? element("b", {}, `Only the first ${digits(members.numbers.length)} of ${digits(members.total)} are loaded.`) : "",
    );
  }

  /** Return the index of the dataset whose lineage is loaded; null: a group is. */
  const subject = (model) => (shown.subjects.length ? model.byId.get(shown.subjects[0]).index : null);

  /** Begin with the data of a page without datasets; `again`: follows the address again. */
  function start(given, again) {
    data = given;
    shards.start(data.shards);
    byId("center").prepend(
      element("p", { id: "notice", class: "notice-bar", role: "alert", hidden: true }),
      element("div", { id: "part", class: "part", hidden: true }),
    );
    byId("center").addEventListener("click", (event) => {
      if (event.target.closest("#retry")) again();
      if (event.target.closest("#load-more")) {
        const params = new URLSearchParams(location.hash.replace(/^#/, ""));
        params.set("most", String(STEPS.find((step) => step > address.most)));
        params.delete("window");
        go(params);
      }
    });
  }

  return { start, follow, lacks, write, go, open, fail, draw, subject, title, groupOf, bandOf, MOST_MEMBERS, get address() { return address; } };
})();
