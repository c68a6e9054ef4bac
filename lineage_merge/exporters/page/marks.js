"use strict";
// Marks changed elements wherever a view draws them, in words and with a class; the bar that limits views to them.
lineage.marks = (() => {
  const { element, button, byId, counted, digits } = lineage.dom;
  const SELECTED = ".card, [data-column], .entry, .member, .item, .row, .what, .band, .line, .top";
  const CHOICES = [["", "Everything"], ["near", "Changes and neighbours"], ["only", "Only changes"]];
  let app = null;
  let observer = null;

  /** Return the words of a mark as an element; null for none. */
  const badge = (mark) => (mark ? element("span", { class: `mark is-${mark.action}` }, mark.words) : null);

  function addToLabel(node, words) {
    const label = node.getAttribute("aria-label");
    if (label) node.setAttribute("aria-label", `${label}, ${words}`);
  }

  function classed(node, mark) {
    node.classList.add("marked", `is-${mark.action}`);
    addToLabel(node, mark.words);
  }

  // Of a group or box: how many of its datasets changed, or break.
  function changedAmong(members) {
    const actions = members.map((index) => app.model.datasets[index].mark?.action).filter((action) => action && action !== "reached");
    const broken = actions.filter((action) => action === "broken").length;
    const number = actions.length - broken;
    const words = [broken && counted(broken, "breaks", "break"), number && counted(number, "changed", "changed")].filter(Boolean).join(", ");
    return words ? { action: broken ? "broken" : "changed", number: actions.length, words: `${broken ? "✕" : "~"} ${words}` } : null;
  }

  function ofCard(card) {
    const node = app.scene.nodes.find((each) => each.key === card.dataset.key);
    if (!node) return;
    const dataset = app.model.datasets[node.index ?? node.dataset];
    const mark = dataset ? dataset.mark : changedAmong(node.members ?? node.datasets ?? []);
    if (!mark) return;
    if (dataset) classed(card, mark);
    else addToLabel(card, mark.words);
    card.append(badge(mark));
  }

  function ofColumn(row) {
    const column = app.model.columns[Number(row.dataset.column)];
    if (!column?.mark) return;
    classed(row, column.mark);
    row.querySelector(".line-one").prepend(element("span", { class: "sign" }, column.mark.words[0]));
    const type = row.querySelector(".type");
    if (!type || column.mark.action !== "changed") return;
    const changed = column.mark.changes.flatMap((each) => each.differences).find(({ name }) => name === "type");
    type.textContent = changed ? `${changed.before || "none"} → ${changed.after || "none"}` : column.mark.words.slice(2);
    type.classList.add("is-changed");
  }

  function ofLine(line) {
    const feeds = line.dataset.feeds;
    const edge = feeds ? { feeds: feeds.split(",").map((at) => app.model.feeds[at]) } : app.scene.edges.find(({ key }) => key === line.dataset.edge);
    const action = edge && lineage.changes.lineAction(app.model, edge);
    if (!action) return;
    line.classList.add(`is-${action}`);
    line.querySelector("title")?.prepend(`${action}: `);
  }

  function ofBand(band) {
    const { members } = app.model.bands.find((each) => each.key === band.dataset.key) ?? { members: [] };
    const found = badge(changedAmong(members));
    band.classList.add("marked");
    if (found) band.querySelector("header h2").after(found);
  }

  // A box shows the first of its datasets: the mark counts all.
  function ofBox(top) {
    top.classList.add("marked");
    const hidden = top.parentElement.querySelector(".rest");
    const mark = hidden && changedAmong((top.parentElement.dataset.members ?? "").split(",").filter(Boolean).map(Number));
    if (!mark) return;
    const found = badge({ ...mark, words: `${mark.words[0]} ${digits(mark.number)}` });
    found.title = mark.words.slice(2);
    hidden.append(" ", found);
  }

  function linked({ toDataset, toColumn, frame }) {
    if (toDataset !== undefined) return app.model.datasets[toDataset]?.mark;
    if (toColumn !== undefined) return app.model.columns[toColumn]?.mark;
    return frame === undefined ? null : lineage.changes.writerMark(app.model.processes.filter((each) => each.frame === frame));
  }

  function ofLink(node) {
    const mark = linked(node.dataset);
    if (!mark || node.closest("#changes")) return;
    classed(node, mark);
    // Overview and index have room for the sign only.
    if (node.matches(".member, .row")) {
      node.title = `${node.title ? `${node.title} · ` : ""}${mark.words}`;
      node.append(element("span", { class: "sign", "aria-hidden": "true" }, mark.words[0]), element("span", { class: "unseen" }, mark.words));
      return;
    }
    const place = node.querySelector(":scope > .two > span, :scope > .what");
    if (place) place.prepend(badge(mark), " ");
    else node.append(badge(mark));
  }

  function marked(node) {
    if (node.matches(".card")) ofCard(node);
    else if (node.matches("[data-column]")) ofColumn(node);
    else if (node.matches(".line")) ofLine(node);
    else if (node.matches(".band")) ofBand(node);
    else if (node.matches(".top")) ofBox(node);
    else ofLink(node);
  }

  function seen(records) {
    if (!app.model.changes) return;
    for (const { addedNodes } of records) {
      for (const node of addedNodes) {
        if (node.nodeType !== Node.ELEMENT_NODE || !node.isConnected) continue;
        for (const each of [node, ...node.querySelectorAll(SELECTED)]) {
          if (each.matches(SELECTED) && !each.matches(".marked")) marked(each);
        }
      }
    }
  }

  /** Mark what was drawn since the last time, at once. */
  function flush() {
    seen(observer.takeRecords());
  }

  /** Return the control that limits all views to what changed. */
  const choices = ({ filters }) =>
    element(
      "div",
      { class: "seg is-small", role: "group", "aria-label": "Show" },
      CHOICES.map(([value, words]) => button({ "data-changed": value, "aria-pressed": String(filters.changed === value) }, words)),
    );

  /** Draw the bar again; its controls are made again on each change. */
  function redraw(draw) {
    const at = byId("moments").contains(document.activeElement) && document.activeElement;
    draw();
    if (!at) return;
    const alike = [...byId("moments").querySelectorAll("button")].find((each) => each.dataset.changed === at.dataset.changed);
    (byId(at.id) ?? alike)?.focus();
  }

  /** Add the bar with this name, and mark what is drawn, in exported pictures too. */
  function start(started, title) {
    app = started;
    byId("center").prepend(element("div", { id: "moments", class: "moments", role: "group", "aria-label": title }));
    byId("moments").addEventListener("click", (event) => {
      const changed = event.target.closest("[data-changed]")?.dataset.changed;
      if (changed !== undefined) app.change({ filters: { ...app.state.filters, changed } }, { opens: true });
    });
    const { shapesOf } = lineage.picture;
    lineage.picture.shapesOf = (...given) => {
      flush();
      return shapesOf(...given);
    };
    observer = new MutationObserver(seen);
    observer.observe(document.querySelector("main"), { childList: true, subtree: true });
  }

  return { start, flush, badge, choices, redraw };
})();
