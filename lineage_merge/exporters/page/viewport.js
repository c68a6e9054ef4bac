"use strict";
// Pan and zoom: drag, wheel, pinch, and moves to a part of the graph; a small map where not all is in view.
lineage.viewport = (() => {
  const { drawn, byId } = lineage.dom;
  const NEAREST = 2.5;
  const FARTHEST = 0.08;
  // At the first view the smallest type (12 px) is at least 11 px on the screen.
  const READABLE = 0.92;
  const LARGEST = 1.12;
  const CLICK = 4;
  // The gutters of the page, and room for the key and the buttons.
  const MARGIN = { x: 16, top: 10, bottom: 52 };
  const MAP = { width: 150, height: 64 };

  function over(stage, world, changed) {
    const view = { x: 0, y: 0, scale: 1 };
    const pointers = new Map();
    let dragged = false;
    let pinch = 0;
    let size = { width: 0, height: 0 };
    let map = null;

    function apply() {
      world.style.transform = `translate(${view.x}px, ${view.y}px) scale(${view.scale})`;
      showWindow();
      changed();
    }

    function set(next, isMoving = false) {
      world.classList.toggle("moving", isMoving);
      Object.assign(view, next);
      apply();
    }

    function zoom(factor, at = { x: stage.clientWidth / 2, y: stage.clientHeight / 2 }) {
      const scale = Math.min(NEAREST, Math.max(FARTHEST, view.scale * factor));
      const ratio = scale / view.scale;
      set({ scale, x: at.x - (at.x - view.x) * ratio, y: at.y - (at.y - view.y) * ratio });
    }

    const room = () => ({
      width: Math.max(50, stage.clientWidth - 2 * MARGIN.x),
      height: Math.max(50, stage.clientHeight - MARGIN.top - MARGIN.bottom),
    });

    // `anchor`: point of the box that is in view if the box is too large.
    function frameBox(box, least, most, isMoving, anchor = { x: 0, y: 0 }) {
      const { width, height } = room();
      const scale = Math.max(least, Math.min(most, width / box.width, height / box.height));
      const place = (start, extent, available, margin, inView = 0) => {
        const rest = available - extent * scale;
        const isAcross = margin === MARGIN.x;
        const offset = rest >= 0 ? (isAcross ? 0 : rest / 2) : Math.min(0, Math.max(rest, available / 2 - inView * scale));
        return margin + offset - start * scale;
      };
      set(
        {
          scale,
          x: Math.round(place(box.x, box.width, width, MARGIN.x, anchor.x)),
          y: Math.round(place(box.y, box.height, height, MARGIN.top, anchor.y)),
        },
        isMoving,
      );
    }

    const whole = () => ({ x: 0, y: 0, width: size.width || 1, height: size.height || 1 });
    /** The first view: readable; if not all fits, from the top left. */
    const open = () => frameBox(whole(), READABLE, LARGEST, false);
    /** Everything in the window. */
    const fit = () => frameBox(whole(), FARTHEST, LARGEST, true);

    function around(boxes) {
      const x = Math.min(...boxes.map((box) => box.x));
      const y = Math.min(...boxes.map((box) => box.y));
      const width = Math.max(...boxes.map((box) => box.x + box.width)) - x;
      const height = Math.max(...boxes.map((box) => box.y + box.height)) - y;
      return { x, y, width, height };
    }

    /**
     * Fit these boxes into the window, as far as they can be read.
     * @param {object[]} boxes
     * @param {object[][]} parts of the boxes, growing: the largest one that fits is in view in any case
     * @param {boolean} isFirst whether the view opens
     */
    function frame(boxes, parts, isFirst = false) {
      if (!boxes.length) return;
      const { width, height } = room();
      const fits = (part) => part.width * READABLE <= width && part.height * READABLE <= height;
      const all = around(boxes);
      const known = parts.filter((part) => part.length).map(around);
      const shown = known.findLast(fits) ?? known[0] ?? all;
      const anchor = { x: shown.x + shown.width / 2 - all.x, y: shown.y + Math.min(shown.height, height) / 2 - all.y };
      frameBox(all, READABLE, isFirst ? LARGEST : 1, !isFirst, anchor);
    }

    /** The smallest move that makes the box visible. */
    function reveal(box) {
      const margin = 30;
      const left = box.x * view.scale + view.x;
      const top = box.y * view.scale + view.y;
      const right = left + box.width * view.scale;
      const bottom = top + box.height * view.scale;
      let { x, y } = view;
      if (right > stage.clientWidth - margin) x -= right - stage.clientWidth + margin;
      if (left < margin) x += margin - left;
      if (bottom > stage.clientHeight - margin) y -= bottom - stage.clientHeight + margin;
      if (top < margin) y += margin - top;
      if (x !== view.x || y !== view.y) set({ x, y }, true);
    }

    /** Set the size of the drawn scene and its boxes for the small map. */
    function sized(laid) {
      size = { width: laid.width, height: laid.height };
      const scale = Math.min(MAP.width / (size.width || 1), MAP.height / (size.height || 1));
      const box = (node) =>
        drawn("rect", {
          class: "b",
          x: node.x * scale,
          y: node.y * scale,
          width: Math.max(1, node.width * scale),
          height: Math.max(1, node.height * scale),
        });
      const window_ = drawn("rect", { class: "v", rx: 2 });
      const [width, height] = [Math.max(8, size.width * scale), Math.max(8, size.height * scale)];
      byId("minimap").replaceChildren(drawn("svg", { width, height }, laid.nodes.map(box), window_));
      map = { scale, window: window_, width, height };
    }

    function showWindow() {
      if (!map || !view.scale) return;
      const left = -view.x / view.scale;
      const top = -view.y / view.scale;
      const [width, height] = [stage.clientWidth / view.scale, stage.clientHeight / view.scale];
      const isWhole = left <= 1 && top <= 1 && left + width >= size.width - 1 && top + height >= size.height - 1;
      byId("minimap").hidden = isWhole;
      if (isWhole) return;
      const clamp = (value, most) => Math.max(0, Math.min(most, value));
      const [x, y] = [clamp(left * map.scale, map.width), clamp(top * map.scale, map.height)];
      map.window.setAttribute("x", x);
      map.window.setAttribute("y", y);
      map.window.setAttribute("width", Math.max(2, clamp((left + width) * map.scale, map.width) - x));
      map.window.setAttribute("height", Math.max(2, clamp((top + height) * map.scale, map.height) - y));
    }

    byId("minimap").addEventListener("pointerdown", (event) => {
      event.stopPropagation();
      const frame = byId("minimap").firstElementChild.getBoundingClientRect();
      const x = (event.clientX - frame.left) / map.scale;
      const y = (event.clientY - frame.top) / map.scale;
      set({ x: stage.clientWidth / 2 - x * view.scale, y: stage.clientHeight / 2 - y * view.scale }, true);
    });

    const local = (event) => {
      const frame = stage.getBoundingClientRect();
      return { x: event.clientX - frame.left, y: event.clientY - frame.top };
    };

    stage.addEventListener(
      "wheel",
      (event) => {
        event.preventDefault();
        const unit = event.deltaMode === 1 ? 16 : 1;
        // A wheel zooms; a trackpad's two-finger move pans sideways.
        if (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY)) {
          set({ x: view.x - (event.deltaX || event.deltaY) * unit });
        } else zoom(Math.exp((-event.deltaY * unit) / 500), local(event));
      },
      { passive: false },
    );
    stage.addEventListener("pointerdown", (event) => {
      if (event.button !== 0) return;
      if (!pointers.size) dragged = false;
      pointers.set(event.pointerId, { ...local(event), travelled: 0 });
      pinch = 0;
    });
    stage.addEventListener("pointermove", (event) => {
      const before = pointers.get(event.pointerId);
      if (!before) return;
      const now = local(event);
      const travelled = before.travelled + Math.hypot(now.x - before.x, now.y - before.y);
      pointers.set(event.pointerId, { ...now, travelled });
      if (travelled > CLICK && !dragged) {
        dragged = true;
        stage.classList.add("dragging");
        stage.setPointerCapture(event.pointerId);
      }
      if (pointers.size === 2) {
        const [one, other] = [...pointers.values()];
        const apart = Math.hypot(one.x - other.x, one.y - other.y);
        if (pinch) zoom(apart / pinch, { x: (one.x + other.x) / 2, y: (one.y + other.y) / 2 });
        pinch = apart;
      } else if (dragged) {
        set({ x: view.x + now.x - before.x, y: view.y + now.y - before.y });
      }
    });
    const ended = (event) => {
      pointers.delete(event.pointerId);
      stage.classList.remove("dragging");
    };
    stage.addEventListener("pointerup", ended);
    stage.addEventListener("pointercancel", ended);
    // Undo the browser's scrolling to a focused element, which moves the frame instead of the graph.
    stage.addEventListener("scroll", () => stage.scrollTo(0, 0));
    window.addEventListener("resize", showWindow);

    return { view, set, zoom, open, fit, frame, reveal, sized, wasDragged: () => dragged };
  }

  return { over };
})();
