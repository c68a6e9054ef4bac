"use strict";
// Cards of datasets, groups, other pipelines and collapsed steps.
lineage.cards = (() => {
  const { element, button, name, icon, environment, state, counted } = lineage.dom;
  const { ageOf, timeText } = lineage.processes;

  function placed(node, card) {
    card.style.left = `${node.x}px`;
    card.style.top = `${node.y}px`;
    card.style.width = `${node.width}px`;
    card.style.height = `${node.height}px`;
    return card;
  }

  const { columnWord, isDeclared, kindWord, shortened } = lineage.places;
  const { problemOf, wordsOf } = lineage.assertions;

  function whereOf(dataset) {
    if (dataset.kind === "exposure") return dataset.place.platform;
    if (isDeclared(dataset.kind)) return `dbt ${kindWord(dataset.kind)}`;
    const where = `${shortened(dataset.place.name, 18)} · ${dataset.place.platform}`;
    return lineage.model.factOf(dataset, "deprecation date") ? `deprecated · ${where}` : where;
  }

  const labelOf = (dataset) =>
    `${dataset.name}, ${kindWord(dataset.kind)} in ${dataset.place.name}, ${dataset.place.platform}, ${dataset.environment}`;

  /** Return what failed tests and stale data mean, or the age of the last recorded run that wrote the dataset, in words. */
  function ageText(model, dataset) {
    const problem = dataset.state === "failed" ? "" : problemOf(dataset, model.now);
    if (problem) return problem;
    if (dataset.state === "none") {
      const { updatedAt } = dataset.freshness;
      if (updatedAt !== null) return `loaded ${ageOf(updatedAt, model.now)} ago`;
      return isDeclared(dataset.kind) ? reads(dataset) : "not recorded";
    }
    const age = ageOf(dataset.writer.finished, model.now);
    if (dataset.state === "failed") return age ? `failed ${age} ago` : "failed";
    return age ? `${age} ago` : "succeeded";
  }

  const reads = (dataset) => `reads ${counted(new Set(dataset.up.map((edge) => edge.from)).size, "dataset")}`;

  const head = (kind, text, under, title, badge = null) => [
    element("div", { class: "head", title }, icon(kind), name(text, { class: "name" }), badge),
    element("div", { class: "under where", title, dir: "auto" }, under),
  ];

  // A failed test matters more than the type.
  const typeOf = (column) => {
    const problem = problemOf(column);
    return name(problem || column.type, { class: problem ? "type is-problem" : "type" });
  };

  // Opens and closes the fields of a structure.
  function foldOf(column, view) {
    if (!column.fields.length) return null;
    const isOpen = view.unfolded.has(column.index);
    const attributes = {
      class: "fold",
      tabindex: -1,
      "data-fold": column.index,
      "aria-expanded": String(isOpen),
      "aria-label": `${counted(column.fields.length, "field")} of ${column.name}`,
    };
    return button(attributes, isOpen ? "▾" : "▸");
  }

  function columnRow(column, view) {
    const problem = problemOf(column);
    const depth = column.owner ? column.path.length - 1 : 0;
    return element(
      "li",
      depth ? { class: "is-field", "data-depth": Math.min(depth, 4) } : {},
      foldOf(column, view),
      button(
        {
          class: "column",
          tabindex: -1,
          "data-column": column.index,
          "aria-label": ["column " + column.name, column.type, problem].filter((part) => part).join(", "),
          title: [column.description || column.name, problem && column.type].filter((part) => part).join("\n"),
        },
        element(
          "span",
          { class: "line-one" },
          name(depth ? column.path.at(-1) : column.name, { class: "name" }),
          typeOf(column),
        ),
      ),
    );
  }

  function datasetCard(model, view, node) {
    const dataset = model.datasets[node.index];
    const isOpen = view.open.has(node.index);
    const time = dataset.writer ? timeText(dataset.writer.finished) : "";
    const problem = problemOf(dataset, model.now);
    const words = wordsOf(dataset, model.now);
    const layer = lineage.layers.wordsOf(dataset);
    const toggle = dataset.columns.length
      ? button(
          {
            class: "toggle",
            tabindex: -1,
            "aria-expanded": String(isOpen),
            "aria-label": `${counted(dataset.tops, columnWord(dataset))} of ${dataset.name}`,
            title: `${isOpen ? "Hide" : "Show"} ${columnWord(dataset)}s`,
          },
          `${dataset.tops} ${dataset.kind === "exposure" ? "vis" : "col"} ${isOpen ? "▾" : "▸"}`,
        )
      : null;
    const outside = node.isOutside ? ` · ${model.bands[model.bandOf[node.index]].dag}` : "";
    return element(
      "div",
      {
        class: `card kind-${dataset.kind}${node.isOutside ? " is-outside" : ""}${lineage.layers.hueOf(dataset)}`,
        "data-key": node.key,
        role: "group",
        tabindex: -1,
        "aria-label": `${labelOf(dataset)}${layer && `, ${layer}`}${problem && `, ${problem}`}${node.isOutside ? `, in another pipeline${outside}` : ""}`,
      },
      head(
        dataset.kind,
        dataset.name,
        node.isOutside ? `in ${model.bands[model.bandOf[node.index]].dag || "no DAG"}` : layer ? [lineage.layers.badges(dataset), layer] : whereOf(dataset),
        `${dataset.title}\n${dataset.namespace} · ${dataset.environment}`,
        view.isMixed ? environment(dataset.environment) : null,
      ),
      element(
        "div",
        { class: "state", title: [time && `${dataset.writer.name}: ${time} UTC`, problem].filter((part) => part).join("\n") },
        state(dataset.worst, words),
        element("span", { class: problem ? "age is-problem" : "age" }, ageText(model, dataset)),
        toggle,
      ),
      node.rows.length ? element("ul", { class: "columns" }, node.rows.map((column) => columnRow(column, view))) : null,
      node.more
        ? button({ class: "more", tabindex: -1 }, `${lineage.dom.digits(node.more)} more columns`)
        : null,
    );
  }

  function groupCard(model, node) {
    const size = counted(node.members.length, "dataset");
    const failed = node.members.filter((index) => model.datasets[index].worst === "failed").length;
    const words = failed ? `${size}, ${failed} failed` : size;
    const isBand = node.kind === "band";
    const title = isBand ? node.band.dag || "no DAG" : node.named.short;
    const whole = isBand ? `${title}, ${node.band.environment}` : node.named.name;
    const under = isBand ? `another pipeline · ${node.band.environment}` : whole;
    return element(
      "div",
      {
        class: `card group${isBand ? " is-outside" : ""}`,
        "data-key": node.key,
        role: "button",
        tabindex: -1,
        "aria-label": isBand ? `Pipeline ${whole}, ${words}. Enter shows it.` : `Group ${whole}, ${words}. Enter opens it.`,
      },
      head("group", title, under, whole),
      element("div", { class: "state" }, element("span", {}, size), failed ? [state("failed"), `${failed} failed`] : null),
    );
  }

  /** Return a card of a pipeline view. */
  const card = (model, view, node) =>
    placed(node, node.kind === "dataset" ? datasetCard(model, view, node) : groupCard(model, node));

  function traceRow(model, found, row) {
    const [column] = row.columns;
    const isStart = row.columns.includes(found.start);
    const { index } = model.columns[column];
    const where = row.dataset === undefined ? "" : lineage.places.shortened(model.datasets[row.dataset].place.name, 26);
    const item = element(
      "li",
      {},
      button(
        {
          class: `column${isStart ? " is-start" : found.up.has(column) ? " is-up" : " is-down"}`,
          tabindex: -1,
          "data-column": row.isRest ? null : index,
          "aria-label": row.isRest
            ? row.name
            : [`column ${model.columns[column].name} of ${model.datasets[model.columns[column].dataset].name}`, problemOf(model.columns[column])].filter((part) => part).join(", "),
          title: row.expressions?.join("\n") || row.name,
        },
        element(
          "span",
          { class: "line-one" },
          name(row.name, { class: "name" }),
          row.expression || row.isRest || where ? null : typeOf(model.columns[column]),
        ),
        row.expression
          ? element(
              "span",
              { class: "made-by" },
              element("code", { class: "expression", dir: "auto" }, row.expression),
              row.expressions.length > 1 ? element("span", { class: "others" }, `and ${row.expressions.length - 1} more`) : null,
            )
          : null,
        where ? element("span", { class: "expression where", dir: "auto" }, where) : null,
      ),
    );
    item.style.height = `${row.height}px`;
    return item;
  }

  /** Return a card of a column trace. */
  function traceCard(model, found, node) {
    if (node.kind === "chain") {
      const [first] = node.rows[0].columns;
      const title = `${node.datasets.length} unchanged steps`;
      const column = model.columns[first].name;
      return placed(
        node,
        element(
          "div",
          {
            class: "card chain",
            "data-key": node.key,
            role: "group",
            tabindex: -1,
            "aria-label": `${column}, unchanged through ${counted(node.datasets.length, "dataset")}`,
          },
          head("chain", title, column, title),
          element("ul", { class: "columns" }, node.rows.map((row) => traceRow(model, found, row))),
        ),
      );
    }
    const dataset = model.datasets[node.dataset];
    const isStart = model.columns[found.start].dataset === node.dataset;
    const note = isDeclared(dataset.kind) ? reads(dataset) : "its rows depend on the column";
    return placed(
      node,
      element(
        "div",
        {
          class: `card kind-${dataset.kind}${isStart ? " is-start" : ""}${node.isWhole ? " is-whole" : ""}`,
          "data-key": node.key,
          role: "group",
          tabindex: -1,
          "aria-label": labelOf(dataset),
        },
        head(dataset.kind, dataset.name, whereOf(dataset), `${dataset.title}\n${dataset.namespace} · ${dataset.environment}`),
        node.rows.length
          ? element("ul", { class: "columns" }, node.rows.map((row) => traceRow(model, found, row)))
          : element("div", { class: "state" }, state("none"), element("span", { class: "age" }, note)),
      ),
    );
  }

  return { card, traceCard, whereOf, ageText };
})();
