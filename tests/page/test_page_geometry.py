"""No line enters a card, no two cards or labels overlap, each edge of the data is drawn and nothing else."""

import json
import random
from pathlib import Path
from urllib.parse import quote

import pytest
from playwright.sync_api import Page

from lineage_merge.exporters.page import Options, render
from lineage_merge.exporters.page.data import page_data
from lineage_merge.graph_format.elements import Subgraph
from tests import drawing
from tests.page import geometry
from tests.page.conftest import CAPTURES
from tests.page.page_graphs import WAREHOUSE, PageGraph
from tests.page.page_reading import Opened, eventually, find

DATA = json.loads(CAPTURES.read_text(encoding="utf-8"))
VIEWS = {
    "overview": "#view=overview",
    "tickit": f"#view=pipeline&band={quote('dev|tickit_ol')}",
    "tickit_prod": f"#view=pipeline&band={quote('prod|tickit_daily')}",
    "tpch": f"#view=pipeline&band={quote('dev|tpch_nightly')}",
    "hive": f"#view=pipeline&band={quote('dev|tickit_daily')}",
    "both_merged": "#view=pipeline&environment=dev",
    "in_groups": "#view=pipeline",
}
STG_SALES = quote("dev|redshift://tickit-wh.us-east-1:5439|dev.tickit_staging.stg_sales")
IN_VIEW = """
() => {
  const stage = document.getElementById("stage").getBoundingClientRect();
  return [...document.querySelectorAll(".card")].filter((card) => {
    const box = card.getBoundingClientRect();
    const isAcross = box.left >= stage.left && box.right <= stage.right;
    return isAcross && box.top >= stage.top && box.bottom <= stage.bottom;
  }).flatMap((card) => [...card.querySelectorAll(".head .name, .column .name")])
    .map((each) => each.textContent);
}
"""


def pairs(environment: str) -> list[tuple[str, str]]:
    """Return the lines of an environment, from the data."""
    at = [number for number, each in enumerate(DATA["datasets"]) if each["environment"] == environment]
    known = set(at)
    return sorted({(f"d{feed[0]}", f"d{feed[1]}") for feed in DATA["feeds"] if {feed[0], feed[1]} <= known})


def generated(datasets: int, seed: int, *, cycles: bool = False) -> PageGraph:
    """Return a graph of layers with skipping edges, jobs that write several datasets, and hubs."""
    draw = random.Random(seed)  # positions, not secrets
    made = PageGraph()
    width = max(3, datasets // 6)
    ids: list[str] = []
    for number in range(datasets):
        layer = number // width
        name = f"dev.schema_{layer}_{number % 5}.table_{number:04d}"
        ids.append(made.dataset(WAREHOUSE, name, ("a", "b"), dag=f"dag_{number % 4}"))
        if layer == 0:
            continue
        for _ in range(draw.choice((1, 1, 2, 3))):
            source = ids[draw.randrange(max(0, number - 3 * width), layer * width)]
            made.feeds(source, ids[number], f"job_{number // 4:03d}", f"dag_{number % 4}")
        if cycles and number % 9 == 0:
            made.feeds(ids[number], ids[draw.randrange(number)], "back", f"dag_{number % 4}")
            made.feeds(ids[number], ids[number], "again", f"dag_{number % 4}")
    return made


def test_each_edge_of_the_data_is_drawn_and_nothing_else(shown: Opened, captures: Path) -> None:
    drawn = geometry.lines(shown(captures, VIEWS["both_merged"]))
    assert drawn == pairs("dev")
    assert len(drawn) == 97


def test_the_overview_draws_each_link_between_places(shown: Opened, captures: Path) -> None:
    """Lines between boxes are the feeds between their members, however they are grouped."""
    page = shown(captures)
    boxes = page.evaluate(
        "() => [...document.querySelectorAll('.band')].map((band) => Object.fromEntries("
        "[...band.querySelectorAll('.box')].flatMap((box) => [...box.querySelectorAll('[data-to-dataset]')]"
        ".map((each) => [each.dataset.toDataset, box.dataset.box]))))"
    )
    expected = sorted(
        {
            (band[str(feed[0])], band[str(feed[1])])
            for band in boxes
            for feed in DATA["feeds"]
            if str(feed[0]) in band and str(feed[1]) in band and band[str(feed[0])] != band[str(feed[1])]
        }
    )
    assert sorted(set(geometry.lines(page))) == expected
    assert sum(len(band) for band in boxes) == len(DATA["datasets"])


SELECTED = {
    "dataset": f"#dataset={STG_SALES}",
    "column": f"#dataset={STG_SALES}&column=pricepaid",
}


@pytest.mark.parametrize("view", SELECTED)
def test_type_has_at_least_eleven_pixels_beside_the_panel(shown: Opened, captures: Path, view: str) -> None:
    """The view shows the selection and its neighbours, and not the whole of a wide pipeline."""
    page = shown(captures, SELECTED[view])
    assert page.locator("#panel").is_visible()
    assert geometry.small_type(page) == []
    assert {"sales", "stg_sales", "top_events_by_sales", "fct_sales"} <= set(page.evaluate(IN_VIEW))


@pytest.mark.parametrize("view", ["overview", "both_merged"])
def test_the_same_data_gives_the_same_positions(opened: Opened, captures: Path, view: str) -> None:
    first, second = (geometry.positions(opened(captures, VIEWS[view])) for _ in range(2))
    assert first == second


# Up to 75 in single cards, above that in groups.
GENERATED = [
    *drawing.share_of([(75, 1), (75, 2)]),
    *drawing.share_of([(300, 1), (300, 2)]),
    *([(20, 1), (20, 2), (1000, 1)] if drawing.share() == 1 else []),
]


@pytest.mark.parametrize(("datasets", "seed"), GENERATED)
def test_generated_graphs(opened: Opened, datasets: int, seed: int) -> None:
    page = opened(generated(datasets, seed).graph(), "#view=overview")
    assert geometry.problems(page) == []
    page.locator(".band .open").first.click()
    assert geometry.problems(page) == []
    assert geometry.frame_problems(page) == []
    assert geometry.small_type(page) == []
    find(page, f"table_{datasets - 1:04d}")
    assert geometry.problems(page) == []
    find(page, f"table_{datasets - 1:04d}#a")
    assert geometry.problems(page) == []


def layered(datasets: int) -> Subgraph:
    """Return a pipeline of five schemas whose tables have long names."""
    made = PageGraph()
    width = datasets // 5
    ids: list[str] = []
    for number in range(datasets):
        layer = number // width
        name = f"{('raw', 'staging', 'intermediate', 'core', 'marts')[layer]}_customer_orders_{number:04d}"
        ids.append(made.dataset(WAREHOUSE, f"dev.layer_{layer}.{name}"))
        if layer:
            made.feeds(ids[number - width], ids[number], f"job_{number}")
    return made.graph()


def fanned(datasets: int) -> Subgraph:
    """Return a file that tables of many schemas read."""
    made = PageGraph()
    source = made.dataset("s3://raw", "exports/events", label="file")
    for number in range(1, datasets):
        made.feeds(source, made.dataset(WAREHOUSE, f"dev.domain_{number % 15}.table_{number:04d}"))
    return made.graph()


# Whether a card of each rank of the first band is in view.
FIRST_CARDS = """
() => {
  const [place, band] = [document.getElementById("overview"), document.querySelector(".band .scroll")]
    .map((each) => each.getBoundingClientRect());
  const boxes = [...document.querySelectorAll(".band:first-child .box")]
    .map((each) => each.getBoundingClientRect());
  const inView = (box) => box.left >= band.left && box.right <= band.right && box.bottom <= place.bottom;
  const ranks = [...new Set(boxes.map((box) => box.left))].sort((a, b) => a - b);
  return ranks.map((left) => boxes.filter((box) => box.left === left && inView(box)).length > 0);
}
"""
# The number of ranks within the width, and of those whose first card is below the height, of other data.
LAID_OUT = """
([data, width, height]) => {
  const model = lineage.model.build(data);
  const passes = lineage.model.passing(model, lineage.filters.none());
  const scene = lineage.overviewScene.make(model, model.bands[0].members, passes);
  const { nodes } = lineage.overviewScene.place(model, scene, { width, height }, false);
  const ranks = Map.groupBy(nodes.filter((node) => node.x + node.width <= width), (node) => node.x);
  const bottoms = [...ranks.values()].map((rank) => Math.min(...rank.map((node) => node.y + node.height)));
  return [ranks.size, bottoms.filter((bottom) => bottom > height).length];
}
"""


def test_the_first_cards_of_the_overview_are_in_view(opened: Opened) -> None:
    page = opened(layered(100))
    assert page.evaluate(FIRST_CARDS)[:4] == [True] * 4
    page.set_viewport_size({"width": 1280, "height": 720})
    # A change of the window is drawn when it has ended.
    eventually(page, lambda: page.evaluate(FIRST_CARDS)[:3] == [True] * 3)
    for make, number in ((layered, 3), (fanned, 2)):
        for datasets in (50, 100, 300):
            for room in ((1140, 760), (980, 580)):
                ranks, low = page.evaluate(LAID_OUT, [page_data(make(datasets)), *room])
                assert (ranks >= number, low) == (True, 0), (make, datasets, room)


def forward(page: Page) -> list[str]:
    """Return lines that go left, of the drawn graph."""
    edges: list[str] = page.evaluate(
        "() => lineage.app.scene.routes.filter(({ points }) =>"
        " points.some(([x], at) => at && x < points[at - 1][0] - 0.01)).map((route) => route.edge.key)"
    )
    return edges


def test_only_lines_of_cycles_go_left(opened: Opened) -> None:
    page = opened(generated(50, 3, cycles=True).graph(), "#view=pipeline")
    assert geometry.problems(page) == []
    assert forward(page) != []


SHARED = """
() => {
  const routes = lineage.app.scene.routes.map(({ edge, net, points }) => ({ edge, net, parts: points.slice(1)
    .map(([x, y], at) => [...points[at], x, y]) }));
  const found = [];
  const overlap = (a, b, c, d) =>
    Math.min(Math.max(a, b), Math.max(c, d)) - Math.max(Math.min(a, b), Math.min(c, d)) > 3;
  routes.forEach((one, at) => routes.slice(at + 1).forEach((other) => {
    if (one.edge.source === other.edge.source || one.edge.target === other.edge.target) return;
    for (const [a, b, c, d] of one.parts) for (const [e, f, g, h] of other.parts) {
      const flat = b === d && f === h && Math.abs(b - f) < 1.5 && overlap(a, c, e, g);
      const upright = a === c && e === g && Math.abs(a - e) < 1.5 && overlap(b, d, f, h);
      if (flat || upright) found.push(`${one.edge.key} lies on ${other.edge.key}`);
    }
  }));
  return found;
}
"""


@pytest.mark.parametrize("view", VIEWS)
def test_the_drawing_of_a_view(shown: Opened, captures: Path, view: str) -> None:
    page = shown(captures, VIEWS[view])
    assert len(geometry.positions(page)) > 3
    assert geometry.problems(page) == []
    assert geometry.small_type(page) == []
    if view == "overview":
        return
    assert geometry.frame_problems(page) == []
    # Lines of one source share their start, and lines of one target may share their end.
    assert page.evaluate(SHARED) == []
    if view in ("tickit", "tpch", "both_merged"):
        assert forward(page) == []


KINDS = """
() => {
  const { model } = lineage.app;
  const passes = lineage.model.passing(model, lineage.filters.none());
  const overlap = (a, b, c, d) =>
    Math.min(Math.max(a, b), Math.max(c, d)) - Math.max(Math.min(a, b), Math.min(c, d)) > 3;
  const found = [];
  const mixed = new Set();
  for (const { index } of model.columns) {
    const trace = lineage.columnGraph.trace(model, index, "both", passes);
    const { routes } = lineage.columnGraph.place(lineage.columnGraph.build(model, trace));
    const parts = routes.map(({ points }) => points.slice(1).map(([x, y], at) => [...points[at], x, y]));
    routes.forEach(({ edge }, one) => routes.forEach(({ edge: { key, style, source } }, other) => {
      if (style === edge.style || other < one) return;
      if (source === edge.source) mixed.add([edge.style, style].sort().join(" and "));
      for (const [a, b, c, d] of parts[one]) for (const [e, f, g, h] of parts[other]) {
        const flat = b === d && f === h && Math.abs(b - f) < 3 && overlap(a, c, e, g);
        const upright = a === c && e === g && Math.abs(a - e) < 3 && overlap(b, d, f, h);
        if (flat || upright) found.push(`column ${index}: ${edge.style} ${edge.key} lies on ${style} ${key}`);
      }
    }));
  }
  return [found, [...mixed]];
}
"""


def test_lines_of_different_kinds_do_not_lie_on_each_other(shown: Opened, captures: Path) -> None:
    """In the traces of all columns: a dashed line on a solid one looks as if it came from elsewhere."""
    found, mixed = shown(captures).evaluate(KINDS)
    assert found == []
    assert {"decides and direct", "direct and indirect"} <= set(mixed)


LAYOUT = """
([count, seed]) => {
  let state = seed;
  const random = () => (state = (state * 1103515245 + 12345) % 2147483648) / 2147483648;
  const width = Math.ceil(count / 7);
  const nodes = Array.from({ length: count }, (_, at) => ({
    id: `n${at}`, width: 176, height: 76, group: `g${at % 9}`,
    parent: at % 3 ? `j${Math.floor(at / 4)}` : undefined,
  }));
  const edges = nodes.flatMap((node, at) => at < width ? [] : [0, 1].map(() => {
    const source = `n${Math.floor(random() * (at - (at % width)))}`;
    return { source, target: node.id };
  }));
  const laid = lineage.layout.packed(nodes, edges, {}, { across: 60, down: 60, room: 1400 });
  const hits = laid.routes.filter(({ points }) => points.slice(1).some(([x, y], at) => {
    const [a, b] = points[at];
    return laid.nodes.some((node) =>
      Math.max(a, x) > node.x + 0.5 && Math.min(a, x) < node.x + node.width - 0.5 &&
      Math.max(b, y) > node.y + 0.5 && Math.min(b, y) < node.y + node.height - 0.5);
  })).length;
  const overlaps = laid.nodes.filter((a, at) => laid.nodes.slice(at + 1).some((b) =>
    a.x < b.x + b.width && b.x < a.x + a.width && a.y < b.y + b.height && b.y < a.y + a.height)).length;
  const diagonal = laid.routes.filter(({ points }) => points.slice(1).some(([x, y], at) =>
    Math.abs(x - points[at][0]) > 0.01 && Math.abs(y - points[at][1]) > 0.01)).length;
  const tracks = Map.groupBy(laid.routes.flatMap(({ edge, points }) => points.slice(1).map(([x, y], at) => {
    const [a, b] = points[at];
    const isUpright = a === x;
    const [from, to] = isUpright ? [b, y] : [a, x];
    const track = `${isUpright} ${Math.round(isUpright ? x : y)}`;
    return { edge, track, low: Math.min(from, to), high: Math.max(from, to) };
  })), ({ track }) => track);
  const isBundled = (one, two) => one.source === two.source || one.target === two.target;
  const isOn = (one, two) =>
    !isBundled(one.edge, two.edge) && Math.min(one.high, two.high) - Math.max(one.low, two.low) > 3;
  const shared = [...tracks.values()]
    .flatMap((parts) => parts.filter((one, at) => parts.slice(at + 1).some((two) => isOn(one, two)))).length;
  return { hits, overlaps, diagonal, shared };
}
"""


# Layouts in which each of two lines leaves a gutter at the height at which the other enters it.
SWAPPED = [(75, 2), (75, 30), (100, 14), (120, 19)]


@pytest.fixture(scope="module")
def empty(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the page of an empty graph, whose scripts the tests call."""
    file = tmp_path_factory.mktemp("empty") / "lineage.html"
    file.write_text(render(PageGraph().graph(), Options()), encoding="utf-8")
    return file


# Pairs of a number of nodes and a seed; a share of these is drawn.
LAYOUTS = [(count, seed) for count in (20, 75, 120, 300) for seed in range(1, 6)]
LARGE_LAYOUTS = [(1000, seed) for seed in (1, 2)]


def test_the_layout_of_random_graphs(shown: Opened, empty: Path) -> None:
    large = LARGE_LAYOUTS if drawing.share() == 1 else []
    cases = [*drawing.share_of(LAYOUTS), *SWAPPED, *large]
    found = shown(empty).evaluate(f"(cases) => cases.map({LAYOUT})", cases)
    problems = ("hits", "overlaps", "diagonal", "shared")
    assert list(zip(cases, found, strict=True)) == [(case, dict.fromkeys(problems, 0)) for case in cases]


def test_heights_are_an_isotonic_regression(shown: Opened, empty: Path) -> None:
    """Compared with the minimax formula: the largest of the smallest means of neighbours around a value."""
    page = shown(empty)
    draw = random.Random(3)  # positions, not secrets
    cases: list[tuple[list[int], list[int]]] = [([], []), ([5], [2]), ([1, 2, 3], [1, 1, 1])]
    for length in range(2, 30):
        values = [draw.randrange(-200, 200) for _ in range(length)]
        cases.append((values, [draw.choice((1, 3, 20)) for _ in range(length)]))

    found = page.evaluate(
        "(cases) => cases.map(([values, weights]) => lineage.isotonic.fit(values, weights))", cases
    )

    for (values, weights), fitted in zip(cases, found, strict=True):
        assert fitted == pytest.approx(
            [
                max(
                    min(mean(values[low:high], weights[low:high]) for high in range(at + 1, len(values) + 1))
                    for low in range(at + 1)
                )
                for at in range(len(values))
            ]
        )


def mean(values: list[int], weights: list[int]) -> float:
    """Return the weighted mean."""
    return sum(value * weight for value, weight in zip(values, weights, strict=True)) / sum(weights)
