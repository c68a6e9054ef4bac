"use strict";
// Pan and zoom: drag, wheel, pinch, and moves to a box.
lineage.viewport = (() => {
  const NEAREST = 2.5;
  const FARTHEST = 0.08;
  const READABLE = 0.45;
  const CLICK = 4;

  function over(stage, world, changed) {
    const view = { x: 0, y: 0, scale: 1 };
    const pointers = new Map();
    let dragged = false;
    let pinch = 0;

    function apply() {
      world.style.transform = `translate(${view.x}px, ${view.y}px) scale(${view.scale})`;
      stage.classList.toggle("far", view.scale < READABLE);
      changed();
    }

    function set(next) {
      Object.assign(view, next);
      apply();
    }

    function zoom(factor, at = { x: stage.clientWidth / 2, y: stage.clientHeight / 2 }) {
      const scale = Math.min(NEAREST, Math.max(FARTHEST, view.scale * factor));
      const ratio = scale / view.scale;
      set({ scale, x: at.x - (at.x - view.x) * ratio, y: at.y - (at.y - view.y) * ratio });
    }

    function fit(size) {
      if (!size.width || !stage.clientWidth) return;
      const scale = Math.min(1, stage.clientWidth / size.width, stage.clientHeight / size.height);
      const limited = Math.max(scale, FARTHEST);
      set({
        scale: limited,
        x: (stage.clientWidth - size.width * limited) / 2,
        y: (stage.clientHeight - size.height * limited) / 2,
      });
    }

    // Fit a part of the graph.
    function frame(boxes) {
      const left = Math.min(...boxes.map((box) => box.x)) - 20;
      const top = Math.min(...boxes.map((box) => box.y)) - 20;
      const width = Math.max(...boxes.map((box) => box.x + box.width)) + 20 - left;
      const height = Math.max(...boxes.map((box) => box.y + box.height)) + 20 - top;
      const scale = Math.max(FARTHEST, Math.min(1, stage.clientWidth / width, stage.clientHeight / height));
      set({
        scale,
        x: stage.clientWidth / 2 - (left + width / 2) * scale,
        y: stage.clientHeight / 2 - (top + height / 2) * scale,
      });
    }

    function centre(box, scale = Math.max(view.scale, READABLE + 0.25)) {
      set({
        scale,
        x: stage.clientWidth / 2 - (box.x + box.width / 2) * scale,
        y: stage.clientHeight / 2 - (box.y + Math.min(box.height, 200) / 2) * scale,
      });
    }

    // The smallest move that makes the box visible.
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
      if (x !== view.x || y !== view.y) set({ x, y });
    }

    const local = (event) => {
      const frame = stage.getBoundingClientRect();
      return { x: event.clientX - frame.left, y: event.clientY - frame.top };
    };

    stage.addEventListener(
      "wheel",
      (event) => {
        event.preventDefault();
        const lines = event.deltaMode === 1 ? 16 : 1;
        zoom(Math.exp((-event.deltaY * lines) / 500), local(event));
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

    return { view, set, zoom, fit, frame, centre, reveal, wasDragged: () => dragged };
  }

  return { over };
})();
