"use strict";
// The overview: a band per DAG and environment, and the index at the left.
lineage.overview = (() => {
  const { element, drawn, button, name, icon, environment, state, byId, counted } = lineage.dom;
  const { path, arrow } = lineage.routing;
  const { ageOf } = lineage.processes;
  const { wordsOf, has } = lineage.assertions;
  const { KINDS } = lineage.theme;
  // Draw so many windows at once; the rest when it comes into view.
  const AHEAD = 1.1;
  const INDEX = { ends: 9, sources: 8, looks: 8, bands: 40 };
  const NARROWEST = 380;
  const SIDES = 34;
  // The header of a band and the margins above and below; the smallest height of a window.
  const HEAD = 80;
  const LOWEST = 320;

  function member(model, index) {
    const dataset = model.datasets[index];
    return button(
      {
        class: `member${dataset.worst === "failed" ? " is-failed" : ""}`,
        "data-to-dataset": index,
        title: `${dataset.title} · ${dataset.environment} · ${[wordsOf(dataset, model.now), lineage.layers.wordsOf(dataset)].filter((part) => part).join(" · ")}`,
      },
      icon(dataset.kind),
      name(dataset.name),
      lineage.layers.badges(dataset),
      dataset.worst === "failed" ? state("failed", wordsOf(dataset, model.now)) : null,
    );
  }

  function boxElement(model, band, box) {
    const list = element("div", { class: "members" }, box.names.map((index) => member(model, index)));
    list.style.gridTemplateRows = `repeat(${box.rows}, 21px)`;
    if (box.rest) list.append(element("span", { class: "rest" }, `+${lineage.dom.digits(box.rest)}`));
    const made = element(
      "div",
      { role: "group", class: `box${box.isOutside ? " is-outside" : ""}`, "data-box": box.key, "data-members": lineage.compare && box.members, "aria-label": `${box.full}, ${counted(box.members.length, "dataset")}` },
      button(
        {
          class: "top",
          title: box.isOutside ? `${box.full}: another pipeline` : box.full,
          "data-band": box.isOutside && box.bands.length === 1 ? model.bands[box.bands[0]].key : box.isOutside ? null : band.key,
          "data-opens": box.opens ?? null,
        },
        name(box.title),
        box.inner ? element("span", { class: "inner", title: `${counted(box.inner, "feed")} within this group` }, `↳${box.inner}`) : null,
        element("span", { class: "number" }, lineage.dom.digits(box.members.length)),
      ),
      list,
    );
    made.style.left = `${box.x}px`;
    made.style.top = `${box.y}px`;
    made.style.width = `${box.width}px`;
    made.style.height = `${box.height}px`;
    return made;
  }

  function lines(laid) {
    return drawn(
      "svg",
      { class: "edges", "aria-hidden": "true" },
      laid.routes.map(({ edge, points }) =>
        drawn(
          "g",
          { class: "line", "data-source": edge.source, "data-target": edge.target, "data-edge": edge.key, "data-feeds": lineage.compare && edge.feeds.map((feed) => feed.index) },
          drawn("path", { class: "drawn", d: path(points) }),
          drawn("path", { class: "tip", d: arrow(points) }),
        ),
      ),
    );
  }

  function plane(model, band, laid) {
    const made = element("div", { class: "plane" }, lines(laid));
    made.style.width = `${laid.width}px`;
    made.style.height = `${laid.height}px`;
    for (const box of laid.nodes) made.append(boxElement(model, band, box));
    for (const each of laid.dividers) {
      const divider = element("div", { class: "divider", title: "No recorded link between these parts" });
      divider.style.left = `${each.x}px`;
      divider.style.top = `${each.y}px`;
      divider.style.height = `${each.height}px`;
      made.append(divider);
    }
    return made;
  }

  function header(model, band, members, laid) {
    const inside = new Set(members);
    const writers = [...new Set(members.flatMap((index) => [...model.datasets[index].writers]))];
    const jobs = [...new Set(writers.filter((each) => each.type !== "dbt").map((each) => each.name))].sort();
    const latest = writers.reduce((time, each) => Math.max(time, each.finished ?? 0), 0);
    const states = new Set(writers.map((each) => lineage.processes.stateOf(each)));
    const worst = ["failed", "ok"].find((each) => states.has(each)) ?? "none";
    const untrusted = members.filter((index) => has(model.datasets[index], "tests-failed")).length;
    const parts = laid.parts.length;
    return element(
      "header",
      {},
      environment(band.environment),
      element("h2", {}, name(band.dag || "no DAG")),
      element("span", { class: "fact" }, `${counted(inside.size, "dataset")}${parts > 1 ? ` · ${parts} parts` : ""}`),
      jobs.length
        ? element("span", { class: "fact long", title: jobs.join(", ") }, icon("spark"), name(jobs.length > 3 ? counted(jobs.length, "job") : jobs.join(", ")))
        : null,
      latest ? element("span", { class: "fact" }, state(worst), `last run ${ageOf(latest, model.now)} ago`) : null,
      untrusted ? element("span", { class: "fact" }, state("failed"), `${lineage.dom.digits(untrusted)} with failed tests`) : null,
      button({ class: "small open", "data-band": band.key, "aria-label": `Open ${band.dag}, ${band.environment}` }, "Open"),
    );
  }

  function bandElement(model, shown, room, isMany, passes) {
    const { band, members } = shown;
    const scene = lineage.overviewScene.make(model, members, passes);
    const laid = lineage.overviewScene.place(model, scene, room, isMany);
    shown.laid = laid;
    const made = element(
      "section",
      { class: "band", "data-key": band.key, "aria-label": `${band.dag || "no DAG"}, ${band.environment}` },
      header(model, band, members, laid),
      element("div", { class: "scroll" }, plane(model, band, laid)),
    );
    return { made, width: Math.max(laid.width + SIDES, NARROWEST) };
  }

  /**
   * Draw the overview; bands beyond the first ones are drawn when they come into view.
   * @param {{band: object, members: number[]}[]} shown
   */
  function draw(model, shown, passes) {
    const place = byId("overview");
    const total = shown.reduce((sum, each) => sum + each.members.length, 0);
    const isMany = total > lineage.overviewScene.MANY;
    const room = Math.max(320, place.clientWidth - 32);
    place.replaceChildren();
    let shelf = null;
    const put = (each) => {
      const { made, width } = bandElement(model, each, { width: room - SIDES, height: Math.max(LOWEST, place.clientHeight - HEAD) }, isMany, passes);
      if (shelf && shelf.used + 12 + width <= room) {
        shelf.used += 12 + width;
      } else {
        shelf = { row: element("div", { class: "shelf" }), used: width };
        place.append(shelf.row);
      }
      made.style.flexBasis = `${width}px`;
      shelf.row.append(made);
    };
    let at = 0;
    const draws = (hasRoom) => {
      for (; at < shown.length && hasRoom(); at += 1) put(shown[at]);
    };
    const until = (height) => () => place.scrollHeight < height;
    draws(until(place.clientHeight * AHEAD));
    const end = element("div", { class: "foot" });
    const finish = () => {
      end.replaceChildren(
        ...KINDS.filter((kind) => model.datasets.some((each) => each.kind === kind)).map((kind) =>
          element("span", {}, icon(kind), kind === "exposure" ? "dashboard" : lineage.places.kindWord(kind)),
        ),
        element("span", { class: "far-end" }, [counted(total, "dataset"), model.made_at ? `as of ${model.made_at}` : ""].filter((part) => part).join(" · ")),
      );
      place.append(end);
    };
    finish();
    if (at < shown.length) {
      const observer = new IntersectionObserver((entries) => {
        if (!entries.some((entry) => entry.isIntersecting)) return;
        draws(until(place.scrollHeight + place.clientHeight * AHEAD));
        finish();
        observer.disconnect();
        // Only a change is reported, and a fast scroll may reach the new end before it is noticed that the end
        // left the window: a new observation begins with a report.
        if (at < shown.length) observer.observe(end);
      });
      observer.observe(end);
    }
    return { drawAll: () => (draws(() => true), finish()) };
  }

  const two = (text, under, more = "") =>
    element("span", { class: `two${more}` }, name(text), element("span", { dir: "auto" }, under));

  function section(title, found, most, row) {
    if (!found.length) return [];
    const more = found.length - most;
    return [
      element("h2", {}, title),
      ...found.slice(0, most).map(row),
      more > 0 ? button({ class: "row quiet", "data-view": "list" }, `${lineage.dom.digits(more)} more in the list`) : null,
    ];
  }

  /** Draw the index: pipelines, end points, sources, and what is worth a look. */
  function index(model, shown) {
    // Of a large graph the pipelines are painted first.
    if (model.datasets.length > lineage.overviewScene.MANY) {
      requestAnimationFrame(() => setTimeout(() => drawIndex(model, shown)));
    } else drawIndex(model, shown);
  }

  function drawIndex(model, shown) {
    const datasets = shown.flatMap(({ members }) => members.map((each) => model.datasets[each]));
    const envOf = (dataset) => environment(dataset.environment);
    const toMembers = (members) =>
      members.length === 1
        ? { "data-to-dataset": members[0].index }
        : { "data-band": model.bands[model.bandOf[members[0].index]].key, "data-place": members[0].place.key };
    const linkOf = ({ name: text, members }) => ({
      ...toMembers(members),
      title: members.length === 1 ? members[0].title : text,
    });
    // One row for what several environments have; its badges lead to each.
    const twinRow = (first) =>
      element(
        "div",
        { class: "row has-twins" },
        button({ class: "to-first", ...linkOf(first) }, icon(first.kind), name(first.name, { class: "what" })),
        first.members.length > 1 ? element("span", { class: "number" }, first.members.length) : null,
        [first, ...first.twins].map((each) =>
          button(
            { class: "to-twin", ...linkOf(each), "aria-label": `${each.name} in ${each.members[0].environment}` },
            envOf(each.members[0]),
          ),
        ),
      );
    const entry = ({ name: text, members, kind, twins }) =>
      twins.length ? twinRow({ name: text, members, kind, twins }) : button(
        { class: "row", ...toMembers(members) },
        icon(kind),
        name(text, { class: "what", title: members.length === 1 ? members[0].title : text }),
        members.length > 1 ? element("span", { class: "number" }, members.length) : null,
        envOf(members[0]),
      );
    const pipeline = ({ band, members, parts }) =>
      button(
        { class: "row", "data-to-band": band.key },
        two(band.dag || "no DAG", counted(members.length, "dataset") + (parts > 1 ? ` · ${parts} parts` : "")),
        environment(band.environment),
      );
    const { endPoints, sources, withTwins, worthALook } = lineage.attention;
    const look = (each) =>
      button(
        { class: "row", ...(each.owner ? { "data-owner": each.owner } : toMembers(each.members)), title: [each.what, each.more, each.fix].filter((part) => part).join(": ") },
        icon("warn", `warn${each.severity === "failed" ? " is-failed" : ""}`),
        two(each.what, [each.more, each.members[0].environment].filter((part) => part).join(" · "), " wraps"),
      );
    byId("sidebar").replaceChildren(
      ...[
        ...section("Pipelines", shown, INDEX.bands, pipeline),
        ...section("Worth a look", worthALook(model, datasets.filter((each) => each.mark?.action !== "removed")), INDEX.looks, look),
        ...section("End points", withTwins(endPoints(model, datasets)), INDEX.ends, entry),
        ...section("Sources", withTwins(sources(model, datasets)), INDEX.sources, entry),
      ].filter((each) => each),
    );
  }

  return { draw, index };
})();
