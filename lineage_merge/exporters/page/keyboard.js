"use strict";
// Keyboard control: between cards along the lines, into columns, and for the buttons.
lineage.keyboard = (() => {
  const { element, byId, say } = lineage.dom;
  const { cardOf, columnOf } = lineage.board;
  const KEYS = [
    ["/", "search"],
    ["← →", "to the neighbour upstream, downstream"],
    ["↑ ↓", "to the card above, below; in a card with visible columns, to its columns"],
    ["Enter", "select a dataset, and again to show its columns; open a group; trace a column"],
    ["f", "show only the lineage of the dataset"],
    ["l, o", "list, overview"],
    ["+ − 0", "nearer, farther, all"],
    ["Esc", "one step back: closes, clears the selection, leaves the view"],
    ["?", "this help"],
  ];

  // The connected card that is nearest in height.
  function beside(scene, node, forward) {
    const [here, there] = forward ? ["source", "target"] : ["target", "source"];
    const keys = new Set(
      scene.edges.filter((edge) => edge[here] === node.key && edge[there] !== node.key).map((edge) => edge[there]),
    );
    const middle = node.y + node.height / 2;
    const apart = (each) => Math.abs(each.y + each.height / 2 - middle);
    return scene.nodes.filter((each) => keys.has(each.key)).sort((a, b) => apart(a) - apart(b))[0];
  }

  // The next card in the same rank.
  function above(scene, node, forward) {
    const side = (each) => (forward ? each.y - node.y : node.y - each.y);
    const aligned = (each) => each.x < node.x + node.width && node.x < each.x + each.width;
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

    const nodeOf = (card) => app.scene?.nodes.find((node) => node.key === card?.dataset.key);

    function go(node) {
      if (!node) {
        say("nothing in this direction");
        return;
      }
      app.viewport.reveal({ x: node.x, y: node.y, width: node.width, height: Math.min(node.height, 120) });
      lineage.board.tabStop(node.key);
      cardOf(node.key)?.focus({ preventScroll: true });
    }

    function ontoRow(row) {
      const card = row.closest(".card");
      const node = nodeOf(card);
      const { scale } = app.viewport.view;
      const top = (row.getBoundingClientRect().top - card.getBoundingClientRect().top) / scale;
      app.viewport.reveal({ x: node.x, y: node.y + top, width: node.width, height: 26 });
      row.focus({ preventScroll: true });
    }

    // From a column to its nearest drawn source or target.
    function along(index, forward) {
      const column = app.model.columns[index];
      const edges = forward ? column.down : column.up;
      return edges.map((edge) => columnOf(forward ? edge.to : edge.from)).find((each) => each);
    }

    function onColumn(event, row) {
      const card = row.closest(".card");
      const rows = [...card.querySelectorAll(".column")];
      const at = rows.indexOf(row);
      if (event.key === "ArrowDown" && rows[at + 1]) ontoRow(rows[at + 1]);
      else if (event.key === "ArrowDown") go(above(app.scene, nodeOf(card), true));
      else if (event.key === "ArrowUp" && at > 0) ontoRow(rows[at - 1]);
      else if (event.key === "ArrowUp") go(nodeOf(card));
      else if (event.key === "ArrowLeft" || event.key === "ArrowRight") {
        const found = row.dataset.column && along(Number(row.dataset.column), event.key === "ArrowRight");
        if (found) ontoRow(found);
        else say("no column drawn in this direction");
      } else return false;
      return true;
    }

    function onCard(event, card, node) {
      const first = card.querySelector(".column");
      if (event.key === "ArrowRight") go(beside(app.scene, node, true));
      else if (event.key === "ArrowLeft") go(beside(app.scene, node, false));
      else if (event.key === "ArrowDown" && first) ontoRow(first);
      else if (event.key === "ArrowDown") go(above(app.scene, node, true));
      else if (event.key === "ArrowUp") go(above(app.scene, node, false));
      else if (event.key === "Enter" || event.key === " ") app.enter(node);
      else return false;
      return true;
    }

    stage.addEventListener("keydown", (event) => {
      if (event.ctrlKey || event.metaKey || event.altKey || event.target.closest(".zoom")) return;
      const row = event.target.closest(".column");
      const card = event.target.closest(".card");
      if (event.target.matches(".toggle, .more, .frame-label") && (event.key === "Enter" || event.key === " ")) return;
      let done = false;
      if (row) done = onColumn(event, row);
      else if (card) done = onCard(event, card, nodeOf(card));
      else if (event.key.startsWith("Arrow") || event.key === "Enter") {
        go(app.first());
        done = true;
      }
      if (done) event.preventDefault();
    });

    const singles = {
      "/": () => app.search.focus(),
      f: () => app.focus(),
      l: () => app.show("list"),
      o: () => app.show("overview"),
      "+": () => app.viewport.zoom(1.25),
      "=": () => app.viewport.zoom(1.25),
      "-": () => app.viewport.zoom(0.8),
      0: () => app.viewport.fit(),
      "?": () => help.showModal(),
    };
    document.addEventListener("keydown", (event) => {
      if (event.ctrlKey || event.metaKey || event.altKey || help.open) return;
      if (event.target.closest("input, select, textarea")) {
        if (event.key === "Escape") event.target.blur();
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
