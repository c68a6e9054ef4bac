// Contrast of visible texts, and names of controls; test_page_accessibility.py calls these in the browser.
({
contrast: () => {
  const channels = (colour) => {
    const canvas = Object.assign(document.createElement("canvas"), { width: 1, height: 1 });
    const pen = canvas.getContext("2d");
    pen.fillStyle = colour;
    pen.fillRect(0, 0, 1, 1);
    const data = pen.getImageData(0, 0, 1, 1).data;
    return [data[0], data[1], data[2], data[3] / 255];
  };
  const known = new Map();
  const parsed = (colour) => {
    if (!known.has(colour)) known.set(colour, channels(colour));
    return known.get(colour);
  };
  const luminance = ([r, g, b]) => {
    const linear = (value) => {
      const part = value / 255;
      return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
    };
    return 0.2126 * linear(r) + 0.7152 * linear(g) + 0.0722 * linear(b);
  };
  // The first opaque ground; a card lies on a frame and on the canvas.
  const groundOf = (element) => {
    for (let at = element; at; at = at.parentElement) {
      const colour = parsed(getComputedStyle(at).backgroundColor);
      if (colour[3] === 1) return colour;
      if (at.matches(".frame-label")) return parsed(getComputedStyle(document.querySelector(".frame")).backgroundColor);
    }
    return parsed(getComputedStyle(document.body).backgroundColor);
  };
  const problems = new Set();
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  let texts = 0;
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    const parent = node.parentElement;
    if (!node.textContent.trim() || !parent.checkVisibility() || parent.closest("script, style, title")) continue;
    texts += 1;
    const [text, ground] = [parsed(getComputedStyle(parent).color), groundOf(parent)].map(luminance);
    const ratio = (Math.max(text, ground) + 0.05) / (Math.min(text, ground) + 0.05);
    if (ratio < 4.5) problems.add(`${ratio.toFixed(1)}: ${node.textContent.trim()} (${parent.className})`);
  }
  if (texts < 20) problems.add(`only ${texts} texts`);
  return [...problems];
},

controls: () => {
  const problems = [];
  const nameOf = (each) =>
    each.getAttribute("aria-label") || each.labels?.[0]?.textContent || each.textContent || each.title;
  for (const each of document.querySelectorAll("button, select, input, [role=button], [role=group], dialog, summary")) {
    if (!each.checkVisibility()) continue;
    if (!String(nameOf(each)).trim()) problems.push(`no name: ${each.outerHTML.slice(0, 90)}`);
    const outer = each.parentElement?.closest("button, [role=button]");
    if (outer) problems.push(`nested in a button: ${each.outerHTML.slice(0, 90)}`);
  }
  const ids = [...document.querySelectorAll("[id]")].map((each) => each.id);
  for (const id of new Set(ids)) if (ids.filter((each) => each === id).length > 1) problems.push(`twice: ${id}`);
  for (const each of document.querySelectorAll("[aria-controls], [aria-activedescendant], [aria-labelledby]")) {
    for (const key of ["aria-controls", "aria-activedescendant", "aria-labelledby"]) {
      const id = each.getAttribute(key);
      if (id && !document.getElementById(id)) problems.push(`${key} without a target: ${id}`);
    }
  }
  for (const svg of document.querySelectorAll("svg")) {
    if (!svg.closest("[aria-hidden=true]")) problems.push(`an SVG is not hidden: ${svg.outerHTML.slice(0, 90)}`);
  }
  return problems;
},

targets: () =>
  [...document.querySelectorAll("button, select, input:not([type=checkbox]), summary")]
    .filter((each) => each.checkVisibility() && !each.closest("dialog"))
    .filter((each) => each.getBoundingClientRect().height < 43.5)
    .map((each) => each.outerHTML.slice(0, 90)),
})
