"use strict";
// Draws a laid out scene: frames, lines and cards, and the highlighted trace.
lineage.board = (() => {
  const { element, drawn, button, name, icon, byId } = lineage.dom;
  const { path, arrow } = lineage.routing;

  function frame(each) {
    const box = element("div", { class: "frame" });
    box.style.left = `${each.x}px`;
    box.style.top = `${each.y}px`;
    box.style.width = `${each.width}px`;
    box.style.height = `${each.height}px`;
    return box;
  }

  function frameLabel(each, caption) {
    const label = button(
      { class: "frame-label", tabindex: -1, "data-frame": each.parent, title: `${caption.title} ${caption.more}`.trim() },
      icon(caption.icon),
      name(caption.title),
      caption.more ? element("span", {}, caption.more) : null,
    );
    label.style.left = `${each.label.x}px`;
    label.style.top = `${each.label.y}px`;
    label.style.width = `${each.label.width}px`;
    return label;
  }

  function line(route, titleOf) {
    const { edge, points } = route;
    const shape = path(points);
    return drawn(
      "g",
      {
        class: `line ${edge.style ?? ""}${edge.isLost ? " lost" : ""}`,
        "data-edge": edge.key,
        "data-source": edge.source,
        "data-target": edge.target,
      },
      drawn("path", { class: "hit", d: shape }),
      drawn("path", { class: "drawn", d: shape }),
      drawn("path", { class: "tip", d: arrow(points) }),
      drawn("title", {}, titleOf(edge)),
    );
  }

  /**
   * Draw a scene.
   * @param {{nodes: object[], routes: object[], frames?: object[]}} laid
   * @param {{card: Function, title: Function, caption?: Function}} make how cards, line titles and frame labels are made
   */
  function draw(laid, make) {
    const frames = laid.frames ?? [];
    byId("frames").replaceChildren(
      ...frames.map(frame),
      ...frames.filter((each) => each.label).map((each) => frameLabel(each, make.caption(each.parent))),
    );
    byId("cards").replaceChildren(...laid.nodes.map(make.card));
    byId("edges").replaceChildren(
      drawn("g", { id: "lines" }, laid.routes.map((route) => line(route, make.title))),
    );
    byId("world").style.width = `${laid.width}px`;
    byId("world").style.height = `${laid.height}px`;
  }

  /** Update the highlight of a pipeline view, without a new layout. `trace`: null for none. */
  function light(model, view, scene, trace) {
    const world = byId("world");
    world.classList.toggle("traced", Boolean(trace));
    const start = trace && (trace.kind === "column" ? model.columns[trace.start].dataset : trace.start);
    for (const node of scene.nodes) {
      const card = cardOf(node.key);
      const has = (side) => Boolean(trace && node.members.some((index) => side.get(index) > 0));
      const isStart = trace !== null && node.members.includes(start);
      card.classList.toggle("is-start", isStart);
      card.classList.toggle("is-up", !isStart && has(trace?.up));
      card.classList.toggle("is-down", !isStart && has(trace?.down));
      card.classList.toggle("is-selected", node.kind === "dataset" && node.index === view.dataset);
    }
    const lines = new Map([...byId("lines").children].map((each) => [each.dataset.edge, each]));
    for (const edge of scene.edges) {
      const drawnLine = lines.get(edge.key);
      const hit = trace && edge.feeds.find((feed) => (trace.feeds ?? trace.edges).has(feed.index));
      const isUp = Boolean(hit && trace.up.has(hit.from) && trace.up.has(hit.to));
      drawnLine.classList.toggle("is-up", isUp);
      drawnLine.classList.toggle("is-down", Boolean(hit && !isUp));
      drawnLine.classList.toggle("is-selected", view.edge === edge.key);
    }
    for (const row of world.querySelectorAll(".column")) {
      const column = Number(row.dataset.column);
      const isColumn = trace?.kind === "column";
      row.classList.toggle("is-start", isColumn && column === trace.start);
      row.classList.toggle("is-up", isColumn && column !== trace.start && trace.upColumns.has(column));
      row.classList.toggle("is-down", isColumn && column !== trace.start && trace.downColumns.has(column));
    }
  }

  /** Return the boxes of the trace, and the parts that matter most: the selection, and the selection with its neighbours. */
  function traced(scene) {
    const boxes = scene.nodes.filter((node) => cardOf(node.key).matches(".is-start, .is-up, .is-down"));
    const starts = boxes.filter((node) => cardOf(node.key).matches(".is-start"));
    const keys = new Set(starts.map((node) => node.key));
    const beside = new Set(scene.edges.flatMap(({ source, target }) => (keys.has(source) ? [target] : keys.has(target) ? [source] : [])));
    return [boxes, [starts, boxes.filter((node) => keys.has(node.key) || beside.has(node.key))]];
  }

  /** Emphasize the lines at a card while the pointer or the focus is on it; null: none. */
  function near(key) {
    for (const each of byId("lines")?.children ?? []) {
      const { source, target } = each.dataset;
      each.classList.toggle("is-near", key !== null && (source === key || target === key));
    }
  }

  const cardOf = (key) => byId("cards").querySelector(`[data-key="${CSS.escape(key)}"]`);
  const columnOf = (index) => byId("cards").querySelector(`[data-column="${index}"]`);

  /** Make one card reachable by Tab; the arrow keys move from there. */
  function tabStop(key) {
    for (const card of byId("cards").children) card.tabIndex = card.dataset.key === key ? 0 : -1;
  }

  /** Return the card, column or button that has the focus; null: none. */
  function focusedPlace() {
    const at = document.activeElement;
    if (!byId("cards").contains(at)) return null;
    return {
      key: at.closest(".card").dataset.key,
      column: at.dataset.column,
      isToggle: at.matches(".toggle, .more"),
    };
  }

  /** Give the focus to the same place in another drawing. */
  function refocus(place) {
    if (!place) return;
    const card = cardOf(place.key);
    const inside =
      place.column !== undefined ? columnOf(place.column) : place.isToggle ? card?.querySelector(".toggle") : null;
    (inside ?? card ?? byId("stage")).focus({ preventScroll: true });
  }

  return { focusedPlace, refocus, draw, light, traced, near, cardOf, columnOf, tabStop };
})();
