"use strict";
// Downloads of what is seen: SVG, PNG and CSV.
lineage.exporting = (() => {
  const { element, byId, say } = lineage.dom;
  const PAD = 32;
  // Browsers limit the size of a canvas.
  const MOST_PIXELS = 60_000_000;

  /** Return rows as CSV; a cell that a spreadsheet would run as a formula starts with an apostrophe. */
  function csv(rows) {
    const cell = (value) => {
      const text = String(value ?? "");
      const safe = /^[=+\-@\t\r]/.test(text) && !/^-?\d+(\.\d+)?$/.test(text) ? `'${text}` : text;
      return /[",\r\n]/.test(safe) ? `"${safe.replace(/"/g, '""')}"` : safe;
    };
    return `${rows.map((row) => row.map(cell).join(",")).join("\r\n")}\r\n`;
  }

  function save(name, content, type) {
    const blob = content instanceof Blob ? content : new Blob([content], { type });
    const address = URL.createObjectURL(blob);
    const link = element("a", { href: address, download: name });
    document.body.append(link);
    link.click();
    link.remove();
    setTimeout(() => URL.revokeObjectURL(address), 10_000);
    say(`${name} saved`);
  }

  function seen(view) {
    if (view === "overview" || view === "list") {
      const root = byId(view === "overview" ? "overview" : "listing");
      return { root, scale: 1, width: root.scrollWidth, height: root.scrollHeight };
    }
    const root = byId("world");
    const scale = root.getBoundingClientRect().width / root.offsetWidth || 1;
    return { root, scale, width: root.offsetWidth, height: root.offsetHeight };
  }

  /**
   * Save the view.
   * @param {"svg" | "png" | "csv"} kind
   * @param {string} view
   * @param {string} name of the file, without its extension
   * @param {() => string[][]} rows for CSV
   */
  function run(kind, view, name, rows) {
    const file = `${name.replace(/[^\p{L}\p{N}._-]+/gu, "_").slice(0, 80) || "lineage"}.${kind}`;
    if (kind === "csv") {
      save(file, csv(rows()), "text/csv");
      return;
    }
    const { root, scale, width, height } = seen(view);
    const shapes = lineage.picture.shapesOf(root, scale);
    const ground = getComputedStyle(document.body).backgroundColor;
    const [wide, tall] = [width + PAD, height + PAD];
    if (kind === "svg") {
      save(file, lineage.picture.svg(shapes, wide, tall, ground), "image/svg+xml");
      return;
    }
    const resolution = Math.min(2, Math.sqrt(MOST_PIXELS / (wide * tall)));
    lineage.picture.canvas(shapes, wide, tall, ground, resolution).toBlob((blob) => blob && save(file, blob, "image/png"));
  }

  return { run, csv };
})();
