"use strict";
// Search for datasets, columns and jobs by a part of their names.
lineage.search = (() => {
  const { element, name, icon, byId, counted, say } = lineage.dom;
  const MOST = 40;

  function index(model) {
    const entry = (kind, at, text, shown) => ({ kind, at, text: text.toLowerCase(), shown });
    return [
      ...model.datasets.map((each) => entry("dataset", each.index, each.name, each.title)),
      ...model.jobs.map((each) => entry("job", each.index, each.name, each.name)),
      ...model.columns.map((each) => entry("column", each.index, each.name, "")),
    ];
  }

  // Prefix matches first, then other matches; datasets before jobs before columns.
  function find(model, entries, typed) {
    const text = typed.trim().toLowerCase();
    if (!text) return { found: [], total: 0 };
    const [dataset, column] = text.includes("#") ? text.split("#") : [null, null];
    const ranked = [[], [], [], []];
    let total = 0;
    for (const each of entries) {
      let rank = -1;
      if (dataset !== null) {
        if (each.kind !== "column") continue;
        const owner = model.datasets[model.columns[each.at].dataset];
        const isOf =
          owner.name.toLowerCase().includes(dataset) || owner.title.toLowerCase().includes(dataset);
        if (isOf && each.text.startsWith(column)) rank = 0;
      } else if (each.text === text) rank = 0;
      else if (each.text.startsWith(text)) rank = 1;
      else if (each.text.includes(text)) rank = 2;
      else if (each.kind === "dataset" && each.shown.toLowerCase().includes(text)) rank = 3;
      if (rank < 0) continue;
      total += 1;
      if (ranked[rank].length < MOST) ranked[rank].push(each);
    }
    return { found: ranked.flat().slice(0, MOST), total };
  }

  function start(model, chosen) {
    const input = byId("search");
    const results = byId("results");
    let entries = null;
    let found = [];
    let active = -1;

    function option(each, at) {
      const attributes = { role: "option", id: `result-${at}`, "data-at": at, "aria-selected": "false" };
      if (each.kind === "job") {
        return element("li", attributes, element("span", { class: "kind" }, "job"), name(each.shown));
      }
      if (each.kind === "column") {
        const column = model.columns[each.at];
        const dataset = model.datasets[column.dataset];
        return element(
          "li",
          attributes,
          element("span", { class: "kind" }, "column"),
          name(column.name),
          name(dataset.title, { class: "where" }),
        );
      }
      const dataset = model.datasets[each.at];
      return element(
        "li",
        attributes,
        icon(dataset.kind),
        name(dataset.name),
        name(dataset.title, { class: "where" }),
      );
    }

    function close() {
      results.hidden = true;
      input.setAttribute("aria-expanded", "false");
      input.removeAttribute("aria-activedescendant");
      active = -1;
    }

    function mark(at) {
      active = at;
      [...results.children].forEach((each, place) =>
        each.setAttribute("aria-selected", String(place === at)),
      );
      const line = results.children[at];
      if (line) {
        input.setAttribute("aria-activedescendant", line.id);
        line.scrollIntoView({ block: "nearest" });
      }
    }

    function show() {
      entries ??= index(model);
      const answer = find(model, entries, input.value);
      found = answer.found;
      const lines = found.map(option);
      if (answer.total > found.length)
        lines.push(
          element("li", { class: "rest", "aria-disabled": "true" }, `${answer.total - found.length} more`),
        );
      if (input.value.trim() && !found.length) lines.push(element("li", { class: "rest" }, "nothing found"));
      results.replaceChildren(...lines);
      results.hidden = !lines.length;
      input.setAttribute("aria-expanded", String(Boolean(lines.length)));
      if (found.length) mark(0);
      if (input.value.trim()) say(counted(answer.total, "result"));
    }

    function choose(at) {
      const each = found[at];
      if (!each) return;
      close();
      input.value = "";
      chosen(each);
    }

    input.addEventListener("input", show);
    input.addEventListener("focus", () => input.value && show());
    input.addEventListener("blur", close);
    // mousedown fires before the blur of the input.
    results.addEventListener("pointerdown", (event) => {
      event.preventDefault();
      const line = event.target.closest("[data-at]");
      if (line) choose(Number(line.dataset.at));
    });
    input.addEventListener("keydown", (event) => {
      if (event.key === "ArrowDown" || event.key === "ArrowUp") {
        event.preventDefault();
        if (results.hidden) show();
        else mark((active + (event.key === "ArrowDown" ? 1 : found.length - 1)) % (found.length || 1));
      } else if (event.key === "Enter") {
        event.preventDefault();
        choose(active);
      } else if (event.key === "Escape") {
        event.stopPropagation();
        if (input.value) {
          input.value = "";
          close();
        } else {
          byId("stage").focus();
        }
      }
    });
    return { focus: () => input.focus() };
  }

  return { start, find, index };
})();
