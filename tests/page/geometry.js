// Measures what a page draws; geometry.py calls these functions in the browser.
({
measure: (rootSelector) => {
  const root = document.querySelector(rootSelector);
  const boxes = [...root.querySelectorAll(".card, .box")].map((each) => {
    const box = each.getBoundingClientRect();
    const key = each.dataset.key ?? each.dataset.box;
    return { key, left: box.left, top: box.top, right: box.right, bottom: box.bottom, plane: each.closest(".plane, #cards") };
  });
  const scale = root.id === "world" ? root.getBoundingClientRect().width / root.offsetWidth : 1;
  const planes = [...new Set(boxes.map((box) => box.plane))];
  const lines = [...root.querySelectorAll(".line")].map((line) => {
    const path = line.querySelector(".drawn");
    const matrix = path.getScreenCTM();
    // Straight parts, and rounded corners as the corners that they cut: all commands have absolute points.
    const numbers = path.getAttribute("d").match(/-?\d+(\.\d+)?/g).map(Number);
    const points = [];
    for (let at = 0; at < numbers.length; at += 2) {
      const point = new DOMPoint(numbers[at], numbers[at + 1]).matrixTransform(matrix);
      points.push([point.x, point.y]);
    }
    return { source: line.dataset.source, target: line.dataset.target, points, plane: line.closest(".plane") };
  });
  const problems = [];
  const sameAs = (line, box) => box.plane === (line.plane ?? box.plane);
  const meets = (a, b, slack = 0.5) =>
    a.left < b.right - slack && b.left < a.right - slack && a.top < b.bottom - slack && b.top < a.bottom - slack;
  for (const line of lines) {
    const near = boxes.filter((box) => sameAs(line, box));
    const [source, target] = [line.source, line.target].map((key) => near.find((box) => box.key === key));
    const [first, last] = [line.points[0], line.points.at(-1)];
    if (!source || Math.abs(first[0] - source.right) > 1.5 || first[1] < source.top || first[1] > source.bottom) {
      problems.push(`${line.source} > ${line.target} does not start at its source`);
    }
    if (!target || Math.abs(last[0] + 5 * scale - target.left) > 1.5 || last[1] < target.top || last[1] > target.bottom) {
      problems.push(`${line.source} > ${line.target} does not end at its target`);
    }
    for (const box of near) {
      const inside = ([x, y], at) => {
        const [a, b] = line.points[Math.max(0, at - 1)];
        return Math.max(a, x) > box.left + 1 && Math.min(a, x) < box.right - 1
          && Math.max(b, y) > box.top + 1 && Math.min(b, y) < box.bottom - 1;
      };
      if (line.points.some(inside)) problems.push(`${line.source} > ${line.target} enters ${box.key}`);
    }
  }
  const labels = [...root.querySelectorAll(".frame-label")].map((each) => {
    const box = each.getBoundingClientRect();
    return { key: `label ${each.textContent}`, left: box.left, top: box.top, right: box.right, bottom: box.bottom };
  });
  for (const plane of planes) {
    const own = [...boxes.filter((box) => box.plane === plane), ...labels];
    own.forEach((a, at) => own.slice(at + 1).forEach((b) => {
      if (meets(a, b)) problems.push(`${a.key} overlaps ${b.key}`);
    }));
  }
  return { problems, lines: lines.map((line) => [line.source, line.target]), boxes: boxes.map((box) => [box.key, box.left, box.top]) };
},

smallType: () => {
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  const world = document.getElementById("world");
  const scale = world.offsetWidth ? world.getBoundingClientRect().width / world.offsetWidth : 1;
  const small = [];
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    const parent = node.parentElement;
    if (!node.textContent.trim() || !parent.checkVisibility() || parent.closest("script, style, title, .unseen, #counts")) continue;
    const size = parseFloat(getComputedStyle(parent).fontSize) * (world.contains(parent) ? scale : 1);
    if (size < 11 - 0.05) small.push(`${size.toFixed(1)} px: ${node.textContent.trim()}`);
  }
  return small;
},

frames: () => {
  const app = lineage.app;
  const { nodes, frames } = app.scene;
  const problems = [];
  const label = new Map();
  for (const frame of frames) {
    for (const node of nodes) {
      const meets = node.x < frame.x + frame.width && frame.x < node.x + node.width && node.y < frame.y + frame.height && frame.y < node.y + node.height;
      if (meets && node.parent !== frame.parent) problems.push(`the frame of ${frame.parent} holds ${node.key}`);
    }
    if (frame.label) label.set(frame.parent, (label.get(frame.parent) ?? 0) + 1);
    else if (!label.has(frame.parent)) label.set(frame.parent, 0);
  }
  for (const [parent, times] of label) if (times !== 1) problems.push(`${parent} has ${times} labels`);
  frames.forEach((a, at) => frames.slice(at + 1).forEach((b) => {
    if (a.parent !== b.parent && a.x < b.x + b.width && b.x < a.x + a.width && a.y < b.y + b.height && b.y < a.y + a.height) {
      problems.push(`frames of ${a.parent} and ${b.parent} overlap`);
    }
  }));
  return problems;
},
})
