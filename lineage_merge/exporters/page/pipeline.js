"use strict";
// The pipeline view: cards, frames of jobs, and the table of jobs below.
lineage.pipeline = (() => {
  const { element, button, name, icon, environment, state, byId, counted } = lineage.dom;
  const { stateOf, ageOf, durationOf, timeText, STATES } = lineage.processes;
  const MOST_ROWS = 200;
  const TABLE_TYPE = 12.5;
  const CELL_PADDING = 25;

  /** Return what writes the drawn datasets: one entry per job or dbt project. */
  function writersOf(model, members) {
    const inside = new Set(members);
    const found = new Map();
    for (const process of model.processes) {
      const targets = [...process.targets].filter((index) => inside.has(index));
      if (!targets.length) continue;
      if (!found.has(process.frame)) found.set(process.frame, { frame: process.frame, processes: [], targets: new Set() });
      const entry = found.get(process.frame);
      entry.processes.push(process);
      for (const target of targets) entry.targets.add(target);
    }
    return [...found.values()].map((entry) => summary(model, entry));
  }

  function summary(model, { frame, processes, targets }) {
    const [first] = processes;
    const isProject = frame.startsWith("dbt\n");
    const order = ["failed", "ok", "none"];
    const states = processes.map((each) => stateOf(each));
    const sum = (values) => (values.some((value) => value !== null) ? values.reduce((a, b) => a + (b ?? 0), 0) : null);
    return {
      frame,
      processes,
      targets: [...targets],
      written: processes.reduce((total, each) => total + each.written, 0),
      isProject,
      name: isProject ? first.project : first.name,
      icon: first.type === "spark" || first.type === "dbt" ? first.type : "job",
      type: first.framework || first.type,
      dags: [...new Set(processes.flatMap((each) => each.dags))],
      state: order.find((each) => states.includes(each)) ?? "none",
      finished: processes.reduce((latest, each) => Math.max(latest, each.finished ?? 0), 0) || null,
      duration: sum(processes.map((each) => each.duration)),
      rows: sum(processes.map((each) => each.rows)),
    };
  }

  const MANY = { saved_query: "saved queries" };

  /** Return the caption of a frame: a job's name, or a dbt project with the number of its models. */
  function caption(model, writer) {
    if (!writer.isProject) return { icon: writer.icon, title: writer.name, more: "" };
    const counts = new Map();
    for (const index of writer.targets) {
      const { kind } = model.datasets[index];
      const word = kind === "table" || kind === "view" ? "model" : kind;
      counts.set(word, (counts.get(word) ?? 0) + 1);
    }
    const more = [...counts].map(([word, number]) => counted(number, lineage.places.kindWord(word), MANY[word])).join(", ");
    return { icon: "dbt", title: `dbt · project ${writer.name}`, more };
  }

  const captionWidth = ({ title, more }) =>
    lineage.measure.textWidth(title, 12, true) + lineage.measure.textWidth(more, 12) + 34;

  /** Return what a job writes, at most a few names per place; what dbt declares is not written. */
  function writes(model, targets) {
    const places = new Map();
    for (const index of targets) {
      const dataset = model.datasets[index];
      if (lineage.places.isDeclared(dataset.kind)) continue;
      if (!places.has(dataset.place.name)) places.set(dataset.place.name, []);
      places.get(dataset.place.name).push(dataset.name);
    }
    return [...places].flatMap(([where, names]) =>
      names.length > 2 ? [`${where} (${names.length})`] : names.map((each) => `${where}.${each}`),
    );
  }

  // As many names as there is room for.
  function fitted(names, room) {
    const { textWidth } = lineage.measure;
    for (let shown = names.length; shown > 1; shown -= 1) {
      const rest = names.length - shown;
      const text = names.slice(0, shown).join(", ") + (rest ? ` and ${rest} more` : "");
      if (textWidth(text, TABLE_TYPE) <= room) return text;
    }
    return names.length > 1 ? `${names[0]} and ${names.length - 1} more` : (names[0] ?? "");
  }

  /** Shorten what jobs write to the width of the table. */
  function fitWrites() {
    for (const cell of byId("table").querySelectorAll("td.wide")) {
      const room = cell.clientWidth - CELL_PADDING;
      cell.firstElementChild.textContent = fitted(cell.title.split(", "), room);
    }
  }

  function jobRow(model, writer) {
    const cell = (text, attributes = {}) => element("td", attributes, text);
    return element(
      "tr",
      {},
      cell(button({ class: "what", "data-frame": writer.frame }, icon(writer.icon), name(writer.name))),
      cell(name(writer.type)),
      cell([state(writer.state), ` ${STATES[writer.state] === "no run recorded" ? "not recorded" : STATES[writer.state]}`]),
      cell(timeText(writer.finished) || "not recorded", { class: "number" }),
      cell(durationOf(writer.duration) || "not recorded", { class: "number" }),
      cell(writer.rows === null ? "not recorded" : lineage.dom.digits(writer.rows), { class: "number" }),
      cell(name(""), { class: "wide", title: writes(model, writer.targets).join(", ") }),
    );
  }

  /** Sort jobs in the order in which data passes them. */
  function sort(writers, nodes) {
    const x = new Map();
    for (const node of nodes) for (const index of node.members) x.set(index, node.x);
    const first = (writer) => Math.min(...writer.targets.map((index) => x.get(index) ?? Infinity));
    const at = new Map(writers.map((writer) => [writer, first(writer)]));
    writers.sort((a, b) => at.get(a) - at.get(b) || (a.name < b.name ? -1 : 1));
  }

  // Whether the reader has unfolded the table.
  let isUnfolded = false;

  function folded(writers, content) {
    const details = element("details", {}, element("summary", {}, counted(writers.length, "job or project", "jobs and projects")), content);
    details.open = isUnfolded;
    details.addEventListener("toggle", () => {
      isUnfolded = details.open;
      fitWrites();
    });
    return details;
  }

  /** Draw the table of the jobs that write the drawn datasets, folded. */
  function table(model, writers) {
    const heads = ["Job", "Type", "Last run", "Finished (UTC)", "Duration", "Rows written", "Writes"];
    byId("table").hidden = !writers.length;
    const jobs = element(
        "table",
        { "aria-label": "Jobs" },
        element(
          "thead",
          {},
          element(
            "tr",
            {},
            heads.map((text, index) => element("th", { scope: "col", class: index > 2 && index < 6 ? "number" : "" }, text)),
          ),
        ),
        element("tbody", {}, writers.slice(0, MOST_ROWS).map((writer) => jobRow(model, writer))),
    );
    byId("table").replaceChildren(folded(writers, jobs));
    fitWrites();
  }

  /** Draw the heading of the view. */
  function crumb(model, view, scene, writers) {
    const band = model.bands.find((each) => each.key === view.band);
    const focused = view.focus === null ? null : model.datasets[view.focus];
    const jobs = writers.filter((each) => !each.isProject).length;
    const projects = writers.length - jobs;
    const latest = writers.reduce((time, each) => Math.max(time, each.finished ?? 0), 0);
    const facts = [
      counted(scene.total, "dataset"),
      jobs ? counted(jobs, "job") : "",
      projects ? counted(projects, "dbt project") : "",
      latest ? `last run ${ageOf(latest, model.now)} ago` : "",
    ];
    const title = focused ? `Lineage of ${focused.name}` : band ? band.dag || "no DAG" : (lineage.part?.title() ?? "All pipelines");
    byId("crumb").replaceChildren(
      focused && !lineage.part ? button({ class: "small", "data-action": "leave-focus" }, "← Whole pipeline") : button({ class: "small", "data-action": "overview" }, "← All pipelines"),
      element("h2", {}, name(title)),
      environment((focused ?? band)?.environment ?? "") ?? "",
      element("span", { class: "quiet" }, facts.filter((each) => each).join(" · ")),
      element("span", { class: "space" }),
      ...lineage.layers.control(model),
      button({ class: "small", "data-action": "all-columns" }, view.open.size ? "Hide columns" : "Show columns"),
    );
  }

  return { writersOf, sort, caption, captionWidth, table, fitWrites, crumb };
})();
