"""The picture of a subgraph for notebooks: what it shows, hostile names, and its size."""

from html.parser import HTMLParser
from xml.etree import ElementTree

import pytest

from lineage_merge.graph_format.elements import Edge, Subgraph, Vertex, subgraph
from lineage_merge.model.elements import DatasetName, dataset_id
from lineage_merge.questions.formats.describe import one_line, truncate
from lineage_merge.questions.formats.picture import MAX_DATASETS, MAX_ROWS, picture
from tests.fuzz.test_hostile_names import NAMES
from tests.questions.test_formats import HOSTILE

TAGS = {"div", "svg", "g", "title", "rect", "text", "path", "table", "thead", "tbody", "tr", "th", "td"}


class Shown(HTMLParser):
    """Tags, attributes, texts and the cells of the table."""

    def __init__(self, document: str) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.attributes: set[str] = set()
        self.texts: list[str] = []
        self.rows: list[list[str]] = []
        self._open: list[str] = []
        self.feed(document)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes |= {name for name, _ in attrs}
        self._open.append(tag)
        if tag == "tr":
            self.rows.append([])
        elif tag in ("td", "th"):
            self.rows[-1].append("")

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.texts.append(data)
        if self._open[-1] in ("td", "th"):
            self.rows[-1][-1] += data


def captured(name: str, columns: int = 1) -> Subgraph:
    """Return a job that writes one dataset from another, everything with this name."""
    source, target = (dataset_id("dev", DatasetName(place, name)) for place in ("wh", "other"))
    job = f"dev|d|spark|{name}"
    vertices = [Vertex(each, "table", {"name": name, "qualified_name": name}) for each in (source, target)]
    vertices.append(Vertex(job, "job", {"name": name}))
    properties = {"job_name": name, "transformation": name, "expression": name}
    edges = [Edge("f", "feeds", source, target, properties), Edge("w", "writes", job, target, properties)]
    for place in range(columns):
        ends = [f"{each}|{name}{place}" for each in (source, target)]
        for end, owner in zip(ends, (source, target), strict=True):
            vertices.append(Vertex(end, "column", {"name": name, "data_type": name, "position": place}))
            edges.append(Edge(f"h{end}", "has_column", owner, end))
        edges.append(Edge(f"c{place}", "feeds_column", ends[0], ends[1], properties))
    edges.append(Edge("i", "influences", f"{source}|{name}0", target, properties))
    return subgraph(vertices, edges)


@pytest.mark.parametrize("name", [*HOSTILE, *NAMES])
def test_any_name_is_text(name: str) -> None:
    document = picture(captured(name))
    shown = Shown(document)

    assert shown.tags <= TAGS
    assert not {each for each in shown.attributes if each.startswith("on") or each in ("href", "src", "id")}
    text = truncate(one_line(name))
    assert text in shown.texts or not text
    (row,) = [each for each in shown.rows if each[1] == text and each[0] == text][:1]
    assert row[2:3] + row[4:] == [text] * 3
    ElementTree.fromstring(document.encode())  # well-formed, as XHTML needs it
    document.encode()


def test_datasets_are_drawn_from_left_to_right() -> None:
    names = ("a", "b", "c", "d")
    vertices = [Vertex(f"dev|s3://x|{each}", "file", {"name": each}) for each in names]
    pairs = {("a", "b"), ("b", "c"), ("a", "c"), ("d", "c"), ("c", "c")}
    edges = [Edge(f"{u}{v}", "feeds", f"dev|s3://x|{u}", f"dev|s3://x|{v}") for u, v in pairs]

    root = ElementTree.fromstring(picture(subgraph(vertices, edges)).encode())
    boxes = {group[0].text: group[1] for group in root.iter("g") if group[1].tag == "rect"}
    left = {str(name).rpartition("/")[2]: int(box.attrib["x"]) for name, box in boxes.items()}

    assert left["a"] == left["d"] < left["b"] < left["c"]
    places = {(box.attrib["x"], box.attrib["y"]) for box in boxes.values()}
    assert len(places) == len(names)
    assert sum(1 for group in root.iter("g") if group[1].tag == "path") == len(pairs) - 1  # not to itself


def test_datasets_on_a_cycle_are_drawn() -> None:
    vertices = [Vertex(f"dev|s3://x|{each}", "file", {"name": each}) for each in "ab"]
    edges = [Edge(u, "feeds", f"dev|s3://x|{u}", f"dev|s3://x|{v}") for u, v in ("ab", "ba")]

    assert picture(subgraph(vertices, edges)).count("<rect") == len(vertices)


def test_the_size_is_limited() -> None:
    wide = captured("x" * 5_000, columns=3_000)
    many = subgraph(Vertex(f"dev|s3://x|{each}", "file", {"name": str(each)}) for each in range(2_000))

    shown, drawn = picture(wide), picture(many)

    assert shown.count("<tr>") == MAX_ROWS + 1
    assert f"{3_001 - MAX_ROWS} more rows are not shown" in shown
    assert len(shown) < 250_000
    assert drawn.count("<rect") == MAX_DATASETS
    assert f"{2_000 - MAX_DATASETS} more datasets are not drawn" in drawn


def test_an_empty_graph_is_an_empty_element() -> None:
    assert Shown(picture(Subgraph())).texts == []
