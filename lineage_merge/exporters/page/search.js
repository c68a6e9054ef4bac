"use strict";
// The search field and its results.
lineage.search = (() => {
  const { element, name, icon, environment, state, byId, counted, say } = lineage.dom;
  const { everyOf, tagsOf, ownersOf } = lineage.model;

  // Values, and the number of datasets that have them, with their columns and jobs.
  function counts(model, valuesOf) {
    const found = new Map();
    for (const dataset of model.datasets) {
      for (const value of new Set(everyOf(dataset, valuesOf))) found.set(value, (found.get(value) ?? 0) + 1);
    }
    return [...found];
  }

  const testsOf = (model) => new Set(model.datasets.flatMap((each) => each.tests));

  // Of each expression one column that it makes.
  function expressionsOf(model) {
    const found = new Map();
    for (const { expression, to } of model.columnFeeds) if (expression && !found.has(expression)) found.set(expression, to);
    return found;
  }

  // Descriptions, aliases, tags and owners are searched too.
  function index(model) {
    const facts = (dataset) =>
      dataset.facts
        .filter(([what]) => ["description", "aliases", "tags", "owner", "owners", "location"].includes(what))
        .map(([, text]) => text)
        .join(" ");
    const ownedOrTagged = (each) => (each.facts.length ? `${tagsOf(each).join(" ")} ${ownersOf(each).join(" ")}` : "");
    const entry = (kind, at, text, more) => ({ kind, at, name: text, more });
    const jobs = new Map(model.processes.map((each) => [`${each.environment}\n${each.name}`, each]));
    return lineage.matching.index([
      ...model.datasets.map((each) => entry("dataset", each.index, each.name, `${each.title} ${facts(each)}`)),
      ...[...jobs.values()].map((each) => entry("job", each.index, each.name, `${each.dags.join(" ")} ${ownedOrTagged(each)}`)),
      ...model.columns.map((each) => entry("column", each.index, each.name, `${each.description} ${ownedOrTagged(each)}`)),
      ...counts(model, tagsOf).map(([text, number]) => entry("tag", number, text)),
      ...counts(model, ownersOf).map(([text, number]) => entry("owner", number, text)),
      ...[...testsOf(model)].map((each) => entry("test", each, each.name, `${each.type} ${each.facts.get("column name") ?? ""}`)),
      ...[...expressionsOf(model)].map(([text, at]) => entry("expression", at, text)),
    ]);
  }

  function start(model, chosen) {
    const input = byId("search");
    const results = byId("results");
    let entries = null;
    let indexed = null;
    let found = [];
    let active = -1;
    let isPending = false;
    let isChosen = false;

    const ownerOf = (entry) => {
      const { name: text, title } = model.datasets[model.columns[entry.at].dataset];
      return `${text} ${title}`;
    };

    function parts(each) {
      if (each.parts) return each.parts;
      if (each.kind === "tag" || each.kind === "owner") {
        return [icon(each.kind, ""), each.name, `${each.kind} of ${counted(each.at, "dataset")}`, ""];
      }
      if (each.kind === "job") {
        const process = model.processes[each.at];
        const kind = process.type === "spark" || process.type === "dbt" ? process.type : "job";
        return [icon(kind), process.name, `job · ${process.dags.join(", ")}`, process.environment];
      }
      if (each.kind === "test") {
        const [[checked]] = each.at.checks;
        return [state(each.at.state), each.name, `test of ${model.datasets[checked].title}`, model.datasets[checked].environment];
      }
      if (each.kind === "expression") {
        const column = model.columns[each.at];
        return [icon("expression", ""), each.name, `expression of ${lineage.column.nameOf(model, each.at)}`, model.datasets[column.dataset].environment];
      }
      const isColumn = each.kind === "column";
      const dataset = model.datasets[isColumn ? model.columns[each.at].dataset : each.at];
      const text = isColumn ? model.columns[each.at].name : dataset.name;
      const { mark } = isColumn ? model.columns[each.at] : dataset;
      const where = isColumn ? `column of ${dataset.title}` : dataset.title;
      return [icon(dataset.kind), text, mark ? `${mark.words} · ${where}` : where, dataset.environment];
    }

    function option(each, at) {
      const [image, text, where, of] = parts(each);
      return element(
        "li",
        { role: "option", id: `result-${at}`, "data-at": at, "aria-selected": "false" },
        image,
        name(text, { class: "found" }),
        name(where, { class: "where" }),
        environment(of),
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
      [...results.children].forEach((each, place) => {
        if (each.dataset.at !== undefined) each.setAttribute("aria-selected", String(place === at));
      });
      const line = results.children[at];
      if (line) {
        input.setAttribute("aria-activedescendant", line.id);
        line.scrollIntoView({ block: "nearest" });
      }
    }

    // Of shards: the answer comes later, perhaps after the Enter key, or when the field is left.
    function foundMore() {
      if (isChosen || document.activeElement === input) show();
      if (isChosen) choose(0);
      isChosen = false;
    }

    function findLoaded() {
      if (indexed !== model.datasets) entries = index(model);
      indexed = model.datasets;
      return lineage.matching.find(entries, input.value, ownerOf);
    }

    function show() {
      const answer = lineage.finding?.find(input.value, foundMore) ?? findLoaded();
      isPending = Boolean(answer.isPending);
      found = answer.found;
      const lines = found.map(option);
      const rest = (text) => element("li", { class: "rest", role: "option", "aria-disabled": "true", "aria-selected": "false" }, text);
      if (answer.isCut) lines.push(rest("there may be more: type more of the name"));
      else if (answer.total > found.length) lines.push(rest(`${lineage.dom.digits(answer.total - found.length)} more`));
      if (input.value.trim() && !found.length) lines.push(rest(answer.isPending ? "searching …" : answer.isFailed ? "not searched: a part is missing" : "nothing found"));
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

    input.addEventListener("input", () => {
      isChosen = false;
      show();
    });
    input.addEventListener("focus", () => input.value && show());
    input.addEventListener("blur", close);
    // pointerdown fires before the blur of the input.
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
        if (isPending) isChosen = true;
        else choose(active);
      } else if (event.key === "Escape") {
        event.stopPropagation();
        if (input.value) {
          input.value = "";
          close();
        } else input.blur();
      }
    });
    return { focus: () => input.focus() };
  }

  return { start };
})();
