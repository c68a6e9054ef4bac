"use strict";
// The list: datasets and jobs by pipeline, for phones and screen readers.
lineage.listing = (() => {
  const { element, button, name, icon, environment, state, byId, counted } = lineage.dom;
  const { ageOf, stateOf } = lineage.processes;
  const { problemOf, wordsOf } = lineage.assertions;
  const STEP = { phone: 8, wide: 60 };

  // End points first, then against the flow of data.
  function depths(model, members) {
    const inside = new Set(members);
    const depth = new Map();
    for (const start of members) {
      const stack = [[start, 0]];
      const open = new Set([start]);
      while (stack.length) {
        const top = stack.at(-1);
        const edge = model.datasets[top[0]].up[top[1]];
        if (depth.has(top[0]) && top[1] === 0) {
          open.delete(top[0]);
          stack.pop();
          continue;
        }
        top[1] += 1;
        if (edge) {
          if (inside.has(edge.from) && !open.has(edge.from) && !depth.has(edge.from)) {
            open.add(edge.from);
            stack.push([edge.from, 0]);
          }
          continue;
        }
        const own = model.datasets[top[0]].up.map((each) => depth.get(each.from) ?? -1);
        depth.set(top[0], own.reduce((a, b) => Math.max(a, b), -1) + 1);
        open.delete(top[0]);
        stack.pop();
      }
    }
    return depth;
  }

  function sortedMembers(model, members) {
    const depth = depths(model, members);
    const at = (index) => model.datasets[index];
    return [...members].sort(
      (a, b) =>
        (at(b).kind === "exposure") - (at(a).kind === "exposure") ||
        depth.get(b) - depth.get(a) ||
        (at(a).name < at(b).name ? -1 : at(a).name > at(b).name ? 1 : a - b),
    );
  }

  // A place often has the name of the kind: `snapshots`.
  function whatOf(dataset) {
    const where = lineage.cards.whereOf(dataset);
    const isPlain = !lineage.places.isDeclared(dataset.kind) && !where.toLowerCase().startsWith(dataset.kind);
    return isPlain ? `${dataset.kind} · ${where}` : where;
  }

  function datasetEntry(model, view, index) {
    const dataset = model.datasets[index];
    const sides = dataset.sides ?? [new Set(dataset.up.map((edge) => edge.from)).size, new Set(dataset.down.map((edge) => edge.to)).size];
    const problem = problemOf(dataset, model.now);
    const inWords = `${counted(sides[0], "input")}, ${counted(sides[1], "output")}`;
    return element(
      "li",
      {},
      button(
        { class: "entry", "data-to-dataset": index, "aria-current": index === view.dataset ? "true" : null, title: dataset.title },
        element("span", { class: "picture" }, icon(dataset.kind)),
        element(
          "span",
          { class: "two" },
          name(dataset.name),
          element("span", { dir: "auto" }, problem ? element("b", { class: "is-problem" }, problem) : null, problem ? " · " : "", lineage.layers.badges(dataset), lineage.layers.wordsOf(dataset) || whatOf(dataset)),
        ),
        element(
          "span",
          { class: "sides" },
          element("span", { "aria-label": inWords, title: inWords, role: "img" }, `↑${sides[0]} ↓${sides[1]}`),
          state(dataset.worst, wordsOf(dataset, model.now)),
        ),
      ),
    );
  }

  function jobEntry(model, writer) {
    const age = ageOf(writer.finished, model.now);
    return element(
      "li",
      {},
      button(
        { class: "entry", "data-frame": writer.frame },
        element("span", { class: "picture" }, icon(writer.icon)),
        element(
          "span",
          { class: "two" },
          name(writer.name),
          element("span", { dir: "auto" }, [writer.type, `writes ${counted(writer.targets.length, "dataset")}`].join(" · ")),
        ),
        element("span", { class: "sides" }, age ? `${age} ago` : "", state(writer.state ?? stateOf(null))),
      ),
    );
  }

  function section(model, view, { band, members }, isPhone) {
    const isJobs = view.listed === "jobs";
    const writers = isJobs ? lineage.pipeline.writersOf(model, members) : [];
    const all = isJobs ? writers : sortedMembers(model, members);
    const step = isPhone ? STEP.phone : STEP.wide;
    const list = element("ul", {});
    let shown = 0;
    const more = () => {
      list.querySelector(".show-more")?.parentElement.remove();
      const next = all.slice(shown, shown + (shown ? 200 : step));
      list.append(...next.map((each) => (isJobs ? jobEntry(model, each) : datasetEntry(model, view, each))));
      shown += next.length;
      if (shown < all.length) {
        const button_ = button({ class: "entry show-more" }, `Show ${lineage.dom.digits(Math.min(200, all.length - shown))} more`);
        button_.addEventListener("click", more);
        list.append(element("li", {}, button_));
      }
    };
    more();
    const size = isJobs ? counted(writers.length, "job") : counted(members.length, "dataset");
    return element(
      "section",
      { "aria-label": `${band.dag || "no DAG"}, ${band.environment}` },
      element(
        "header",
        {},
        environment(band.environment),
        element("h2", {}, name(band.dag || "no DAG")),
        element("span", { class: "number" }, size),
      ),
      list,
    );
  }

  // What is listed; a phone has this choice in its bar.
  function crumb(model, view, shown) {
    const total = shown.reduce((sum, { members }) => sum + members.length, 0);
    byId("crumb").replaceChildren(
      element("h2", {}, view.listed === "jobs" ? "Jobs" : "Datasets"),
      element("span", { class: "quiet" }, `${counted(total, "dataset")} in ${counted(shown.length, "pipeline")}, end points first`),
      element("span", { class: "space" }),
      ...lineage.layers.control(model),
      element(
        "div",
        { class: "seg is-small", role: "group", "aria-label": "List of" },
        ["datasets", "jobs"].map((each) =>
          button({ "data-listed": each, "aria-pressed": String(view.listed === each) }, each === "jobs" ? "Jobs" : "Datasets"),
        ),
      ),
    );
  }

  /** Draw the list of what passes the filters. */
  function draw(model, view, shown, isPhone) {
    if (!isPhone) crumb(model, view, shown);
    const key = view.listed === "jobs" || !shown.length ? [] : [element("p", { class: "caption" }, "↑ inputs, ↓ outputs")];
    byId("listing").replaceChildren(...key, ...shown.map((each) => section(model, view, each, isPhone)));
  }

  return { draw };
})();
