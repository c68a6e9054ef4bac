"use strict";
// Layout of a scene from left to right by dagre.
lineage.layout = (() => {
  const SIZE = { width: 208, head: 50, row: 22, foot: 24, gap: 4 };
  // With more edges, job names on lines would overlap.
  const LABELLED = 160;
  const WIDEST_LABEL = 132;
  const LETTER = 6.1;
  const TALL = 14;
  const BESIDE = 26;
  const ABOVE = 22;
  const MARGIN = 24;

  const height = (node) =>
    node.rows.length || node.more
      ? SIZE.head + node.rows.length * SIZE.row + (node.more ? SIZE.foot : SIZE.gap)
      : SIZE.head;

  function jobsOf(model, edge) {
    return [...new Set(edge.feeds.map((feed) => model.jobs[feed.job].name))];
  }

  // Of dbt's unique ids (model.project.name) only the name.
  const called = (job) => (job.type === "dbt" ? job.name.split(".").at(-1) : job.name);

  function label(model, edge) {
    const jobs = [...new Set(edge.feeds.map((feed) => feed.job))];
    return jobs.length === 1 ? called(model.jobs[jobs[0]]) : lineage.dom.counted(jobs.length, "job");
  }

  function place(model, scene) {
    const graph = new dagre.graphlib.Graph({ multigraph: false });
    const many = scene.edges.length > LABELLED;
    graph.setGraph({
      rankdir: "LR",
      nodesep: 22,
      edgesep: 10,
      ranksep: 44,
      acyclicer: "greedy",
      ranker: scene.edges.length > 3 * LABELLED ? "longest-path" : "network-simplex",
    });
    graph.setDefaultEdgeLabel(() => ({}));
    scene.nodes.forEach((node, index) =>
      graph.setNode(`n${index}`, { width: SIZE.width, height: height(node) }),
    );
    for (const edge of scene.edges) {
      edge.label = many ? "" : label(model, edge);
      if (edge.from === edge.to) continue;
      const width = Math.min(edge.label.length * LETTER + 12, WIDEST_LABEL);
      graph.setEdge(`n${edge.from}`, `n${edge.to}`, edge.label ? { width, height: 18, labelpos: "c" } : {});
    }
    dagre.layout(graph);
    scene.nodes.forEach((node, index) => {
      const at = graph.node(`n${index}`);
      node.box = { x: at.x - at.width / 2, y: at.y - at.height / 2, width: at.width, height: at.height };
    });
    for (const edge of scene.edges) {
      if (edge.from === edge.to) {
        edge.points = [];
        edge.at = null;
        continue;
      }
      const found = graph.edge(`n${edge.from}`, `n${edge.to}`);
      edge.points = found.points.slice(1, -1);
      edge.at = edge.label ? { x: found.x, y: found.y, width: found.width } : null;
    }
    wrap(model, scene);
    frame(scene);
  }

  // Split columns of boxes that are taller than a screen.
  function wrap(model, scene) {
    // Datasets first, so that the members of an opened group are together.
    const called = (node) =>
      node.kind === "group" ? `1${node.group.short}` : `0${model.datasets[node.index].name}`;
    const byName = (a, b) => (called(a) < called(b) ? -1 : 1);
    const columns = new Map();
    for (const node of scene.nodes) {
      const x = Math.round(node.box.x);
      if (!columns.has(x)) columns.set(x, { x, nodes: [], wider: 0 });
      columns.get(x).nodes.push(node);
    }
    const ordered = [...columns.values()].sort((a, b) => a.x - b.x);
    if (ordered.every((column) => column.nodes.length <= TALL)) return;
    const shift = (x) => ordered.reduce((sum, column) => (column.x < x ? sum + column.wider : sum), 0);
    const wrapped = new Set();
    const placed = [];
    for (const column of ordered) {
      const before = shift(column.x);
      const parts = Math.ceil(column.nodes.length / TALL);
      column.wider = (parts - 1) * (SIZE.width + BESIDE);
      const size = Math.ceil(column.nodes.length / parts);
      const sorted = column.nodes.toSorted((a, b) => (parts > 1 ? byName(a, b) : a.box.y - b.box.y));
      const middle =
        column.nodes.reduce((sum, node) => sum + node.box.y + node.box.height / 2, 0) / sorted.length;
      for (let part = 0; part < parts; part += 1) {
        const stack = sorted.slice(part * size, (part + 1) * size);
        const tall = stack.reduce((sum, node) => sum + node.box.height + ABOVE, -ABOVE);
        let y = middle - tall / 2;
        for (const node of stack) {
          placed.push([
            node,
            { x: node.box.x + before + part * (SIZE.width + BESIDE), y: parts > 1 ? y : node.box.y },
          ]);
          if (parts > 1) wrapped.add(node);
          y += node.box.height + ABOVE;
        }
      }
    }
    for (const edge of scene.edges) {
      if (wrapped.has(scene.nodes[edge.from]) || wrapped.has(scene.nodes[edge.to])) {
        // The route ended at the old position of the box.
        edge.points = [];
        edge.at = null;
      }
      edge.points = edge.points.map((point) => ({ x: point.x + shift(point.x), y: point.y }));
      if (edge.at) edge.at = { ...edge.at, x: edge.at.x + shift(edge.at.x) };
    }
    for (const [node, at] of placed) Object.assign(node.box, at);
  }

  // Move everything to the origin and compute the size of the scene.
  function frame(scene) {
    const least = (values) => values.reduce((a, b) => Math.min(a, b), Infinity);
    const lines = scene.edges.flatMap((edge) => edge.points);
    const left = least([...scene.nodes.map((node) => node.box.x), ...lines.map((point) => point.x)]) - MARGIN;
    const top = least([...scene.nodes.map((node) => node.box.y), ...lines.map((point) => point.y)]) - MARGIN;
    const moved = (point) => Object.assign(point, { x: point.x - left, y: point.y - top });
    scene.nodes.forEach((node) => moved(node.box));
    for (const edge of scene.edges) {
      edge.points = edge.points.map((point) => moved({ ...point }));
      if (edge.at) moved(edge.at);
    }
    scene.size = bounds(
      scene.nodes.map((node) => node.box),
      scene.edges.flatMap((edge) => edge.points),
    );
  }

  function bounds(boxes, points) {
    const most = (values) => values.reduce((a, b) => Math.max(a, b), 0);
    return {
      width: most([...boxes.map((box) => box.x + box.width), ...points.map((point) => point.x)]) + MARGIN,
      height: most([...boxes.map((box) => box.y + box.height), ...points.map((point) => point.y)]) + MARGIN,
    };
  }

  // End point of a line at a box: at its head, or at the row of a column.
  function port(node, side, column = null) {
    const row = column === null ? -1 : node.rows.findIndex((each) => each.index === column);
    const y = row < 0 ? node.box.y + SIZE.head / 2 : node.box.y + SIZE.head + (row + 0.5) * SIZE.row;
    return { x: side === "right" ? node.box.x + node.box.width : node.box.x, y };
  }

  const rounded = (number) => Math.round(number * 10) / 10;

  function path(points) {
    let text = `M${rounded(points[0].x)} ${rounded(points[0].y)}`;
    for (let index = 1; index < points.length; index += 1) {
      const from = points[index - 1];
      const to = points[index];
      const bend = (to.x - from.x) / 2;
      text += `C${rounded(from.x + bend)} ${rounded(from.y)} ${rounded(to.x - bend)} ${rounded(to.y)} ${rounded(to.x)} ${rounded(to.y)}`;
    }
    return text;
  }

  // A loop above the box, for a dataset that feeds itself.
  function loop(node) {
    const { x, y, width } = node.box;
    return `M${x + width - 30} ${y}c0 -26 ${60 - width} -26 ${60 - width} 0`;
  }

  return { SIZE, place, port, path, loop, jobsOf };
})();
