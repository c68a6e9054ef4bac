"use strict";
// Creates elements from text, never from markup, so that names cannot inject HTML.
const lineage = {};

lineage.dom = (() => {
  const SVG = "http://www.w3.org/2000/svg";
  const ICONS = {
    file: "M3 4.2C3 2.9 13 2.9 13 4.2L11.8 13C11.5 14.3 4.5 14.3 4.2 13ZM3 4.2C3 5.5 13 5.5 13 4.2",
    table: "M2.5 3h11v10h-11ZM2.5 6.5h11M6.5 6.5V13",
    view: "M1.5 8C4 4 12 4 14.5 8C12 12 4 12 1.5 8ZM8 6.3a1.7 1.7 0 1 0 .01 0",
    topic: "M1.5 5q3.2-3.6 6.5 0t6.5 0M1.5 9q3.2-3.6 6.5 0t6.5 0M1.5 13q3.2-3.6 6.5 0t6.5 0",
    seed: "M8 13.5V8M8 8C4 8 3 5.5 3 3C6.5 3 8 5 8 8ZM8 10C8 7 10 5.8 13 5.8C13 8.5 11 10 8 10Z",
    snapshot: "M2.5 5h2.5l1-1.8h4L11 5h2.5v8h-11ZM8 6.8a2.2 2.2 0 1 0 .01 0",
    exposure: "M2.5 13.5h11M4.5 11V8M8 11V3.5M11.5 11V6",
    semantic_model: "M8 2l5.5 3v6L8 14l-5.5-3V5ZM2.5 5L8 8l5.5-3M8 8v6",
    metric: "M2.5 11.5a5.5 5.5 0 0 1 11 0M8 11.5l2.5-4M2.5 13.5h11",
    saved_query: "M4 2h8v12l-4-3-4 3ZM6 5h4M6 7.5h4",
    spark: "M8.8 1.8L3.5 9h4L6.8 14.2L12.5 7h-4Z",
    dbt: "M8 2L14 8L8 14L2 8ZM6.3 8h3.4",
    job: "M8 5.4a2.6 2.6 0 1 0 .01 0M8 1.5v2M8 12.5v2M1.5 8h2M12.5 8h2M3.4 3.4l1.4 1.4M11.2 11.2l1.4 1.4M12.6 3.4l-1.4 1.4M4.8 11.2l-1.4 1.4",
    tag: "M2.5 2.5h5l6 6-5 5-6-6ZM5.2 5.2v.1",
    owner: "M8 2.5a2.8 2.8 0 1 0 .01 0M2.5 14c.5-6 10.5-6 11 0",
    warn: "M8 2.5L14.5 13.5h-13ZM8 6.5v3.2M8 11.6v.1",
    copy: "M5.5 5.5h8v8h-8ZM3 10.5h-.5v-8h8V3",
    link: "M6.5 9.5l3-3M7 4.5l1.5-1.5a2.8 2.8 0 0 1 4 4L11 8.5M9 11.5L7.5 13a2.8 2.8 0 0 1-4-4L5 7.5",
    close: "M4 4l8 8M12 4l-8 8",
    chain: "M4 2.5v11M4 4h8M4 8h8M4 12h8",
    expression: "M6 2.5C3.5 2.5 6 8 3 8c3 0 .5 5.5 3 5.5M10 2.5c2.5 0 0 5.5 3 5.5-3 0-.5 5.5-3 5.5",
    group: "M2 4.5h4.5L8 6h6v7H2Z",
  };

  function fill(node, attributes, children) {
    for (const [name, value] of Object.entries(attributes)) {
      if (value !== null && value !== undefined && value !== false) {
        node.setAttribute(name, value === true ? "" : String(value));
      }
    }
    node.append(
      ...children.flat(2).filter((child) => child !== null && child !== undefined && child !== "" && child !== false),
    );
    return node;
  }

  const element = (tag, attributes = {}, ...children) =>
    fill(document.createElement(tag), attributes, children);
  const drawn = (tag, attributes = {}, ...children) =>
    fill(document.createElementNS(SVG, tag), attributes, children);
  const button = (attributes, ...children) => element("button", { type: "button", ...attributes }, ...children);

  // Isolates the text direction of a name from the text beside it.
  const name = (text, attributes = {}) => element("bdi", attributes, text);

  const icon = (kind, classes = `kind-${kind}`) =>
    drawn(
      "svg",
      { class: `icon ${classes}`, viewBox: "0 0 16 16", "aria-hidden": "true" },
      drawn("path", { d: ICONS[kind] ?? ICONS.job }),
    );

  const environment = (text) =>
    text
      ? element("span", { class: `env${lineage.bands.isProduction(text) ? " is-prod" : ""}`, dir: "auto" }, text)
      : null;

  const state = (which, words = lineage.processes.STATES[which]) =>
    element("span", { class: `dot is-${which}`, ...(words ? { role: "img", "aria-label": words } : { "aria-hidden": "true" }) });

  const byId = (id) => document.getElementById(id);

  // Making a format is slow; `toLocaleString` makes one per call.
  const numbers = new Intl.NumberFormat("en");
  const digits = (number) => (number < 1000 ? String(number) : numbers.format(number));
  const counted = (number, one, many = `${one}s`) => `${digits(number)} ${number === 1 ? one : many}`;

  function say(text) {
    byId("said").textContent = text;
  }

  return { element, drawn, button, name, icon, environment, state, byId, counted, digits, say };
})();
