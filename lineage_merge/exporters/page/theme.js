"use strict";
// Theme (light, dark, system) and legend.
lineage.theme = (() => {
  const { element, drawn, icon, state, byId } = lineage.dom;
  const KEY = "lineage-theme";
  const NAMES = { auto: ["◐", "system"], light: ["☀", "light"], dark: ["☾", "dark"] };
  let shown = "auto";
  const ORDER = ["auto", "light", "dark"];

  // Pages opened from a file may have no storage.
  function stored() {
    try {
      return localStorage.getItem(KEY) ?? "auto";
    } catch {
      return "auto";
    }
  }

  function apply(theme) {
    const known = NAMES[theme] ? theme : "auto";
    if (known === "auto") delete document.documentElement.dataset.theme;
    else document.documentElement.dataset.theme = known;
    const [sign, words] = NAMES[known];
    byId("theme").textContent = sign;
    byId("theme").setAttribute("aria-label", `Colours: ${words}`);
    byId("theme").title = `Colours: ${words}`;
    shown = known;
  }

  const current = () => shown;

  function start(changed) {
    apply(stored());
    byId("theme").addEventListener("click", () => {
      apply(ORDER[(ORDER.indexOf(shown) + 1) % ORDER.length]);
      changed();
      try {
        localStorage.setItem(KEY, shown);
      } catch {
        // Without storage the choice lasts while the page is open.
      }
    });
  }

  const KINDS = ["file", "table", "view", "topic", "seed", "snapshot", "exposure", "semantic_model", "metric", "saved_query"];
  const LINES = [
    ["line", "feeds: a job moves data in this direction"],
    ["line lost", "feeds, column lineage unavailable"],
    ["line is-up", "upstream or downstream of the selection"],
    ["line direct", "column: its value goes into the other one"],
    ["line indirect", "column: indirect, a condition or a window"],
    ["line decides", "determines rows (filter, join), or reads the whole table"],
  ];

  /** Return a short line as it is drawn in this style. */
  const sample = (classes) =>
    drawn(
      "svg",
      { class: "sample", viewBox: "0 0 46 12", "aria-hidden": "true" },
      drawn("g", { class: classes }, drawn("path", { class: "drawn", d: "M2 6H40" }), drawn("path", { class: "tip", d: "M45 6l-7 -3.6v7.2z" })),
    );

  /** Fill the legend: kinds, lines, states, and what the statuses of data stand for. */
  function legend(statuses) {
    const line = ([classes, words]) => element("li", {}, sample(classes), words);
    byId("legend").replaceChildren(
      ...KINDS.map((each) => element("li", {}, icon(each), each === "exposure" ? "exposure (dashboard)" : lineage.places.kindWord(each))),
      ...Object.entries(lineage.processes.STATES).map(([each, words]) => element("li", {}, state(each), words)),
      ...LINES.map(line),
      element("li", {}, icon("group"), "group of datasets"),
      ...Object.entries(statuses).map(([status, words]) => element("li", { class: "wide" }, element("b", {}, status), `: ${words}`)),
    );
  }

  return { start, current, apply, legend, sample, KINDS };
})();
