"use strict";
// Layers: owners or tags of datasets as letters, colours and words, wherever datasets are drawn.
lineage.layers = (() => {
  const { element, button, name, icon } = lineage.dom;
  const { everyOf, tagsOf, ownersOf, NO_OWNER } = lineage.model;
  const LAYERS = { owner: ownersOf, tag: tagsOf };
  // A tag that a dataset inherits along lineage; the key of its filter begins so, too.
  const CARRIES = "carries-";
  const WORDS = { "": "Kinds", owner: "Owners", tag: "Tags" };
  // As many colours as a legend can tell apart; the rest have one in common.
  const MOST = 7;
  const REST = "other";
  let now = { layer: "", signs: new Map() };

  function valuesOf(dataset) {
    const own = everyOf(dataset, LAYERS[now.layer]);
    if (now.layer !== "tag") return own;
    return [...own, ...dataset.topics.filter((key) => key.startsWith(CARRIES) && !own.includes(key.slice(CARRIES.length)))];
  }
  const textOf = (value) => (value.startsWith(CARRIES) ? value.replace("-", " ") : value);

  /** Choose the layer: the most frequent values have a letter and a colour each. */
  function use(model, layer) {
    if (now.layer === layer && now.datasets === model.datasets) return;
    now = { layer, datasets: model.datasets, signs: new Map() };
    if (!layer) return;
    const counts = new Map();
    for (const dataset of model.datasets) for (const value of new Set(valuesOf(dataset))) counts.set(value, (counts.get(value) ?? 0) + 1);
    const sorted = [...counts].sort((a, b) => b[1] - a[1] || (a[0] < b[0] ? -1 : 1));
    sorted.forEach(([value, number], at) => {
      const isRest = at >= MOST;
      now.signs.set(value, { value, number, sign: isRest ? "+" : "ABCDEFG"[at], hue: isRest ? MOST : at });
    });
  }

  /** Return the values of a dataset in the layer, in words; "" without a layer. */
  function wordsOf(dataset) {
    if (!now.layer) return "";
    return valuesOf(dataset).map(textOf).join(", ") || `no ${now.layer}`;
  }

  const badge = ({ sign, hue }, value) => element("span", { class: `layer hue-${hue}`, title: textOf(value), "aria-hidden": "true" }, sign);

  /** Return the letters of a dataset's values; null without a layer. */
  const badges = (dataset) => (now.layer ? valuesOf(dataset).map((value) => badge(now.signs.get(value), value)).slice(0, 3) : null);

  /** Return the class of a dataset's card: the colour of its first value. */
  function hueOf(dataset) {
    const [first] = now.layer ? valuesOf(dataset) : [];
    return first === undefined ? "" : ` has-layer hue-${now.signs.get(first).hue}`;
  }

  /** Return the legend; each value leads to its datasets. */
  function legend() {
    const signs = [...now.signs.values()];
    const rest = signs.length - MOST;
    return [
      ...signs.slice(0, MOST).map((each) => button({ class: "small legend-item", [`data-${each.value.startsWith(CARRIES) ? "status" : now.layer}`]: each.value, title: `Only these: ${each.number}` }, badge(each, each.value), name(textOf(each.value)))),
      rest > 0 ? element("span", { class: "quiet" }, badge(signs[MOST], REST), ` ${rest} more`) : null,
      now.layer === "owner" ? button({ class: "small legend-item", "data-owner": NO_OWNER }, "no owner") : null,
    ].filter((each) => each);
  }

  /** Return the control of the layer and its legend; none if the data has neither owners nor tags. */
  function control(model) {
    const offered = Object.keys(LAYERS).filter((layer) => model.datasets.some((dataset) => everyOf(dataset, LAYERS[layer]).length));
    if (!offered.length) return [];
    return [
      element(
        "div",
        { class: "seg is-small", role: "group", "aria-label": "Colours of" },
        ["", ...offered].map((layer) => button({ "data-layer": layer, "aria-pressed": String(layer === now.layer) }, icon(layer || "table", ""), WORDS[layer])),
      ),
      ...legend(),
    ];
  }

  return { use, wordsOf, badges, hueOf, control, LAYERS };
})();
