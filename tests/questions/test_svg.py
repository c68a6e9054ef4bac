"""SVG drawings of answers: what they show, hostile names, their size, and boxes that do not overlap."""

import random
import re
from collections.abc import Iterator
from pathlib import Path
from xml.etree import ElementTree
from xml.etree.ElementTree import Element

import pytest

from lineage_merge.graph_format.elements import Edge, Subgraph, Vertex, subgraph
from lineage_merge.query import Lineage
from lineage_merge.questions.formats.layered_layout import Link, Place, Size, layers, layout
from lineage_merge.questions.formats.svg import MAX_BOXES, MAX_COLUMNS, fit_text, svg, text_width
from tests.command_line import in_process
from tests.fuzz.test_hostile_names import NAMES
from tests.history.scripted_month import scripted_month
from tests.lineage_made import MadeLineage, at, col
from tests.questions.test_formats import HOSTILE
from tests.questions.test_ownership import both, in_memory
from tests.questions.test_picture import captured

SVG = "{http://www.w3.org/2000/svg}"
TAGS = {"svg", "title", "desc", "g", "rect", "text", "path"}


def parsed(document: str) -> Element:
    return ElementTree.fromstring(document.encode())


def boxes(document: str) -> list[tuple[str, Place]]:
    """The boxes of datasets and jobs with their tooltips."""
    found = []
    for group in parsed(document).iter(f"{SVG}g"):
        rect = group.find(f"{SVG}rect")
        if rect is not None and rect.get("rx") == "4":
            place = Place(*(int(rect.attrib[key]) for key in ("x", "y", "width", "height")))
            found.append((group.findtext(f"{SVG}title", ""), place))
    return found


def lines(document: str) -> list[str]:
    """The tooltips of lines."""
    groups = parsed(document).iter(f"{SVG}g")
    return [group.findtext(f"{SVG}title", "") for group in groups if group.find(f"{SVG}path") is not None]


def texts(document: str) -> list[str]:
    return [each.text or "" for each in parsed(document).iter(f"{SVG}text")]


def overlaps(places: list[Place]) -> Iterator[tuple[Place, Place]]:
    for number, one in enumerate(places):
        for other in places[:number]:
            apart = one.x + one.width <= other.x or other.x + other.width <= one.x
            if not apart and one.y < other.y + other.height and other.y < one.y + one.height:
                yield one, other


@pytest.fixture(scope="module")
def lineage() -> Lineage:
    return Lineage.of_graph(in_memory(both()))


def test_datasets_columns_and_lines_of_an_answer(lineage: Lineage) -> None:
    found = lineage.upstream("mart", columns=True, influences=True).to_svg()
    left = {title: place.x for title, place in boxes(found)}
    assert left.keys() == {"raw", "copy", "mart"}
    assert left["raw"] < left["copy"] < left["mart"]
    assert {"age", "country", "email", "id", "customers", "is_adult"} <= set(texts(found))
    assert {each.partition(":")[0] for each in lines(found)} == {"feeds", "feeds_column", "influences"}
    assert "feeds_column: AGGREGATION count(id)" in lines(found)
    assert parsed(found).findtext(f"{SVG}title") == "upstream: mart"
    assert parsed(found).get("role") == "img"


def test_columns_are_in_boxes_of_datasets_that_are_no_part_of_the_answer(lineage: Lineage) -> None:
    found = lineage.downstream("raw#email").to_svg()
    assert {title for title, _ in boxes(found)} == {"hashed", "copy", "raw"}
    assert "email_hash" in texts(found)


def test_an_answer_without_edges_is_drawn_in_rows(lineage: Lineage) -> None:
    found = lineage.datasets().to_svg()
    places = [place for _, place in boxes(found)]
    assert len({each.x for each in places}) > 2
    assert len({each.y for each in places}) > 2
    assert not [*overlaps(places)]


def test_an_empty_answer_has_a_note() -> None:
    assert texts(svg(Subgraph(), "path")) == ["path", "nothing to draw"]


@pytest.mark.parametrize("name", [*HOSTILE, *NAMES, "x" * 5_000])
def test_any_name_is_text(name: str) -> None:
    graph = captured(name, 2)
    document = svg(graph, name, [graph.datasets[0].id])
    root = parsed(document)
    assert {each.tag.removeprefix(SVG) for each in root.iter()} <= TAGS
    attributes = {key for each in root.iter() for key in each.attrib}
    assert not {each for each in attributes if each.startswith("on") or "href" in each}
    assert not attributes & {"id", "style"}
    assert len(boxes(document)) == 3
    assert len(document) < 20_000


def test_the_same_answer_gives_the_same_file() -> None:
    vertices = [Vertex(f"dev|s3://x|{each}", "file", {"name": str(each)}) for each in range(40)]
    pairs = [(one, other) for one in range(40) for other in range(one + 1, 40, 7)]
    edges = [Edge(f"{u}-{v}", "feeds", f"dev|s3://x|{u}", f"dev|s3://x|{v}") for u, v in pairs]
    expected = svg(subgraph(vertices, edges), "upstream")
    for seed in range(3):
        random.Random(seed).shuffle(vertices)
        random.Random(seed).shuffle(edges)
        assert svg(subgraph(vertices, edges), "upstream") == expected


def test_a_large_answer_is_limited_to_the_nearest_with_a_note() -> None:
    made = MadeLineage()
    for number in range(1, 2_000):
        made.flow(f"d{(number - 1) // 3} > d{number}")
    for number in range(100):
        made.columns(f"d0.c{number} > d1.c{number}")
    found = Lineage.of_graph(in_memory(made)).downstream("d0", columns=True).to_svg()
    assert {title for title, _ in boxes(found)} == {f"d{number}" for number in range(MAX_BOXES)}
    assert f"{2_000 - MAX_BOXES:,} more of 2,000 are not drawn" in texts(found)
    assert f"{100 - MAX_COLUMNS} more columns" in texts(found)
    assert len(found) < 200_000


def test_a_cycle_is_drawn() -> None:
    made = MadeLineage().flow("a > b").flow("b > c").flow("c > a")
    found = Lineage.of_graph(in_memory(made)).upstream("a").to_svg()
    assert len(boxes(found)) == 3
    assert len(lines(found)) == 3
    assert not [*overlaps([place for _, place in boxes(found)])]


@pytest.mark.parametrize("seed", range(20))
def test_no_box_overlaps_another_and_no_bend_is_inside_a_box(seed: int) -> None:
    chosen = random.Random(seed)
    sizes = {f"b{each}": Size(chosen.randint(100, 300), chosen.randint(30, 400)) for each in range(60)}
    names = [*sizes]
    ends = (chosen.sample(names, 2) for _ in range(90))
    links = [Link(start, end, f"bundle{chosen.randint(0, 30)}") for start, end in ends]
    found = layout(sizes, links)
    assert found.places.keys() == sizes.keys()
    places = list(found.places.values())
    assert not [*overlaps(places)]
    assert all(place.x >= 0 and place.y >= 0 for place in places)
    for points in found.bends.values():
        for x, y in points:
            inside = [p for p in places if p.x < x < p.x + p.width and p.y <= y <= p.y + p.height]
            assert inside == []


def test_lines_go_from_left_to_right_except_those_that_close_a_cycle() -> None:
    pairs = [("a", "b"), ("b", "c"), ("a", "c"), ("c", "d"), ("d", "b"), ("x", "d")]
    found = layers(["d", "c", "x", "b", "a"], pairs)
    layer = {box: number for number, names in enumerate(found) for box in names}
    assert {"x", "a"} <= set(found[0])
    assert sum(layer[source] >= layer[target] for source, target in pairs) == 1
    assert layers([], []) == []


@pytest.mark.parametrize("text", ["customer_orders_by_region_and_day", "W" * 20, "销售数据" * 6])
def test_a_long_name_is_shortened_in_the_middle(text: str) -> None:
    shown = fit_text(text, 120, 13, bold=True)
    head, _, tail = shown.partition("…")
    assert text.startswith(head)
    assert text.endswith(tail)
    assert len(tail) > len(head)
    assert text_width(shown, 13, bold=True) <= 120
    assert fit_text("orders", 120, 13) == "orders"


def test_differences_of_moments_are_marked(tmp_path: Path) -> None:
    history = scripted_month(str(tmp_path / "history")).location
    words = (
        "diff",
        "--from",
        "2026-01-02",
        "--to",
        "2026-01-31",
        "--environment",
        "dev",
        "--history",
        history,
    )
    file = tmp_path / "changes.svg"
    outcome = in_process(*words, "--format", "svg", "-o", file)
    assert (outcome.code, outcome.out) == (0, f"{file}: {file.stat().st_size:,} bytes\n")
    shown = set(texts(file.read_text(encoding="utf-8")))
    assert {"+ raw2", "+ ref", "\u2212 ref", "± mart", "+ comment", "± amount", "orders", "raw"} <= shown
    assert "+ added, \u2212 removed, ± changed" in shown
    assert "feeds: load" in lines(file.read_text(encoding="utf-8"))
    for output_format in ("svg", "markdown", "json"):
        refused = in_process(*words, "--format", output_format, "-o", file / "below")
        assert (refused.code, refused.err.count("\n"), refused.out) == (3, 1, ""), refused
        assert f"{file}/below" in refused.err


def test_what_carries_a_tag_is_drawn(tmp_path: Path) -> None:
    made = MadeLineage().flow("raw > copy").columns("raw.email > copy.email")
    made.nodes[col("raw", "email")]["tags"] = ["pii"]
    folder = made.folder(tmp_path / "lineage")
    outcome = in_process("tags", "--tag", "pii", "--folder", folder, "--format", "svg")
    assert outcome.code == 0, outcome
    assert {title for title, _ in boxes(outcome.out)} == {"raw", "copy"}
    counts = in_process("tags", "--folder", folder, "--format", "svg")
    assert (counts.code, "--format svg needs DATASET or --tag" in counts.err) == (2, True)


def test_an_answer_is_written_to_a_file(tmp_path: Path) -> None:
    folder = MadeLineage().flow("a > b").folder(tmp_path / "lineage")
    words = ("upstream", "b", "--folder", folder)
    for output_format in ("json", "csv", "mermaid", "svg"):
        file = tmp_path / f"answer.{output_format}"
        outcome = in_process(*words, "--format", output_format, "--out", file)
        assert outcome.code == 0, outcome
        assert file.read_text(encoding="utf-8") == in_process(*words, "--format", output_format).out
    outcome = in_process(*words, "-o", tmp_path / "tree.txt")
    assert outcome.code == 2
    assert re.search("--out requires one of --format csv, json, .*svg", outcome.err)
    assert at("a") in (tmp_path / "answer.json").read_text()
