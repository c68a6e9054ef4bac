"use strict";
// Keyboard control: between boxes along the lines, into columns, and for the buttons.
lineage.keyboard = (() => {
  const { element, byId, say } = lineage.dom;
  const { cardOf, columnOf } = lineage.drawing;
  const KEYS = [
    ["/", "search"],
    ["← →", "to the neighbour upstream, downstream"],
    ["↑ ↓", "to the box above, below; in a box with visible columns, to its columns"],
    ["Enter", "show columns of a dataset, open a group, follow a column"],
    ["f", "focus on the lineage of the dataset"],
    ["+ − 0", "nearer, farther, all"],
    ["Esc", "one step back: closes, unselects, leaves the focus"],
    ["?", "this help"],
  ];

  // The connected box that is nearest in height.
  function beside(scene, node, forward) {
    const at = scene.nodes.indexOf(node);
    const [here, there] = forward ? ["from", "to"] : ["to", "from"];
    const ends = scene.edges
      .filter((edge) => edge[here] === at && edge[there] !== at)
      .map((edge) => scene.nodes[edge[there]]);
    const middle = node.box.y + node.box.height / 2;
    const apart = (each) => Math.abs(each.box.y + each.box.height / 2 - middle);
    return ends.sort((a, b) => apart(a) - apart(b))[0];
  }

  // The next box in the same column of boxes.
  function above(scene, node, forward) {
    const side = (each) => (forward ? each.box.y - node.box.y : node.box.y - each.box.y);
    const aligned = (each) => Math.abs(each.box.x - node.box.x) < node.box.width;
    return scene.nodes
      .filter((each) => each !== node && aligned(each) && side(each) > 0)
      .sort((a, b) => side(a) - side(b))[0];
  }

  function start(app) {
    const stage = byId("stage");
    byId("keys").replaceChildren(
      ...KEYS.flatMap(([key, what]) => [element("dt", {}, element("kbd", {}, key)), element("dd", {}, what)]),
    );
    const help = byId("help");
    byId("help-button").addEventListener("click", () => help.showModal());
    byId("help-close").addEventListener("click", () => help.close());

    const nodeOf = (card) => app.scene().nodes.find((node) => node.key === card?.dataset.key);

    function go(node) {
      if (!node) {
        say("nothing there");
        return;
      }
      app.visit(node);
      cardOf(node.key)?.focus({ preventScroll: true });
    }

    function ontoColumn(column) {
      const box = columnOf(column.index);
      const node = app.scene().nodes[app.scene().nodeOf.get(column.dataset)];
      const row = node.rows.indexOf(column);
      const y = node.box.y + lineage.layout.SIZE.head + row * lineage.layout.SIZE.row;
      app.viewport.reveal({ x: node.box.x, y, width: node.box.width, height: lineage.layout.SIZE.row });
      box.focus({ preventScroll: true });
    }

    // From a column to its nearest drawn source or target.
    function along(column, forward) {
      const edges = forward ? column.down : column.up;
      return edges
        .map((edge) => app.model.columns[forward ? edge.to : edge.from])
        .find((each) => columnOf(each.index));
    }

    function onColumn(event, box) {
      const column = app.model.columns[Number(box.dataset.column)];
      const node = nodeOf(box.closest(".card"));
      const at = node.rows.indexOf(column);
      if (event.key === "ArrowDown" && node.rows[at + 1]) ontoColumn(node.rows[at + 1]);
      else if (event.key === "ArrowDown") go(above(app.scene(), node, true));
      else if (event.key === "ArrowUp" && at > 0) ontoColumn(node.rows[at - 1]);
      else if (event.key === "ArrowUp") go(node);
      else if (event.key === "ArrowLeft" || event.key === "ArrowRight") {
        const found = along(column, event.key === "ArrowRight");
        if (found) ontoColumn(found);
        else say("no column drawn there");
      } else return false;
      return true;
    }

    function onCard(event, node) {
      if (event.key === "ArrowRight") go(beside(app.scene(), node, true));
      else if (event.key === "ArrowLeft") go(beside(app.scene(), node, false));
      else if (event.key === "ArrowDown" && node.rows.length) ontoColumn(node.rows[0]);
      else if (event.key === "ArrowDown") go(above(app.scene(), node, true));
      else if (event.key === "ArrowUp") go(above(app.scene(), node, false));
      else if (event.key === "Enter" || event.key === " ") {
        if (node.kind === "group") app.openGroup(node);
        else app.toggleColumns(node.index);
      } else return false;
      return true;
    }

    stage.addEventListener("keydown", (event) => {
      if (event.ctrlKey || event.metaKey || event.altKey || event.target.closest(".zoom")) return;
      const box = event.target.closest(".column");
      const card = event.target.closest(".card");
      if (event.target.matches(".toggle, .more") && event.key === "Enter") return;
      let done = false;
      if (box) done = onColumn(event, box);
      else if (card) done = onCard(event, nodeOf(card));
      else if (event.key.startsWith("Arrow") || event.key === "Enter") {
        go(app.first());
        done = true;
      }
      if (done) event.preventDefault();
    });

    const singles = {
      "/": () => app.search.focus(),
      f: () => app.focus(),
      "+": () => app.viewport.zoom(1.25),
      "=": () => app.viewport.zoom(1.25),
      "-": () => app.viewport.zoom(0.8),
      0: () => app.fit(),
      "?": () => help.showModal(),
    };
    document.addEventListener("keydown", (event) => {
      if (event.ctrlKey || event.metaKey || event.altKey || help.open) return;
      if (event.target.closest("input, select, textarea")) {
        if (event.key === "Escape") stage.focus();
        return;
      }
      if (event.key === "Escape") app.back();
      else if (byId("single-keys").checked && Object.hasOwn(singles, event.key)) {
        event.preventDefault();
        singles[event.key]();
      }
    });
  }

  return { start };
})();
