"use strict";
// The first line of the page: what is red, what is personal, what changed; each number leads to its datasets.
lineage.story = (() => {
  const { element, button, state, icon, byId, counted, digits } = lineage.dom;
  const { has, FILTERS } = lineage.assertions;
  const RED = [["failed", "failed"], ["tests-failed", "failed"], ["tests-warned", "warned"], ["stale", "warned"]];
  const WORDS = { failed: "failed to be written", "tests-failed": "with failed tests", "tests-warned": "with warnings of tests" };
  const SIGNS = { "not-read": "view" };

  const tile = (sign, number, words, link, title) =>
    button({ class: "tile", ...link, title }, sign, element("b", {}, digits(number)), element("span", {}, words));

  function statusTile(datasets, key, severity) {
    const number = datasets.filter((each) => has(each, key)).length;
    const words = WORDS[key] ?? FILTERS[key];
    const sign = severity === "note" ? icon(SIGNS[key] ?? "tag", "") : state(severity, "");
    return number ? tile(sign, number, words, { "data-status": key }, `${counted(number, "dataset")}: ${words}`) : null;
  }

  /** Draw the numbers of the datasets of these bands; hide them where there are none. */
  function draw(model, shown) {
    const datasets = shown.flatMap(({ members }) => members.map((index) => model.datasets[index]));
    byId("story").hidden = !datasets.length;
    if (!datasets.length) return;
    const red = RED.map(([key, severity]) => statusTile(datasets, key, severity)).filter((each) => each);
    const topics = (model.topics ?? []).map(({ key, severity }) => ({ severity, made: statusTile(datasets, key, severity) })).filter(({ made }) => made);
    const isRed = red.length > 0 || topics.some(({ severity }) => severity === "failed");
    const changed = lineage.compare?.week();
    byId("story").replaceChildren(
      ...[
        isRed || changed?.isAll ? null : element("span", { class: "tile" }, state("ok"), "nothing failed, nothing is stale"),
        ...topics.filter(({ severity }) => severity === "failed").map(({ made }) => made),
        ...red,
        ...topics.filter(({ severity }) => severity !== "failed").map(({ made }) => made),
        changed ? tile(element("span", { class: "sign", "aria-hidden": "true" }, "~"), changed.number, changed.words, { "data-action": "week" }, changed.title) : null,
        element("span", { class: "space" }),
      ].filter((each) => each),
      ...lineage.layers.control(model),
    );
  }

  return { draw };
})();
