"use strict";
// Details of the selection, as text with links.
lineage.panel = (() => {
  const { element, button, name, icon, environment, state, byId, counted } = lineage.dom;
  const { ageOf, timeText, durationOf, STATES } = lineage.processes;
  const { howOf } = lineage.columnGraph;
  const { section, plain, shownFacts } = lineage.details;
  const { factOf, tagsOf, ownersOf } = lineage.model;
  const { problemOf } = lineage.assertions;
  const { isDeclared, kindWord } = lineage.places;
  const LONGEST = 200;
  const WORDS = /^(select|from|where|case|when|then|else|end|over|partition|order|group|by|desc|asc|and|or|not|in|is|null|as|distinct|between|like)$/i;

  // Long lists are truncated, with a note.
  function list(items, line) {
    const shown = items.slice(0, LONGEST).map((item) => element("li", {}, line(item)));
    if (items.length > LONGEST) shown.push(element("li", { class: "quiet" }, `… and ${items.length - LONGEST} more`));
    return element("ul", {}, shown);
  }

  /** Return an expression as code, with functions and names marked. */
  function code(text) {
    const parts = text.split(/([\p{L}_][\p{L}\p{N}_]*)/u);
    const made = parts.map((part, index) => {
      if (index % 2 === 0 || !part) return part;
      if (WORDS.test(part) || /^\s*\(/.test(parts[index + 1] ?? "")) return element("span", { class: "call" }, part);
      return element("span", { class: "word" }, part);
    });
    return element("pre", { tabindex: 0, "aria-label": "Expression" }, element("code", { dir: "auto" }, made));
  }

  // Facts without a value are omitted.
  const grid = (pairs) =>
    element("dl", { class: "facts" }, pairs.filter(([, value]) => value).map(([what, ...value]) => element("div", {}, element("dt", {}, what), element("dd", {}, ...value))));

  const named = (what, text) => [what, text && name(text)];
  const ownedBy = (owners) => named("Owner", lineage.details.ownerText(owners));

  /** Return a section with a list and its length; null if it is empty. */
  const listed = (title, items, line) => (items.length ? section(title, items.length, list(items, line)) : null);
  const reached = (title, hops, line) => listed(title, hops, ([index, hop]) => line(index, hop));
  // What is reached from a start, the nearest first.
  const nearest = (hops) => [...hops].filter(([, hop]) => hop).sort((a, b) => a[1] - b[1] || a[0] - b[0]);

  const action = (what, kind, text, more = {}) =>
    button({ class: "small", "data-action": what, ...more }, kind ? icon(kind, "") : null, text);

  function heading(title, place) {
    return element(
      "header",
      {},
      element("div", {}, element("h2", {}, name(title)), element("p", { class: "place" }, place)),
      button({ class: "square close", "data-action": "close", "aria-label": "Close details" }, icon("close", "")),
    );
  }

  const item = (dataset, hop, text, farEnd, link, title = dataset.title) =>
    button(
      { class: "item", ...link, title },
      hop === null ? null : element("span", { class: "hop" }, hop),
      hop === null ? null : icon(dataset.kind),
      element("span", { class: "what" }, text),
      farEnd ? name(farEnd, { class: "far-end" }) : null,
    );

  const datasetItem = (model, index, hop, farEnd) => {
    const dataset = model.datasets[index];
    return item(dataset, hop, name(dataset.name), farEnd ?? dataset.place.name, { "data-to-dataset": index });
  };

  function columnItem(model, index, hop, farEnd) {
    const column = model.columns[index];
    const dataset = model.datasets[column.dataset];
    return item(
      dataset,
      hop,
      [name(dataset.name), ".", element("b", {}, name(column.name))],
      farEnd ?? dataset.place.name,
      { "data-to-column": index },
      `${dataset.title}#${column.name}`,
    );
  }

  const placeOf = (dataset, what = dataset.kind === "exposure" ? factOf(dataset, "exposure type") || "dashboard" : kindWord(dataset.kind)) => [
    icon(dataset.kind),
    name([what, ...(isDeclared(dataset.kind) && what !== dataset.name ? [] : [dataset.place.name]), dataset.place.platform].join(" · ")),
    environment(dataset.environment),
  ];

  const written = (model, dataset) => {
    if (dataset.state === "none") return ["not recorded"];
    const age = ageOf(dataset.writer.finished, model.now);
    const words = dataset.state === "failed" ? `failed ${age} ago` : age ? `${age} ago` : STATES[dataset.state];
    return [state(dataset.state), element("span", { title: `${timeText(dataset.writer.finished)} UTC` }, words)];
  };

  const rowsWritten = (dataset) =>
    dataset.writer && dataset.writer.rows !== null && dataset.writer.written === 1
      ? lineage.dom.digits(dataset.writer.rows)
      : null;

  // One entry per job: DAGs are merged and named.
  function process(each, ...more) {
    const icon_ = each.type === "spark" || each.type === "dbt" ? each.type : "job";
    return element(
      "details",
      {},
      element("summary", {}, icon(icon_), " ", name(each.name), element("span", { class: "quiet" }, ` ${each.type}`)),
      ...more,
      plain([
        ...(each.dags.length ? [["DAG", each.dags.join("\n")]] : []),
        ...shownFacts(each.facts),
      ]),
    );
  }

  const uniqueFeeds = (model, edges) => {
    const found = new Map();
    for (const edge of edges) {
      const each = model.processes[model.processOf[edge.job]];
      if (!found.has(each)) found.set(each, []);
      found.get(each).push(edge);
    }
    return [...found];
  };

  function facts(feeds) {
    const merged = new Map();
    for (const { facts: pairs } of feeds) {
      for (const [what, text] of pairs) {
        if (!merged.has(what)) merged.set(what, new Set());
        merged.get(what).add(text);
      }
    }
    return [...merged].filter(([what]) => what !== "sequence").map(([what, texts]) => [what, [...texts].join("\n")]);
  }

  function ofDataset(model, view, dataset, trace) {
    const feeding = uniqueFeeds(model, dataset.up);
    const known = new Set(feeding.map(([each]) => each));
    const others = [...dataset.writers].filter((each) => !known.has(each)).map((each) => [each, []]);
    const fact = (what) => factOf(dataset, what);
    const type = fact("exposure type") || fact("metric type");
    const opened = fact("url") && lineage.details.link(fact("url"), `Open ${fact("exposure type") || "dashboard"}`);
    const elsewhere = ["description", "tags", "format", "owner", "owners", "exposure type", "metric type", "maturity", "usage", opened && "url"];
    return [
      heading(dataset.name, placeOf(dataset)),
      lineage.details.notice(dataset, model.now),
      ...lineage.details.violations(model, dataset),
      element(
        "div",
        { class: "actions" },
        opened,
        action("copy-name", "copy", "Copy name"),
        action("copy-link", "link", "Copy link"),
        view.focus !== dataset.index ? action("focus", "", "Only its lineage") : lineage.part ? null : action("leave-focus", "", "Whole pipeline"),
      ),
      grid([
        isDeclared(dataset.kind)
          ? ["Reads", counted(new Set(dataset.up.map((edge) => edge.from)).size, "dataset")]
          : ["Last written", ...written(model, dataset)],
        ["Rows", rowsWritten(dataset)],
        ownedBy(ownersOf(dataset)),
        named("Type", type),
        named("Maturity", fact("maturity")),
        named("Format", fact("format")),
        dataset.kind === "exposure"
          ? ["Visuals", dataset.tops > 0 && lineage.dom.digits(dataset.tops)]
          : ["Columns", lineage.dom.digits(dataset.columns.length)],
        named("Usage", fact("usage")),
      ]),
      ...lineage.details.freshness(model, dataset),
      fact("description") ? element("p", { class: "described" }, name(fact("description"))) : null,
      lineage.details.tags(tagsOf(dataset), dataset.columns),
      lineage.details.tests(model, dataset.tests),
      lineage.details.owners(dataset),
      feeding.length || others.length
        ? section(
            "How it is made",
            "",
            ...[...feeding, ...others].slice(0, LONGEST).map(([each, feeds]) => process(each, plain(facts(feeds)))),
          )
        : null,
      reached("Upstream", nearest(trace.up), (index, hop) => datasetItem(model, index, hop)),
      reached("Downstream", nearest(trace.down), (index, hop) => datasetItem(model, index, hop)),
      listed("Columns", dataset.columns, (column) =>
        item(dataset, null, name(column.name), problemOf(column) || column.type, { "data-to-column": column.index }, column.description || `Trace ${column.name}`),
      ),
      dataset.decidedBy.length
        ? section(
            "Rows decided by",
            "",
            list(uniqueDecisions(dataset.decidedBy), ([from, how]) => columnItem(model, from, "", how)),
          )
        : null,
      section(
        "More",
        "",
        plain([
          ["full name", dataset.title],
          ["namespace", dataset.namespace],
          ["environment", dataset.environment],
          ["DAGs", dataset.dags.map((index) => model.dags[index]).join("\n")],
          ...shownFacts(
            dataset.facts.filter(
              ([what, text]) => !elsewhere.includes(what) && (what !== "qualified name" || text !== dataset.title),
            ),
          ),
        ]),
      ),
    ];
  }

  const uniqueDecisions = (edges) => {
    const found = new Map();
    for (const edge of edges) {
      if (!found.has(edge.from)) found.set(edge.from, new Set());
      found.get(edge.from).add(howOf(edge));
    }
    return [...found].map(([from, hows]) => [from, [...hows].join(", ")]);
  };

  function ofColumn(model, view, column, found) {
    const dataset = model.datasets[column.dataset];
    const owners = ownersOf(column).length ? ownersOf(column) : ownersOf(dataset);
    const more = column.facts.filter(([what]) => !["tags", "owners", "usage"].includes(what));
    const into = found.steps.filter((step) => step.to === column.index);
    const from = found.steps.filter((step) => step.from === column.index);
    const jobs = (step) => step.processes.map(lineage.column.jobName).join(", ");
    const made = (title, step) =>
      element(
        "div",
        { class: "made" },
        element("div", { class: "by" }, title, howOf(step), step.processes.length ? ` · ${jobs(step)}` : ""),
        step.expression ? code(step.expression) : null,
      );
    const farEnd = (index) => {
      const step = found.steps.find((each) => each.to === index);
      return step ? howOf(step) : "";
    };
    const processes = [...new Set([...into, ...from].flatMap((step) => step.processes))];
    return [
      heading(column.name, placeOf(dataset, dataset.name)),
      element(
        "div",
        { class: "actions" },
        action("copy-name", "copy", "Copy name"),
        action("copy-link", "link", "Copy link"),
        action("dataset", "", "Its dataset"),
      ),
      grid([
        ["Last written", ...(isDeclared(dataset.kind) ? [] : written(model, dataset))],
        ["Rows", rowsWritten(dataset)],
        named("Type", column.type),
        ownedBy(owners),
        named("Usage", factOf(column, "usage")),
      ]),
      column.description ? element("p", { class: "described" }, name(column.description)) : null,
      lineage.details.tags([...new Set([...tagsOf(column), ...tagsOf(dataset)])]),
      lineage.details.tests(model, column.tests),
      into.length
        ? section(
            "How it is made",
            "",
            ...into.slice(0, LONGEST).map((step) => made(["from ", name(lineage.column.nameOf(model, step.from)), " "], step)),
          )
        : null,
      from.length
        ? section(
            "What is made from it",
            counted(from.length, "column"),
            ...from.slice(0, LONGEST).map((step) => made([name(lineage.column.nameOf(model, step.to)), " "], step)),
          )
        : null,
      reached("Upstream", nearest(found.up), (index, hop) => columnItem(model, index, hop)),
      reached("Downstream", nearest(found.down), (index, hop) => columnItem(model, index, hop, farEnd(index))),
      found.decisions.length
        ? section(
            "Decides on the rows of",
            "",
            list(found.decisions, (each) => datasetItem(model, each.to, "", howOf(each))),
          )
        : null,
      processes.length ? section("Jobs", "", ...processes.map((each) => process(each))) : null,
      more.length ? section("More", "", plain(shownFacts(more))) : null,
    ];
  }

  function ofEdge(model, scene, key) {
    const edge = scene.edges.find((each) => each.key === key);
    const end = (side) => {
      const node = scene.nodes.find((each) => each.key === edge[side]);
      return name(node.kind === "dataset" ? model.datasets[node.index].name : (node.named?.name ?? node.band.dag));
    };
    return [
      heading(edge.feeds.length > 1 ? counted(edge.feeds.length, "feed") : "Feed", [end("source"), "→", end("target")]),
      section(
        "Jobs",
        "",
        ...uniqueFeeds(model, edge.feeds)
          .slice(0, LONGEST)
          .map(([each, feeds]) => process(each, plain(facts(feeds)))),
      ),
      edge.feeds.length > 1
        ? section(
            "Datasets",
            "",
            list([...new Set(edge.feeds.flatMap((feed) => [feed.from, feed.to]))], (index) => datasetItem(model, index, "")),
          )
        : null,
    ];
  }

  function ofWriter(model, writer) {
    const owners = [...new Set(writer.processes.flatMap(ownersOf))];
    const isPart = writer.written > writer.targets.length; // of a page with shards
    const sources = [...new Set(writer.processes.flatMap((each) => [...each.sources]))];
    return [
      heading(writer.name, [icon(writer.icon), writer.isProject ? "dbt project" : name(writer.type), ...writer.dags.map((dag) => name(dag))]),
      grid([
        ["Last run", state(writer.state), STATES[writer.state]],
        ["Finished (UTC)", timeText(writer.finished) || "not recorded"],
        ["Duration", durationOf(writer.duration) || "not recorded"],
        ["Rows written", writer.rows === null ? "not recorded" : lineage.dom.digits(writer.rows)],
        ownedBy(owners),
      ]),
      lineage.details.tags([...new Set(writer.processes.flatMap(tagsOf))]),
      section("Writes", isPart ? `${writer.targets.length} loaded of ${lineage.dom.digits(writer.written)}` : writer.targets.length, list(writer.targets, (index) => datasetItem(model, index, ""))),
      listed(isPart ? "Reads, as far as it is loaded" : "Reads", sources, (index) => datasetItem(model, index, "")),
      section(writer.isProject ? "Models" : "Job", "", ...writer.processes.slice(0, LONGEST).map((each) => process(each))),
    ];
  }

  /** Show these elements in the panel; null closes it. */
  function show(content) {
    const panel = byId("panel");
    panel.hidden = !content;
    document.body.classList.toggle("has-panel", Boolean(content));
    panel.replaceChildren(...(content ?? []).filter((each) => each));
    if (content) panel.scrollTop = 0;
  }

  /** Return columns to start a trace from. */
  const ofStarts = (model, columns) => [
    heading("Column trace", ["Select a column"]),
    section("Start from", "", list(columns, (index) => columnItem(model, index, null))),
  ];

  return { show, ofDataset, ofColumn, ofEdge, ofWriter, ofStarts };
})();
