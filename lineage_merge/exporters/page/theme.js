"use strict";
// Theme (light, dark, system) and legend.
lineage.theme = (() => {
  const { element, drawn, icon, byId } = lineage.dom;
  const KEY = "lineage-theme";
  const NAMES = { auto: ["◐", "system"], light: ["☀", "light"], dark: ["☾", "dark"] };
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
    return known;
  }

  function start() {
    let theme = apply(stored());
    byId("theme").addEventListener("click", () => {
      theme = apply(ORDER[(ORDER.indexOf(theme) + 1) % ORDER.length]);
      try {
        localStorage.setItem(KEY, theme);
      } catch {
        // Without storage the choice lasts while the page is open.
      }
    });
  }

  const KINDS = ["file", "table", "view", "topic", "seed", "snapshot", "exposure", "semantic_model", "metric", "saved_query"];
  const LINES = [
    ["line", "feeds: a job moves data in this direction"],
    ["line lost", "feeds, column lineage unavailable"],
    ["column-line is-up", "upstream of the selection"],
    ["column-line is-down", "downstream of the selection"],
    ["column-line is-down indirect", "indirect: controls the value (condition, window)"],
    ["column-line is-down decides", "influences: determines rows (filter, join)"],
  ];

  function legend() {
    const kind = (each) =>
      element("li", {}, element("span", { class: `swatch kind-${each}` }, icon(each)), each);
    const line = ([classes, words]) =>
      element(
        "li",
        {},
        drawn(
          "svg",
          { class: "sample", viewBox: "0 0 46 12", "aria-hidden": "true" },
          drawn("g", { class: classes }, drawn("path", { class: "drawn", d: "M2 6H44" })),
        ),
        words,
      );
    byId("legend").replaceChildren(
      element("h2", {}, "Legend"),
      element(
        "ul",
        {},
        KINDS.map(kind),
        element("li", {}, element("span", { class: "swatch group" }, icon("group")), "group of datasets"),
      ),
      element("ul", {}, LINES.map(line)),
    );
    byId("legend-button").addEventListener("click", () => {
      byId("legend").hidden = !byId("legend").hidden;
      byId("legend-button").setAttribute("aria-expanded", String(!byId("legend").hidden));
    });
  }

  return { start, legend };
})();
