"use strict";
// Creates elements from text, never from markup, so that names cannot inject HTML.
const lineage = {};

lineage.dom = (() => {
  const SVG = "http://www.w3.org/2000/svg";

  function fill(node, attributes, children) {
    for (const [name, value] of Object.entries(attributes)) {
      if (value !== null && value !== undefined && value !== false) {
        node.setAttribute(name, value === true ? "" : String(value));
      }
    }
    node.append(...children.flat().filter((child) => child !== null && child !== undefined && child !== ""));
    return node;
  }

  const element = (tag, attributes = {}, ...children) =>
    fill(document.createElement(tag), attributes, children);
  const drawn = (tag, attributes = {}, ...children) =>
    fill(document.createElementNS(SVG, tag), attributes, children);

  // Isolates the text direction of a name from the text beside it.
  const name = (text, attributes = {}) => element("bdi", attributes, text);

  const icon = (kind) =>
    drawn(
      "svg",
      { class: `icon icon-${kind}`, "aria-hidden": "true" },
      drawn("use", { href: `#icon-${kind}` }),
    );

  const byId = (id) => document.getElementById(id);

  const counted = (number, one, many = `${one}s`) =>
    `${number.toLocaleString("en")} ${number === 1 ? one : many}`;

  function say(text) {
    byId("said").textContent = text;
  }

  return { element, drawn, name, icon, byId, counted, say };
})();
