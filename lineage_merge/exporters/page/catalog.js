"use strict";
// The overview of a page with shards: bands, their groups, and lists of datasets, of which the rows in view are drawn.
lineage.catalog = (() => {
  const { element, button, name, icon, environment, state, byId, counted, digits } = lineage.dom;
  const { shards, part } = lineage;
  const AHEAD = 20;
  const PHONE = 720;
  const HEIGHTS = { band: 96, get row() { return window.innerWidth <= PHONE ? 44 : 36; } };
  const INDEX = 40;

  let about = null;
  let stop = () => {};
  let drawn = null; // the address of what is drawn; null: nothing, or not all

  const placeOf = ([namespace, text]) => `${namespace} ${text}`;
  const link = (params) => ({ "data-go": new URLSearchParams({ view: "overview", ...params }).toString() });
  const titleOf = ([key, title]) => title || lineage.assertions.FILTERS[key];
  const SIGNS = { end: "exposure", source: "file", unread: "view", deprecated: "warn", "no-owner": "owner", "not-read": "view" };
  const sign = ([key, , severity]) => (["failed", "warned"].includes(severity) ? state(severity, "") : icon(SIGNS[key] ?? "tag", ""));
  const numbers = (counts = []) =>
    counts.map(([at, number]) => {
      const mark = about.marks[at];
      return element("span", { class: "fact", title: titleOf(mark) }, sign(mark), digits(number), element("span", { class: "unseen" }, ` ${titleOf(mark)}`));
    });

  /**
   * Draw the rows of a long list that are in view, and others when it is scrolled.
   * @param {{count: number, height: number, label: string, rows: Function, row: Function}} list `rows`: returns rows
   *   from a position on, `row`: the element of one
   */
  function windowed(place, { count, height, label, rows, row }) {
    const inner = element("div", { class: "window", role: "list", "aria-label": label });
    inner.style.height = `${count * height}px`;
    place.append(inner);
    const nodes = new Map(); // by position
    let isEnded = false;
    async function draw() {
      const top = Math.max(0, place.getBoundingClientRect().top) - inner.getBoundingClientRect().top;
      const first = Math.max(0, Math.floor(top / height) - AHEAD);
      const last = Math.min(count, Math.ceil((top + window.innerHeight) / height) + AHEAD);
      if (last <= first) return;
      try {
        const found = await rows(first, last - first);
        if (isEnded) return;
        for (const [at, node] of nodes) {
          if (at >= first && at < last) continue;
          node.remove();
          nodes.delete(at);
        }
        found.forEach((each, index) => {
          const at = first + index;
          if (nodes.has(at)) return;
          const node = element("div", { role: "listitem", class: "window-row", "aria-posinset": at + 1, "aria-setsize": count }, row(each));
          node.style.top = `${at * height}px`;
          node.style.height = `${height}px`;
          const next = [...nodes.keys()].filter((other) => other > at).reduce((a, b) => Math.min(a, b), Infinity);
          inner.insertBefore(node, nodes.get(next) ?? null);
          nodes.set(at, node);
        });
      } catch (error) {
        if (!isEnded) fail(error);
      }
    }
    window.addEventListener("scroll", draw, { capture: true, passive: true });
    window.addEventListener("resize", draw);
    stop = () => {
      isEnded = true;
      window.removeEventListener("scroll", draw, { capture: true });
      window.removeEventListener("resize", draw);
    };
    return draw();
  }

  const drawable = (band, count, place) =>
    count <= part.MOST_MEMBERS
      ? button({ class: "small", ...link({ view: "pipeline", band, ...(place ? { place } : {}) }) }, "Draw")
      : null;

  function bandRow(band) {
    const { key, dag, names, groups, largest, marks } = band;
    const chip = (group) =>
      button({ class: "group-chip", ...link({ band: key, place: placeOf(group) }), title: `${group[1]} · ${group[0]}` }, name(group[1]), element("span", { class: "number" }, digits(group[3])));
    return element(
      "section",
      { class: "band", "data-key": key, "aria-label": `${dag || "no DAG"}, ${band.environment}` },
      element(
        "header",
        {},
        environment(band.environment),
        element("h2", {}, name(dag || "no DAG")),
        element("span", { class: "fact" }, `${counted(names[1], "dataset")} in ${counted(groups[1], "group")}`),
        numbers(marks),
        element("span", { class: "space" }),
        drawable(key, names[1]),
        button({ class: "small", ...link({ band: key }), "aria-label": `Open ${dag || "no DAG"}, ${band.environment}` }, "Open"),
      ),
      element(
        "div",
        { class: "groups" },
        element("div", { class: "largest" }, largest.map(chip)),
        // How many do not fit depends on the window.
        groups[1] > 1 ? button({ class: "group-chip", ...link({ band: key }) }, `All ${counted(groups[1], "group")}`) : null,
      ),
    );
  }

  const groupRow = (key) => (group) =>
    button(
      { class: "row", ...link({ band: key, place: placeOf(group) }) },
      icon("group", ""),
      name(group[1], { class: "what", title: group[1] }),
      element("span", { class: "quiet" }, name(group[0])),
      numbers(group[4]),
      element("span", { class: "number" }, digits(group[3])),
    );

  const nameRow = ([text, title, number, kind, of, marks = []]) =>
    button(
      { class: "row", "data-number": number, title },
      icon(about.kinds[kind]),
      name(text, { class: "what" }),
      title === text ? null : element("span", { class: "quiet" }, name(title)),
      marks.map((at) => element("span", { class: "fact", title: titleOf(about.marks[at]) }, sign(about.marks[at]), element("span", { class: "unseen" }, titleOf(about.marks[at])))),
      environment(about.environments[of]),
    );

  const heading = (title, more, ...controls) =>
    element("div", { class: "catalog-head" }, button({ class: "small", ...link({}) }, "← All pipelines"), element("h2", {}, name(title)), element("span", { class: "quiet" }, more), ...controls);

  // What an address shows: a list of marked datasets, of a group, of the groups of a band, or all bands.
  async function contents({ band: key, place, mark }) {
    const band = part.bandOf(key);
    const marked = about.marks.find((each) => each[0] === mark) ?? (mark && await lineage.finding.listOf(mark));
    if (marked) {
      const [, , , first, count] = marked;
      const list = { count, height: HEIGHTS.row, label: titleOf(marked), rows: (at, size) => shards.slice("mark", first + at, size), row: nameRow };
      return [heading(titleOf(marked), counted(count, "dataset")), list];
    }
    const group = band && place !== null ? await part.groupOf(band, place) : null;
    if (group) {
      const list = { count: group.count, height: HEIGHTS.row, label: group.name, rows: (at, size) => shards.slice("name", group.first + at, size), row: nameRow };
      const back = button({ class: "small", ...link({ band: key }) }, band.dag || "no DAG");
      return [heading(group.name, `${group.namespace} · ${counted(group.count, "dataset")}`, environment(band.environment), back, drawable(key, group.count, place)), list];
    }
    if (band) {
      const [first, count] = band.groups;
      const list = { count, height: HEIGHTS.row, label: band.dag || "no DAG", rows: (at, size) => shards.slice("group", first + at, size), row: groupRow(key) };
      return [heading(band.dag || "no DAG", `${counted(band.names[1], "dataset")} in ${counted(count, "group")}`, environment(band.environment), drawable(key, band.names[1])), list];
    }
    const list = { count: about.bands.length, height: HEIGHTS.band, label: "Pipelines", rows: (at, size) => about.bands.slice(at, at + size), row: bandRow };
    const sizes = [counted(about.datasets, "dataset"), counted(about.columns, "column"), counted(about.bands.length, "pipeline")];
    return [element("p", { class: "quiet caption" }, sizes.join(" · ")), list];
  }

  function fail(error) {
    drawn = null;
    part.fail(error);
  }

  /** Draw the overview at its address, unless it is drawn. */
  async function draw() {
    const { address } = part;
    const { band, place: of, mark } = address;
    const key = JSON.stringify([band, of, mark]);
    if (key === drawn) return;
    drawn = key;
    stop();
    const place = byId("overview");
    try {
      const [head, list] = await contents(address);
      if (key !== drawn) return;
      place.replaceChildren(head);
      place.scrollTop = 0;
      await windowed(place, list);
    } catch (error) {
      fail(error);
    }
  }

  const marksWithDatasets = () => about.marks.filter((mark) => mark[4] > 0);

  function drawStory(isShown) {
    byId("story").hidden = !isShown;
    const tile = (mark) =>
      button({ class: "tile", ...link({ mark: mark[0] }) }, sign(mark), element("b", {}, digits(mark[4])), element("span", {}, titleOf(mark)));
    const found = marksWithDatasets();
    const isRed = found.some((mark) => mark[2] !== "note");
    byId("story").replaceChildren(...(isRed ? [] : [element("span", { class: "tile" }, state("ok"), "nothing failed, nothing is stale")]), ...found.map(tile));
  }

  function drawIndex() {
    const row = (band) =>
      button(
        { class: "row", ...link({ band: band.key }) },
        element("span", { class: "two" }, name(band.dag || "no DAG"), element("span", {}, counted(band.names[1], "dataset"))),
        environment(band.environment),
      );
    const rest = about.bands.length - INDEX;
    byId("sidebar").replaceChildren(
      element("h2", {}, "Pipelines"),
      ...about.bands.slice(0, INDEX).map(row),
      ...(rest > 0 ? [button({ class: "row quiet", ...link({}) }, `${digits(rest)} more`)] : []),
    );
  }

  /** Begin with the data of a page without datasets. */
  function start(data) {
    about = data.shards;
    document.body.classList.add("has-shards");
    drawIndex();
    document.addEventListener("click", (event) => {
      const to = event.target.closest("[data-go]");
      const number = event.target.closest("[data-number]")?.dataset.number;
      if (to) location.hash = to.dataset.go;
      else if (number !== undefined) part.open(Number(number));
    });
  }

  return { start, draw, drawStory };
})();
