"use strict";
// Renders a laid out scene: boxes with columns, lines with jobs, and the highlighted trace.
lineage.drawing = (() => {
  const { element, drawn, name, icon, byId, counted } = lineage.dom;
  const { path, port, loop, jobsOf } = lineage.layout;
  const LONGEST_EXPRESSION = 24;

  function card(model, state, node) {
    return node.kind === "group" ? groupCard(node) : datasetCard(model, state, node);
  }

  function placed(node, box) {
    node.style.left = `${box.x}px`;
    node.style.top = `${box.y}px`;
    node.style.width = `${box.width}px`;
    node.style.height = `${box.height}px`;
    return node;
  }

  function groupCard(node) {
    const { group } = node;
    const size = counted(group.members.length, "dataset");
    return placed(
      element(
        "div",
        {
          class: "card group",
          "data-key": node.key,
          role: "button",
          tabindex: -1,
          "aria-label": `Group ${group.name}, ${size}. Enter opens it.`,
          title: group.name,
        },
        element("div", { class: "head" }, icon("group"), name(group.short, { class: "name" })),
        element(
          "div",
          { class: "under" },
          element("span", { class: "kind" }, size),
          name(group.name, { class: "where" }),
        ),
      ),
      node.box,
    );
  }

  function datasetCard(model, state, node) {
    const dataset = model.datasets[node.index];
    const isOpen = state.open.has(node.index);
    const sides = `${counted(dataset.up.length, "line")} in, ${counted(dataset.down.length, "line")} out`;
    const toggle = dataset.columns.length
      ? element(
          "button",
          {
            type: "button",
            class: "toggle",
            tabindex: -1,
            "aria-expanded": String(isOpen),
            "aria-label": `${counted(dataset.columns.length, "column")} of ${dataset.name}`,
            title: isOpen ? "Hide columns" : "Show columns",
          },
          `${dataset.columns.length} ${isOpen ? "▾" : "▸"}`,
        )
      : null;
    return placed(
      element(
        "div",
        {
          class: `card kind-${dataset.kind}`,
          "data-key": node.key,
          role: "group",
          "aria-roledescription": dataset.kind,
          tabindex: -1,
          "aria-label": `${dataset.name}, ${dataset.kind} in ${dataset.namespace}, ${counted(dataset.columns.length, "column")}, ${sides}`,
        },
        element(
          "div",
          { class: "head", title: dataset.title },
          icon(dataset.kind),
          name(dataset.name, { class: "name" }),
          toggle,
        ),
        element(
          "div",
          { class: "under", title: dataset.title },
          element("span", { class: "kind" }, dataset.kind),
          name(whereOf(dataset), { class: "where" }),
          element("span", { class: "side", "aria-hidden": "true" }),
        ),
        node.rows.length ? element("ul", { class: "columns" }, node.rows.map(row)) : null,
        node.more
          ? element(
              "button",
              { type: "button", class: "more", tabindex: -1 },
              `${node.more.toLocaleString("en")} more`,
            )
          : null,
      ),
      node.box,
    );
  }

  function whereOf(dataset) {
    const cut = Math.max(dataset.path.lastIndexOf("/"), dataset.path.lastIndexOf("."));
    return cut > 0
      ? `${dataset.namespace.replace(/^[a-z0-9+]+:\/\//, "")} ${dataset.path.slice(0, cut)}`
      : dataset.namespace;
  }

  const row = (column) =>
    element(
      "li",
      {},
      element(
        "button",
        {
          type: "button",
          class: "column",
          tabindex: -1,
          "data-column": column.index,
          "aria-label": `column ${column.name}${column.type ? `, ${column.type}` : ""}`,
          title: column.description || column.name,
        },
        name(column.name, { class: "name" }),
        name(column.type, { class: "type" }),
      ),
    );

  // Backward lines of a cycle leave on the other side.
  function between(from, to, bends, column = null, target = null) {
    const isBack = to.box.x < from.box.x;
    return [
      port(from, isBack ? "left" : "right", column),
      ...bends,
      port(to, isBack ? "right" : "left", target),
    ];
  }

  function lines(model, scene) {
    return scene.edges.map((edge) => {
      const from = scene.nodes[edge.from];
      const to = scene.nodes[edge.to];
      const shape = edge.from === edge.to ? loop(from) : path(between(from, to, edge.points));
      const jobs = jobsOf(model, edge);
      const lost = edge.feeds.some((feed) =>
        feed.facts.some(([what, text]) => what === "column lineage" && text === "unavailable"),
      );
      const group = drawn(
        "g",
        { class: `line${lost ? " lost" : ""}`, "data-edge": edge.key },
        drawn("path", { class: "hit", d: shape }),
        drawn("path", { class: "drawn", d: shape, "marker-end": "url(#arrow)" }),
        drawn("title", {}, jobs.join(", ")),
      );
      if (edge.at) {
        group.append(
          drawn("rect", {
            class: "plate",
            x: edge.at.x - edge.at.width / 2,
            y: edge.at.y - 8,
            width: edge.at.width,
            height: 16,
            rx: 8,
          }),
          drawn(
            "text",
            { class: "job", x: edge.at.x, y: edge.at.y + 4, direction: "ltr" },
            shortened(edge.label, 20),
          ),
        );
      }
      return group;
    });
  }

  function shortened(text, longest) {
    const letters = [...text];
    return letters.length > longest ? `${letters.slice(0, longest - 1).join("")}…` : text;
  }

  const arrow = (id) =>
    drawn(
      "marker",
      {
        id,
        viewBox: "0 0 8 8",
        refX: 7,
        refY: 4,
        markerWidth: 9,
        markerHeight: 9,
        markerUnits: "userSpaceOnUse",
        orient: "auto",
      },
      drawn("path", { d: "M0 0.5 8 4 0 7.5z" }),
    );

  function scene(model, state, drawnScene) {
    byId("cards").replaceChildren(...drawnScene.nodes.map((node) => card(model, state, node)));
    byId("edges").replaceChildren(
      drawn("defs", {}, arrow("arrow"), arrow("arrow-up"), arrow("arrow-down")),
      drawn("g", { id: "lines" }, lines(model, drawnScene)),
      drawn("g", { id: "column-lines" }),
    );
  }

  // Update classes and column lines, without a new layout.
  function light(model, state, drawnScene, trace) {
    const world = byId("world");
    world.classList.toggle("traced", Boolean(trace));
    world.classList.toggle("by-column", trace?.kind === "column");
    for (const node of drawnScene.nodes) {
      const box = cardOf(node.key);
      const has = (side) => trace && node.members.some((index) => side.has(index) && side.get(index) > 0);
      const isStart =
        trace &&
        node.members.includes(trace.kind === "column" ? model.columns[trace.start].dataset : trace.start);
      const up = has(trace?.up);
      const down = has(trace?.down);
      box.classList.toggle("is-start", Boolean(isStart));
      box.classList.toggle("is-up", Boolean(up && !isStart));
      box.classList.toggle("is-down", Boolean(down && !isStart));
      box.classList.toggle("is-selected", node.kind === "dataset" && node.index === state.dataset);
      const side = box.querySelector(".side");
      if (side)
        side.textContent = isStart ? "" : up && down ? "↔ both" : up ? "◂ source" : down ? "target ▸" : "";
    }
    lightLines(trace, drawnScene, state);
    lightColumns(model, state, trace, drawnScene);
  }

  function lightLines(trace, drawnScene, state) {
    for (const edge of drawnScene.edges) {
      const line = byId("lines").querySelector(`[data-edge="${CSS.escape(edge.key)}"]`);
      const hit = trace?.kind === "dataset" && edge.feeds.find((feed) => trace.edges.has(feed.index));
      const isUp = Boolean(hit && trace.up.has(hit.from) && trace.up.has(hit.to));
      line.classList.toggle("is-up", isUp);
      line.classList.toggle("is-down", Boolean(hit && !isUp));
      line.classList.toggle("is-selected", state.edge === edge.key);
      const end = isUp ? "arrow-up" : hit ? "arrow-down" : "arrow";
      line.querySelector(".drawn").setAttribute("marker-end", `url(#${end})`);
    }
  }

  function lightColumns(model, state, trace, drawnScene) {
    for (const box of byId("cards").querySelectorAll(".column")) {
      const index = Number(box.dataset.column);
      const up = trace?.upColumns?.has(index) && index !== trace.start;
      const down = trace?.downColumns?.has(index) && index !== trace.start;
      box.classList.toggle("is-up", Boolean(up));
      box.classList.toggle("is-down", Boolean(down));
      box.classList.toggle("is-start", trace?.kind === "column" && trace.start === index);
      box.setAttribute("aria-pressed", String(state.column === index));
    }
    byId("column-lines").replaceChildren(
      ...(trace?.kind === "column" ? columnLines(model, trace, drawnScene) : []),
    );
  }

  function columnLines(model, trace, drawnScene) {
    const drawnEdges = new Map(drawnScene.edges.map((edge) => [`${edge.from} ${edge.to}`, edge]));
    const found = new Map();
    const shape = (fromDataset, toDataset, column, target) => {
      const from = drawnScene.nodeOf.get(fromDataset);
      const to = drawnScene.nodeOf.get(toDataset);
      if (from === undefined || to === undefined || from === to) return null;
      // Long lines follow the gaps of the layout; lines to the next box are straight, beside the job name.
      const bends = drawnEdges.get(`${from} ${to}`)?.points ?? [];
      const points = between(
        drawnScene.nodes[from],
        drawnScene.nodes[to],
        bends.length > 1 ? bends : [],
        column,
        target,
      );
      return { d: path(points), end: points.at(-1) };
    };
    for (const edge of trace.edges) {
      const from = model.columns[edge.from];
      const to = model.columns[edge.to];
      const line = shape(from.dataset, to.dataset, edge.from, edge.to);
      if (!line) continue;
      const isUp = trace.upColumns.has(edge.from) && trace.upColumns.has(edge.to);
      const key = `${line.d} ${edge.indirect}`;
      const text = [edge.transformation, edge.expression].filter((part) => part).join(": ");
      if (found.has(key)) {
        if (!found.get(key).texts.includes(text)) found.get(key).texts.push(text);
      } else {
        const job = model.jobs[edge.job].name;
        found.set(key, { ...line, isUp, indirect: edge.indirect, texts: [text], job });
      }
    }
    for (const edge of trace.decisions) {
      const line = shape(model.columns[edge.from].dataset, edge.to, edge.from, null);
      if (!line) continue;
      const key = `${line.d} decides`;
      const text = `${edge.transformation} determines rows`;
      if (found.has(key)) found.get(key).texts.push(text);
      else found.set(key, { ...line, decides: true, texts: [text], job: model.jobs[edge.job].name });
    }
    return [...found.values()].flatMap(columnLine).concat(expressions([...found.values()]));
  }

  function columnLine({ d, isUp, indirect, decides, texts, job }) {
    const side = isUp ? "is-up" : "is-down";
    const kind = decides ? " decides" : indirect ? " indirect" : "";
    return drawn(
      "g",
      { class: `column-line ${side}${kind}` },
      drawn("path", { class: "drawn", d, "marker-end": `url(#arrow-${isUp ? "up" : "down"})` }),
      drawn("path", { class: "hit", d }),
      drawn("title", {}, [job, ...texts].filter((text) => text).join("\n")),
    );
  }

  // The expression is drawn once per column, for all lines that end there.
  function expressions(found) {
    const places = new Map();
    for (const { end, texts, decides } of found) {
      if (decides) continue;
      const key = `${end.x} ${end.y}`;
      if (!places.has(key)) places.set(key, { end, texts: new Set() });
      texts.filter((text) => text && text !== "IDENTITY").forEach((text) => places.get(key).texts.add(text));
    }
    return [...places.values()]
      .filter(({ texts }) => texts.size)
      .map(({ end, texts }) => {
        const all = [...texts];
        const more = all.length > 1 ? ` (+${all.length - 1})` : "";
        const text = shortened(all[0].replace(/^[A-Z_,]+: /, ""), LONGEST_EXPRESSION) + more;
        return drawn(
          "text",
          { class: "expression", x: end.x - 12, y: end.y - 5 },
          text,
          drawn("title", {}, all.join("\n")),
        );
      });
  }

  const cardOf = (key) => byId("cards").querySelector(`[data-key="${CSS.escape(key)}"]`);
  const columnOf = (index) => byId("cards").querySelector(`[data-column="${index}"]`);

  return { scene, light, cardOf, columnOf };
})();
