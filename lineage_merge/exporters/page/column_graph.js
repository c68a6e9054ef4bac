"use strict";
// The path of one column: cards with the columns on it, unchanged steps collapsed, and the same as steps (pure).
lineage.columnGraph = (() => {
  const { textWidth } = lineage.measure;
  const SIZE = { head: 52, row: 26, tall: 44, least: 150, most: 228, height: 76 };
  // From top to bottom at a row; the second one is at its middle.
  const KINDS = ["whole", "decides", "indirect", "direct"];
  const KIND_GAP = 8;
  const MOST_ROWS = 12;
  const MOST_CARDS = 60;
  const SHORTEST_CHAIN = 3;
  const HOW = {
    IDENTITY: "unchanged",
    TRANSFORMATION: "calculated",
    AGGREGATION: "aggregated",
    CONDITIONAL: "condition",
    WINDOW: "window",
    FILTER: "filter",
    JOIN: "join",
    GROUP_BY: "grouping",
    SORT: "sorting",
  };

  /** Return OpenLineage's transformation subtypes of an edge in words: "aggregated, window, assumed". */
  const howOf = ({ transformation, assumed, declared }) =>
    [...transformation.split(/[,\s]+/), assumed ? "assumed" : "", declared ? "declared" : ""]
      .filter((part) => part)
      .map((part) => HOW[part] ?? part.toLowerCase())
      .join(", ");

  /**
   * Return the trace of a column, upstream and downstream as `side` says, with edges of several DAGs merged.
   * @param {"up" | "both" | "down"} side
   */
  function trace(model, start, side, passes) {
    const whole = lineage.model.columnTrace(model, start, passes);
    const up = side === "down" ? new Map([[start, 0]]) : whole.upColumns;
    const down = side === "up" ? new Map([[start, 0]]) : whole.downColumns;
    const steps = new Map();
    for (const edge of whole.edges) {
      const isUp = up.has(edge.from) && up.has(edge.to);
      const isDown = down.has(edge.from) && down.has(edge.to);
      if (!isUp && !isDown) continue;
      merge(model, steps, `${edge.from}>${edge.to}`, edge, { isUp: isUp && !isDown });
    }
    const decisions = new Map();
    for (const edge of whole.decisions) {
      if (side === "up" || !down.has(edge.from)) continue;
      merge(model, decisions, `${edge.from}>${edge.to}`, edge, { isUp: false });
    }
    return { start, up, down, steps: [...steps.values()], decisions: [...decisions.values()] };
  }

  function merge(model, into, key, edge, more) {
    const known = into.get(key);
    const process = model.processes[model.processOf[edge.job]];
    if (!known) {
      into.set(key, {
        from: edge.from,
        to: edge.to,
        transformation: edge.transformation,
        expression: edge.expression ?? "",
        assumed: Boolean(edge.assumed),
        declared: Boolean(edge.declared),
        indirect: Boolean(edge.indirect),
        processes: [process],
        ...more,
      });
      return;
    }
    if (!known.processes.includes(process)) known.processes.push(process);
    const subtypes = new Set([...known.transformation.split(","), ...edge.transformation.split(",")]);
    known.transformation = [...subtypes].filter((part) => part).join(",");
    known.expression ||= edge.expression ?? "";
    known.assumed &&= Boolean(edge.assumed);
    known.declared &&= Boolean(edge.declared);
    known.indirect &&= Boolean(edge.indirect);
  }

  // The nearest datasets, in complete levels, if the whole path is too large to draw.
  function drawnDatasets(model, found) {
    const depth = new Map();
    for (const side of [found.up, found.down]) {
      for (const [column, hops] of side) {
        const { dataset } = model.columns[column];
        depth.set(dataset, Math.min(hops, depth.get(dataset) ?? hops));
      }
    }
    const sorted = [...depth].sort((a, b) => a[1] - b[1] || a[0] - b[0]);
    const { length } = sorted;
    if (length <= MOST_CARDS) return { shown: new Set(depth.keys()), hidden: 0 };
    const shown = new Set(sorted.slice(0, MOST_CARDS).map(([dataset]) => dataset));
    return { shown, hidden: length - shown.size };
  }

  function rowsByDataset(model, found, shown) {
    const rows = new Map();
    for (const column of [...new Set([...found.up.keys(), ...found.down.keys()])].sort((a, b) => a - b)) {
      const { dataset } = model.columns[column];
      if (!shown.has(dataset)) continue;
      if (!rows.has(dataset)) rows.set(dataset, []);
      rows.get(dataset).push(column);
    }
    lineage.columnRows.sort(found, rows);
    return rows;
  }

  // How a column is made within the path: its expressions, if it is not passed unchanged.
  function expressionsOf(found, column) {
    return [
      ...new Set(
        found.steps
          .filter((step) => step.to === column && step.expression && step.transformation !== "IDENTITY")
          .map((step) => step.expression),
      ),
    ];
  }

  function card(model, found, dataset, columns) {
    const shown = columns.slice(0, MOST_ROWS);
    if (columns.length > shown.length && columns.includes(found.start) && !shown.includes(found.start)) {
      shown[shown.length - 1] = found.start;
    }
    const rows = shown.map((column) => {
      const expressions = expressionsOf(found, column);
      const [expression = ""] = expressions;
      return { columns: [column], name: model.columns[column].name, expression, expressions, height: expression ? SIZE.tall : SIZE.row };
    });
    const rest = columns.filter((column) => !shown.includes(column));
    if (rest.length) rows.push({ columns: rest, name: `${rest.length} more`, expression: "", height: SIZE.row, isRest: true });
    const each = model.datasets[dataset];
    const widths = [
      textWidth(each.name, 13, true) + 40,
      textWidth(`${each.place.name} · ${each.place.platform}`, 12) + 42,
      ...rows.map((row) => textWidth(row.name, 12, true) + 22 + Math.min(96, row.expression ? 0 : typeWidth(model, row))),
      ...rows.map((row) => Math.min(row.expression.length * 7.3 + (row.expressions?.length > 1 ? 96 : 22), SIZE.most)),
    ];
    return sized({ kind: "dataset", key: `d${dataset}`, dataset, rows }, Math.max(...widths));
  }

  const typeWidth = (model, row) => (row.isRest ? 0 : typeText(model.columns[row.columns[0]]) + 12);
  function typeText(column) {
    const problem = lineage.assertions.problemOf(column);
    return problem ? textWidth(problem, 12, true) : Math.min(58, textWidth(column.type, 12));
  }

  function sized(node, width) {
    let y = SIZE.head + 1;
    for (const row of node.rows) {
      row.top = y;
      y += row.height;
    }
    return {
      ...node,
      width: Math.max(SIZE.least, Math.min(SIZE.most, width)),
      height: node.rows.length ? y + 1 : SIZE.height,
    };
  }

  // Datasets that pass one column unchanged, one after the other.
  function chains(model, found, cards, pinned) {
    const incoming = new Map();
    const outgoing = new Map();
    for (const step of found.steps) {
      incoming.set(step.to, [...(incoming.get(step.to) ?? []), step]);
      outgoing.set(step.from, [...(outgoing.get(step.from) ?? []), step]);
    }
    const only = (dataset) => {
      const columns = cards.get(dataset);
      return columns?.length === 1 && !pinned.has(dataset) ? columns[0] : null;
    };
    const nextOf = (dataset) => {
      const column = only(dataset);
      const [step, second] = column === null ? [] : (outgoing.get(column) ?? []);
      if (!step || second || step.transformation !== "IDENTITY") return null;
      const next = model.columns[step.to].dataset;
      return next !== dataset && only(next) === step.to && incoming.get(step.to).length === 1 ? next : null;
    };
    const next = new Map();
    for (const dataset of cards.keys()) {
      const found = nextOf(dataset);
      if (found !== null) next.set(dataset, found);
    }
    const inner = new Set(next.values());
    const all = [];
    for (const dataset of next.keys()) {
      if (inner.has(dataset)) continue;
      const chain = [dataset];
      while (next.has(chain.at(-1)) && chain.length <= next.size) chain.push(next.get(chain.at(-1)));
      if (chain.length >= SHORTEST_CHAIN) all.push(chain);
    }
    return all;
  }

  function chainCard(model, found, cards, chain) {
    const rows = chain.map((dataset) => {
      const [column] = cards.get(dataset);
      // Only the first one may be calculated.
      const expressions = expressionsOf(found, column);
      const [expression = ""] = expressions;
      const height = SIZE.tall + (expression ? SIZE.tall - SIZE.row : 0);
      return { columns: [column], name: model.datasets[dataset].name, dataset, expression, expressions, height };
    });
    const widths = rows.map((row) => textWidth(model.datasets[row.dataset].place.name, 12) + 30);
    return sized({ kind: "chain", key: `c${chain[0]}`, datasets: chain, rows }, Math.max(166, textWidth(`${chain.length} unchanged steps`, 13, true) + 42, ...widths));
  }

  /**
   * Return the cards and lines of a trace.
   * @returns {{nodes: object[], edges: object[], hidden: number}} `hidden`: datasets of the path that are not drawn
   */
  function build(model, found) {
    const { shown, hidden } = drawnDatasets(model, found);
    const cards = rowsByDataset(model, found, shown);
    const start = model.columns[found.start].dataset;
    const decided = new Set(found.decisions.flatMap((each) => [each.to, model.columns[each.from].dataset]));
    const chainsFound = chains(model, found, cards, new Set([start, ...decided]));
    const inChain = new Set(chainsFound.flat());
    const nodes = [...cards]
      .filter(([dataset]) => !inChain.has(dataset))
      .map(([dataset, columns]) => card(model, found, dataset, columns));
    nodes.push(...chainsFound.map((chain) => chainCard(model, found, cards, chain)));
    const rowOf = new Map();
    for (const node of nodes) {
      for (const row of node.rows) for (const column of row.columns) rowOf.set(column, { node, row });
    }
    const edges = [];
    const add = (key, edge) => {
      if (!edges.some((each) => each.key === key)) edges.push({ key, ...edge });
    };
    const middle = ({ row }) => row.top + row.height / 2;
    for (const step of found.steps) {
      const [from, to] = [rowOf.get(step.from), rowOf.get(step.to)];
      // A step within a chain needs no line.
      if (!from || !to || (from.node === to.node && from.node.kind === "chain")) continue;
      const [sourceOffset, targetOffset] = [middle(from), middle(to)];
      const [source, target] = [from.node.key, to.node.key];
      const key = JSON.stringify([source, sourceOffset, target, targetOffset]);
      add(key, { source, target, sourceOffset, targetOffset, step, style: step.indirect ? "indirect" : "direct" });
    }
    const extra = new Map();
    const wholeCard = (dataset) => {
      const known = nodes.find((node) => node.key === `d${dataset}`) ?? extra.get(dataset);
      if (known) return known;
      const each = model.datasets[dataset];
      const width = Math.max(textWidth(each.name, 13, true) + 40, 160);
      const made = sized({ kind: "dataset", key: `d${dataset}`, dataset, rows: [], isWhole: true }, width);
      extra.set(dataset, made);
      return made;
    };
    for (const decision of found.decisions) {
      const from = rowOf.get(decision.from);
      if (!from || inChain.has(decision.to)) continue;
      const target = wholeCard(decision.to);
      const key = JSON.stringify(["decides", from.node.key, middle(from), target.key]);
      const more = target.rows.length ? { targetOffset: SIZE.head / 2 } : {};
      if (from.node.key === target.key) continue;
      add(key, {
        source: from.node.key,
        target: target.key,
        sourceOffset: middle(from),
        ...more,
        step: decision,
        style: "decides",
      });
    }
    wholeReaders(model, found, nodes, wholeCard, add);
    apart(edges, "source", "sourceOffset");
    apart(edges, "target", "targetOffset");
    return { nodes: [...nodes, ...extra.values()], edges, hidden };
  }

  // Lines of several kinds at one row have a height each, so that a dashed line never lies on a solid one.
  function apart(edges, end, offset) {
    const kinds = new Map();
    const rowOf = (edge) => JSON.stringify([edge[end], edge[offset]]);
    for (const edge of edges) kinds.set(rowOf(edge), (kinds.get(rowOf(edge)) ?? new Set()).add(edge.style));
    const moves = edges.map((edge) => {
      const present = KINDS.filter((kind) => kinds.get(rowOf(edge)).has(kind));
      return edge[offset] === undefined || present.length < 2 ? 0 : (present.indexOf(edge.style) - 1) * KIND_GAP;
    });
    edges.forEach((edge, at) => {
      if (moves[at]) edge[offset] += moves[at];
    });
  }

  // Dashboards have no columns: they read the whole table.
  function wholeReaders(model, found, nodes, wholeCard, add) {
    const datasets = new Set([...found.down.keys()].map((column) => model.columns[column].dataset));
    for (const node of [...nodes]) {
      if (node.kind !== "dataset" || !datasets.has(node.dataset) || found.down.size < 1) continue;
      if (found.isUpOnly) continue;
      for (const edge of model.datasets[node.dataset].down) {
        const reader = model.datasets[edge.to];
        if (reader.columns.length || edge.to === node.dataset) continue;
        const target = wholeCard(edge.to);
        add(JSON.stringify(["whole", node.key, target.key]), {
          source: node.key,
          target: target.key,
          sourceOffset: SIZE.head / 2,
          feed: edge,
          style: "whole",
        });
      }
    }
  }

  /** Return the rows of the table: {step, column, dataset, how, expression, processes}, sources first. */
  function steps(model, found) {
    const made = new Map();
    for (const step of found.steps) made.set(step.to, [...(made.get(step.to) ?? []), step]);
    const row = (column, hops) => {
      const into = made.get(column) ?? [];
      return {
        step: hops,
        column,
        dataset: model.columns[column].dataset,
        how: [...new Set(into.flatMap((each) => howOf(each).split(", ")))].join(", ") || "source",
        expression: [...new Set(into.map((each) => each.expression).filter((each) => each))].join("\n"),
        processes: [...new Set(into.flatMap((each) => each.processes))],
      };
    };
    const up = [...found.up].filter(([, hops]) => hops).sort((a, b) => b[1] - a[1] || a[0] - b[0]);
    const down = [...found.down].filter(([, hops]) => hops).sort((a, b) => a[1] - b[1] || a[0] - b[0]);
    const decided = found.decisions.map((each) => ({
      step: (found.down.get(each.from) ?? 0) + 1,
      column: null,
      dataset: each.to,
      how: `${howOf(each)} by ${model.columns[each.from].name}`,
      expression: "",
      processes: each.processes,
    }));
    return [
      ...up.map(([column, hops]) => row(column, -hops)),
      row(found.start, 0),
      ...[...down.map(([column, hops]) => row(column, hops)), ...decided].sort((a, b) => a.step - b.step),
    ];
  }

  /** Lay out the cards and lines of a trace. */
  const place = ({ nodes, edges }) =>
    lineage.layout.layered(
      nodes.map((node) => ({ ...node, id: node.key })),
      edges,
      { gap: 30, gutter: 42, pad: 10, stretch: true },
    );

  return { trace, build, steps, place, howOf, SIZE };
})();
