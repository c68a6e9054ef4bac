"use strict";
// Widths of texts in the page's font, letter by letter, so that each letter is measured once.
lineage.measure = (() => {
  const FAMILY = 'system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", "DejaVu Sans", sans-serif';
  // Without a canvas (a test of the pure modules), letters have one width.
  const pen = typeof document === "undefined" ? null : document.createElement("canvas").getContext("2d");
  const fonts = new Map();

  function letters(size, isBold) {
    const font = `${isBold ? 650 : 400} ${size}px ${FAMILY}`;
    if (!fonts.has(font)) fonts.set(font, new Map());
    return [font, fonts.get(font)];
  }

  /** Return the width in pixels of a text in the page's font of this size. */
  function textWidth(text, size, isBold = false) {
    const [font, known] = letters(size, isBold);
    let width = 0;
    for (const letter of text) {
      let one = known.get(letter);
      if (one === undefined) {
        if (pen && pen.font !== font) pen.font = font;
        one = pen ? pen.measureText(letter).width : size * 0.6;
        known.set(letter, one);
      }
      width += one;
    }
    return Math.ceil(width);
  }

  return { textWidth };
})();
