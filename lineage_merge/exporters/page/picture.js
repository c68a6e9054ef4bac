"use strict";
// What is seen as shapes: rectangles, paths and texts, for SVG and PNG without the page's styles.
lineage.picture = (() => {
  const XML = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" };
  // Characters that XML 1.0 does not allow.
  // eslint-disable-next-line no-control-regex
  const INVALID = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]|[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/g;
  const escaped = (text) => String(text).replace(INVALID, "\ufffd").replace(/[&<>"]/g, (found) => XML[found]);
  const isClear = (colour) => /^(transparent|rgba\(.*, 0\))$/.test(colour);

  // Positions relative to the root, without its zoom.
  function frameOf(root, scale) {
    const origin = root.getBoundingClientRect();
    return (box) => ({
      x: (box.left - origin.left) / scale + root.scrollLeft,
      y: (box.top - origin.top) / scale + root.scrollTop,
      width: box.width / scale,
      height: box.height / scale,
    });
  }

  function rectangle(style, box) {
    const border = parseFloat(style.borderTopWidth) || parseFloat(style.borderLeftWidth);
    const hasFill = !isClear(style.backgroundColor);
    // A rule between two parts.
    if (!hasFill && parseFloat(style.borderTopWidth) && !parseFloat(style.borderLeftWidth)) {
      const d = `M0 0H${box.width}`;
      return { shape: "path", d, ...box, zoom: 1, fill: "none", stroke: style.borderTopColor, width_: border, dash: "", opacity: "1" };
    }
    // The shape of a dot says its state, without its colour too.
    if (hasFill && style.transform.startsWith("matrix")) {
      const d = `M${box.width / 2} 0L${box.width} ${box.height / 2}L${box.width / 2} ${box.height}L0 ${box.height / 2}Z`;
      return { shape: "path", d, ...box, zoom: 1, fill: style.backgroundColor, stroke: "none", width_: 0, dash: "", opacity: "1" };
    }
    const hasBorder = border > 0 && style.borderTopStyle !== "none" && !isClear(style.borderTopColor);
    if ((!hasFill && !hasBorder) || box.width < 1 || box.height < 1) return null;
    return {
      shape: "rect",
      ...box,
      radius: Math.min(parseFloat(style.borderTopLeftRadius) || 0, box.width / 2, box.height / 2),
      fill: hasFill ? style.backgroundColor : "none",
      stroke: hasBorder ? style.borderTopColor : "none",
      width_: hasBorder ? border : 0,
      dash: style.borderTopStyle === "dashed" ? "4 3" : "",
    };
  }

  function text(node, at) {
    const range = document.createRange();
    range.selectNodeContents(node);
    const parent = node.parentElement;
    const style = getComputedStyle(parent);
    const content = node.textContent.replace(/\s+/g, " ");
    if (!content.trim()) return null;
    const whole = at(range.getBoundingClientRect());
    let limit = Infinity;
    for (let each = parent; each && each.id !== "world"; each = each.parentElement) {
      const { overflow, textOverflow } = getComputedStyle(each);
      if (textOverflow === "ellipsis" && overflow !== "visible") {
        const box = at(each.getBoundingClientRect());
        limit = box.x + box.width - parseFloat(getComputedStyle(each).paddingRight);
        break;
      }
    }
    let shown = content;
    if (whole.x + whole.width > limit + 1) {
      const letters = [...content];
      shown = `${letters.slice(0, Math.max(1, Math.floor((letters.length * (limit - whole.x)) / whole.width) - 2)).join("")}…`;
    }
    const size = parseFloat(style.fontSize);
    return {
      shape: "text",
      x: whole.x,
      y: whole.y + whole.height / 2 + size * 0.35,
      text: shown,
      size,
      weight: style.fontWeight,
      family: style.fontFamily,
      fill: style.color,
    };
  }

  function path(node, at, scale, style) {
    const svg = node.ownerSVGElement;
    const box = at(svg.getBoundingClientRect());
    const view = svg.viewBox.baseVal;
    const zoom = view && view.width ? box.width / view.width : 1;
    if (isClear(style.stroke) || node.classList.contains("hit")) return null;
    return {
      shape: "path",
      d: node.getAttribute("d"),
      x: box.x,
      y: box.y,
      zoom,
      fill: style.fill,
      stroke: style.stroke,
      width_: parseFloat(style.strokeWidth) || 1,
      dash: style.strokeDasharray === "none" ? "" : style.strokeDasharray.replace(/px|,/g, " "),
      opacity: style.opacity,
    };
  }

  /**
   * Return the shapes of an element and everything in it.
   * @param {Element} root
   * @param {number} scale of the zoom that it is shown with
   */
  function shapesOf(root, scale) {
    const at = frameOf(root, scale);
    const shapes = [];
    const visit = (node) => {
      if (node.nodeType === Node.TEXT_NODE) {
        shapes.push(text(node, at));
        return;
      }
      if (node.nodeType !== Node.ELEMENT_NODE || node.tagName === "title") return;
      const style = getComputedStyle(node);
      if (style.display === "none" || style.visibility === "hidden" || node.classList.contains("unseen")) return;
      if (node.tagName === "path") shapes.push(path(node, at, scale, style));
      else if (!(node instanceof SVGElement) && node !== root) {
        shapes.push(rectangle(style, at(node.getBoundingClientRect())));
      }
      for (const child of node.childNodes) visit(child);
    };
    visit(root);
    return shapes.filter((shape) => shape);
  }

  const number = (value) => Math.round(value * 100) / 100;

  function element(shape) {
    const dash = shape.dash ? ` stroke-dasharray="${escaped(shape.dash)}"` : "";
    if (shape.shape === "rect") {
      return `<rect x="${number(shape.x)}" y="${number(shape.y)}" width="${number(shape.width)}" height="${number(shape.height)}" rx="${number(shape.radius)}" fill="${escaped(shape.fill)}" stroke="${escaped(shape.stroke)}" stroke-width="${shape.width_}"${dash}/>`;
    }
    if (shape.shape === "path") {
      return `<path d="${escaped(shape.d)}" transform="translate(${number(shape.x)} ${number(shape.y)}) scale(${number(shape.zoom)})" fill="${escaped(shape.fill)}" stroke="${escaped(shape.stroke)}" stroke-width="${shape.width_}" opacity="${escaped(shape.opacity)}"${dash}/>`;
    }
    return `<text x="${number(shape.x)}" y="${number(shape.y)}" font-size="${shape.size}" font-weight="${escaped(shape.weight)}" font-family="${escaped(shape.family)}" fill="${escaped(shape.fill)}" xml:space="preserve">${escaped(shape.text)}</text>`;
  }

  /** Return the shapes as an SVG document. */
  function svg(shapes, width, height, ground) {
    return [
      `<svg xmlns="http://www.w3.org/2000/svg" width="${Math.ceil(width)}" height="${Math.ceil(height)}" viewBox="-16 -16 ${Math.ceil(width)} ${Math.ceil(height)}">`,
      `<rect x="-16" y="-16" width="100%" height="100%" fill="${escaped(ground)}"/>`,
      ...shapes.map(element),
      "</svg>",
    ].join("\n");
  }

  /** Return the shapes on a canvas. */
  function canvas(shapes, width, height, ground, resolution) {
    const made = document.createElement("canvas");
    made.width = Math.ceil(width * resolution);
    made.height = Math.ceil(height * resolution);
    const pen = made.getContext("2d");
    pen.scale(resolution, resolution);
    pen.fillStyle = ground;
    pen.fillRect(0, 0, width, height);
    pen.translate(16, 16);
    for (const shape of shapes) {
      pen.save();
      pen.setLineDash(shape.dash ? shape.dash.split(/\s+/).filter((part) => part).map(Number) : []);
      pen.lineWidth = shape.width_ ?? 1;
      if (shape.shape === "text") {
        pen.font = `${shape.weight} ${shape.size}px ${shape.family}`;
        pen.fillStyle = shape.fill;
        pen.fillText(shape.text, shape.x, shape.y);
      } else {
        const outline = new Path2D(shape.shape === "path" ? shape.d : undefined);
        if (shape.shape === "rect") outline.roundRect(shape.x, shape.y, shape.width, shape.height, shape.radius);
        else {
          pen.globalAlpha = Number(shape.opacity) || 1;
          pen.translate(shape.x, shape.y);
          pen.scale(shape.zoom, shape.zoom);
        }
        if (shape.fill !== "none") {
          pen.fillStyle = shape.fill;
          pen.fill(outline);
        }
        if (shape.stroke !== "none") {
          pen.strokeStyle = shape.stroke;
          pen.stroke(outline);
        }
      }
      pen.restore();
    }
    return made;
  }

  return { shapesOf, svg, canvas };
})();
