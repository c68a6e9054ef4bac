"use strict";
// What surrounds the views: tabs, limits of the view, states, counts.
lineage.heading = (() => {
  const { element, button, name, byId, counted } = lineage.dom;

  /** Draw the tabs. */
  function views(state) {
    const tabs = [
      ["overview", "Overview"],
      ["pipeline", "Pipeline"],
      ["column", "Column trace"],
      ...(lineage.compare ? [["compare", lineage.compare.label]] : []),
      ["list", "List"],
    ];
    const current = lineage.compare?.tab(state) ?? state.view;
    byId("views").replaceChildren(
      ...tabs.map(([view, words]) =>
        button({ "data-view": view, "aria-current": current === view ? "page" : null }, words),
      ),
    );
    byId("phone-tabs").replaceChildren(
      ...["datasets", "jobs"].map((each) =>
        button({ "data-listed": each, "aria-pressed": String(state.view === "list" && state.listed === each) }, each === "jobs" ? "Jobs" : "Datasets"),
      ),
      button({ "data-listed": "filters", "aria-pressed": "false" }, "Filters"),
    );
  }

  /** Draw what limits the view: the focus with its depth, and opened groups. Each can be closed. */
  function trail(model, state, scene) {
    const chips = [];
    const chip = (key, ...content) =>
      element("span", { class: "chip" }, ...content, button({ "data-close": key, "aria-label": "Close" }, "×"));
    if (state.view === "pipeline" && state.focus !== null) {
      const depths = [1, 2, 3, 4, 5, 6, 8, 10];
      const option = (value, words) =>
        element("option", { value, selected: String(state.depth ?? "") === String(value) }, words);
      chips.push(
        chip(
          "focus",
          name(model.datasets[state.focus].name),
          element(
            "select",
            { id: "depth", "aria-label": "Hops" },
            option("", "all hops"),
            depths.map((hops) => option(hops, counted(hops, "hop"))),
          ),
        ),
      );
    }
    if (state.view === "pipeline") for (const each of scene?.opened ?? []) chips.push(chip(`group ${each.key}`, name(each.name)));
    byId("trail").hidden = !chips.length;
    byId("trail").replaceChildren(...chips);
  }

  const LINES = [
    [["direct"], "value"],
    [["indirect"], "indirect: condition, window"],
    [["decides", "whole"], "rows, or the whole table"],
  ];

  // The kinds of lines in a column trace; one kind alone needs no key.
  function lineKey(scene) {
    const styles = new Set(scene.edges.map((edge) => edge.style));
    const found = LINES.filter(([kinds]) => kinds.some((each) => styles.has(each)));
    if (found.length < 2 && !styles.has("indirect")) return [];
    return found.map(([[style], words]) => element("span", {}, lineage.theme.sample(`line ${style}`), words));
  }

  /** Draw the key below the picture: the states of runs, or the kinds of lines, that occur. */
  function key(model, state, scene) {
    if (state.view === "column") {
      byId("key").replaceChildren(...lineKey(scene));
      return;
    }
    const states = new Set(model.datasets.map((each) => each.worst));
    byId("key").replaceChildren(
      ...(state.view === "pipeline" && states.size > 1
        ? Object.entries(lineage.processes.STATES)
            .filter(([each]) => states.has(each))
            .map(([each, words]) => element("span", {}, element("span", { class: `dot is-${each}` }), words))
        : []),
    );
  }

  /** Write how much is shown, for screen readers. */
  function counts(model, state, scene, shown) {
    const total = shown.reduce((sum, each) => sum + each.members.length, 0);
    const all = model.datasets.length;
    const of = total === all ? counted(all, "dataset") : `${lineage.dom.digits(total)} of ${counted(all, "dataset")}`;
    const groups = state.view === "pipeline" ? scene.nodes.filter((node) => node.kind === "group") : [];
    const inGroups = groups.reduce((sum, node) => sum + node.members.length, 0);
    const more = groups.length ? `; ${lineage.dom.digits(inGroups)} in ${counted(groups.length, "group")}` : "";
    byId("counts").textContent = `${of}${more}`;
  }

  /** Write where the data is from. */
  function about({ source, made_at, version }) {
    const parts = [source, made_at && `created ${made_at}`, made_at && "ages and freshness are as of then", `lineage_merge ${version}`];
    byId("about").textContent = parts.filter((each) => each).join(", ");
  }

  return { about, views, trail, key, counts };
})();
