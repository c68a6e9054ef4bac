"""A subgraph as an SVG drawing: one file, without scripts, styles, fonts and references.

Datasets are boxes from left to right, with the columns that are part of the answer. The same subgraph gives
the same file. The size is limited: of a large subgraph the part nearest to where the answer begins is drawn.
"""

import unicodedata
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from typing import NamedTuple

from lineage_merge.graph_format.elements import COLUMN, JOB, Edge, Subgraph, Vertex, title_of_id
from lineage_merge.model.elements import dataset_of
from lineage_merge.questions.formats.describe import (
    caption,
    one_line,
    owners_of_columns,
    truncate,
    xml_characters,
)
from lineage_merge.questions.formats.layered_layout import Layout, Link, Place, Size, layout

# In em, of DejaVu Sans and Verdana; others are narrower.
_NARROW = frozenset("iljtfrI.,:;'|!()[]-/\\ ")
_WIDE = frozenset("mwMW@%…")
_BOLD = 1.1


def text_width(text: str, size: int, *, bold: bool = False) -> float:
    """Return the estimated width in pixels."""
    return sum(map(_em, text)) * size * (_BOLD if bold else 1)


def fit_text(text: str, width: float, size: int, *, bold: bool = False) -> str:
    """Return the text, shortened in the middle if it is wider than `width`."""
    if text_width(text, size, bold=bold) <= width:
        return text
    most = len(text)
    while most > 1:
        # The end of a name says more than its beginning.
        most = min(most - 1, int(most * width / text_width(text[-most:], size, bold=bold)) + 1)
        head = most // 3
        shown = f"{text[:head]}…{text[len(text) - (most - head) :]}"
        if text_width(shown, size, bold=bold) <= width:
            return shown
    return "…"


def _em(character: str) -> float:
    if unicodedata.category(character) in ("Mn", "Me", "Cf"):
        return 0.0
    if unicodedata.east_asian_width(character) in ("W", "F") or character > "\uffff":
        return 1.15
    if character in _NARROW:
        return 0.43
    if character in _WIDE:
        return 1.03
    return 0.79 if character.isupper() or not character.isascii() else 0.66


MAX_BOXES = 150
MAX_COLUMNS = 30  # of a box
_MIN_WIDTH, _MAX_WIDTH = 140, 300
_HEAD, _ROW = 42, 18
_MARGIN, _TITLE = 16, 28
_LONGEST_HEADING = 720  # pixels, if the boxes are narrower
_LOOP = 40  # right of a box, for a line back
_LONGEST = 400  # characters of a tooltip
_FONT = "DejaVu Sans, Verdana, Helvetica, Arial, sans-serif"
_INK, _FAINT, _PAPER = "#1f2328", "#57606a", "#ffffff"
_FILLS = {"file": "#e7f0fb", "topic": "#f3e8fd", "view": "#e6f6f4", "exposure": "#fdf1dc", "job": "#eceff2"}
_FILL = "#e9f5e9"


class Mark(NamedTuple):
    """A colour of an element with its sign, as colours alone do not suffice."""

    colour: str
    sign: str


MARKS: Mapping[str, Mark] = {
    "added": Mark("#1a7f37", "+"),
    "removed": Mark("#cf222e", "\u2212"),
    "changed": Mark("#9a6700", "±"),
}
_START = Mark("#0969da", "")
_USUAL = Mark("#8c959f", "")


@dataclass(slots=True)
class _Box:
    """A dataset, job or assertion, with its columns in the subgraph; `hidden`: those that are not drawn."""

    id: str
    label: str
    name: str
    place: str
    title: str
    columns: list[Vertex] = field(default_factory=list)
    hidden: int = 0

    @property
    def size(self) -> Size:
        rows = len(self.columns) + bool(self.hidden)
        widths = [text_width(self.name, 13, bold=True), text_width(self.place, 11)]
        widths += [text_width(_text(column.qualified_name), 11) for column in self.columns]
        width = min(_MAX_WIDTH, max(_MIN_WIDTH, int(max(widths)) + 24))
        return Size(width, _HEAD + rows * _ROW + (6 if rows else 0))


def svg(
    graph: Subgraph, heading: str, roots: Collection[str] = (), marks: Mapping[str, str] | None = None
) -> str:
    """Return the drawing. `roots`: the vertices where the answer begins.

    `marks`: of vertices and edges by id, keys of `MARKS`.
    """
    return "".join(f"{line}\n" for line in _Drawing(graph, heading, roots, marks or {}).lines())


class _Drawing:
    def __init__(
        self, graph: Subgraph, heading: str, roots: Collection[str], marks: Mapping[str, str]
    ) -> None:
        self._heading = truncate(_text(heading), _LONGEST)
        self._marks = {identifier: MARKS[mark] for identifier, mark in marks.items()}
        self._roots = frozenset(roots)
        self._owners = _owners(graph)
        every = _boxes(graph, self._owners)
        edges = [edge for edge in graph.edges if edge.label != "has_column"]
        starts = {self._owners[root] for root in roots if root in self._owners}
        self._boxes = _nearest(every, map(self._ends, edges), starts)
        self._hidden = len(every) - len(self._boxes)
        _limit_columns(self._boxes.values(), edges)
        self._rows = {
            column.id: (box.id, number)
            for box in self._boxes.values()
            for number, column in enumerate(box.columns)
        }
        self._edges = [edge for edge in edges if self._is_drawn(edge)]
        sizes = {key: box.size for key, box in self._boxes.items()}
        self._layout: Layout = layout(sizes, map(self._link, self._edges))

    def lines(self) -> Iterator[str]:
        notes = list(self._notes())
        texts = max((text_width(note, 12) for note in notes), default=0)
        heading = min(text_width(self._heading, 14, bold=True), _LONGEST_HEADING)
        width = 2 * _MARGIN + max(self._layout.width + _LOOP, int(texts) + 1, int(heading) + 1)
        height = 2 * _MARGIN + _TITLE + self._layout.height + len(notes) * _ROW
        yield (
            f'<svg xmlns="http://www.w3.org/2000/svg" role="img" width="{width}" height="{height}"'
            f' viewBox="0 0 {width} {height}" font-family="{_FONT}">'
        )
        yield f"<title>{escape(self._heading)}</title>"
        yield f"<desc>{len(self._boxes)} boxes, {len(self._edges)} lines</desc>"
        yield f'<rect width="{width}" height="{height}" fill="{_PAPER}"/>'
        shown = fit_text(self._heading, width - 2 * _MARGIN, 14, bold=True)
        yield _words(shown, _MARGIN, _MARGIN + 12, 14, bold=True)
        yield f'<g transform="translate({_MARGIN} {_MARGIN + _TITLE})">'
        yield from map(self._line, self._edges)
        for box in self._boxes.values():
            yield from self._box(box)
        yield "</g>"
        for number, note in enumerate(notes):
            y = height - _MARGIN - (len(notes) - number - 1) * _ROW
            yield _words(note, _MARGIN, y, 12, colour=_FAINT)
        yield "</svg>"

    def _notes(self) -> Iterator[str]:
        if not self._boxes:
            yield "nothing to draw"
        if self._hidden:
            yield f"{self._hidden:,} more of {self._hidden + len(self._boxes):,} are not drawn"
        used = {mark.sign: name for name, mark in MARKS.items() if mark in self._marks.values()}
        if used:
            yield ", ".join(f"{sign} {name}" for sign, name in used.items())

    def _ends(self, edge: Edge) -> tuple[str, str]:
        """Return the boxes of the ends of an edge."""
        return self._owners[edge.from_id], self._owners[edge.to_id]

    def _link(self, edge: Edge) -> Link:
        return Link(*self._ends(edge), edge.from_id)

    def _is_drawn(self, edge: Edge) -> bool:
        return all(end in self._boxes or end in self._rows for end in (edge.from_id, edge.to_id))

    def _box(self, box: _Box) -> Iterator[str]:
        place = self._layout.places[box.id]
        mark = self._marks.get(box.id) or (_START if box.id in self._roots else _USUAL)
        x, y, width, height = place
        inner = width - 20
        line = 1 if mark is _USUAL else 2
        yield f"<g><title>{escape(box.title)}</title>"
        yield (
            f'<rect x="{x}" y="{y}" width="{width}" height="{height}" rx="4"'
            f' fill="{_FILLS.get(box.label, _FILL)}" stroke="{mark.colour}" stroke-width="{line}"/>'
        )
        name = fit_text(f"{mark.sign} {box.name}".strip(), inner, 13, bold=True)
        yield _words(name, x + 10, y + 18, 13, bold=True, colour=_draw_mark(mark))
        yield _words(fit_text(box.place, inner, 11), x + 10, y + 34, 11, colour=_FAINT)
        yield "</g>"
        for number, column in enumerate(box.columns):
            row = y + _HEAD + number * _ROW
            yield from self._column(column, Place(x, row, width, _ROW))
        if box.hidden:
            row = y + _HEAD + len(box.columns) * _ROW
            yield _words(f"{box.hidden:,} more columns", x + 10, row + 13, 11, colour=_FAINT)

    def _column(self, column: Vertex, place: Place) -> Iterator[str]:
        mark = self._marks.get(column.id) or (_START if column.id in self._roots else _USUAL)
        kind = _text(str(column.properties.get("data_type", "")))
        name = _text(column.qualified_name)
        yield f"<g><title>{escape(truncate(f'{name} {kind}'.strip(), _LONGEST))}</title>"
        yield (
            f'<rect x="{place.x + 4}" y="{place.y}" width="{place.width - 8}" height="{place.height - 2}"'
            f' rx="2" fill="{_PAPER}" stroke="{mark.colour if mark is not _USUAL else "none"}"/>'
        )
        shown = fit_text(f"{mark.sign} {name}".strip(), place.width - 20, 11)
        yield f"{_words(shown, place.x + 10, place.y + 12, 11, colour=_draw_mark(mark))}</g>"

    def _line(self, edge: Edge) -> str:
        """Return a curve with an arrowhead, behind the boxes."""
        mark = self._marks.get(edge.id) or _USUAL
        link = self._link(edge)
        start, end = self._layout.places[link.source], self._layout.places[link.target]
        from_y, to_y = self._middle(edge.from_id, start), self._middle(edge.to_id, end)
        right = start.x + start.width
        if start.x >= end.x:  # back, or within a box
            path = (
                f"M{right} {from_y}C{right + _LOOP} {from_y} {end.x + end.width + _LOOP} {to_y}"
                f" {end.x + end.width} {to_y}m7 -4l-7 4l7 4"
            )
        else:
            path = f"M{right} {from_y}"
            at = (right, from_y)
            for x, y in (*self._layout.bends.get(link, ()), (end.x, to_y)):
                middle = (at[0] + x) // 2
                path += f"L{x} {y}" if at[1] == y else f"C{middle} {at[1]} {middle} {y} {x} {y}"
                at = (x, y)
            path += "m-7 -4l7 4l-7 4"
        dashes = ' stroke-dasharray="4 3"' if edge.label in ("influences", "references") else ""
        said = truncate(_text(f"{edge.label}: {caption(edge)}".removesuffix(": ")), _LONGEST)
        width = 1 if mark is _USUAL else 2
        return (
            f"<g><title>{escape(said)}</title>"
            f'<path d="{path}" fill="none" stroke="{mark.colour}" stroke-width="{width}"{dashes}/></g>'
        )

    def _middle(self, identifier: str, place: Place) -> int:
        if identifier in self._rows:
            return place.y + _HEAD + self._rows[identifier][1] * _ROW + _ROW // 2 - 1
        return place.y + _HEAD // 2


def _owners(graph: Subgraph) -> dict[str, str]:
    """Return the box of each vertex: of a column that of its dataset."""
    owners = owners_of_columns(graph)
    return {
        vertex.id: (owners.get(vertex.id) or dataset_of(vertex.id)) if vertex.label == COLUMN else vertex.id
        for vertex in graph.vertices.values()
    }


def _boxes(graph: Subgraph, owners: Mapping[str, str]) -> dict[str, _Box]:
    """Return the boxes by id, also of datasets of which the subgraph has only columns."""
    boxes: dict[str, _Box] = {}
    for vertex in graph.vertices.values():
        if vertex.label != COLUMN:
            name, whole = _text(vertex.name), _text(vertex.title)
            inside = whole.removesuffix(name).rstrip("/.")
            place = f"{vertex.label} in {inside}" if whole != name and inside else vertex.label
            if vertex.label == JOB and (kind := _text(str(vertex.properties.get("job_type", "")))):
                place = f"{kind} job"
            boxes[vertex.id] = _Box(vertex.id, vertex.label, name, place, truncate(whole, _LONGEST))
    for vertex in graph.vertices.values():
        if vertex.label == COLUMN:
            owner = owners[vertex.id]
            if owner not in boxes:
                whole = _text(title_of_id(owner))
                name = whole.rpartition("/")[2] if "/" in whole else whole.rpartition(".")[2]
                inside = whole.removesuffix(name).rstrip("/.")
                place = f"in {inside}" if inside else "dataset"
                boxes[owner] = _Box(owner, "", name or whole, place, truncate(whole, _LONGEST))
            boxes[owner].columns.append(vertex)
    return boxes


def _nearest(
    boxes: Mapping[str, _Box], pairs: Iterable[tuple[str, str]], starts: Collection[str]
) -> dict[str, _Box]:
    """Return at most `MAX_BOXES`: by distance from the starts, then those with edges, then by id."""
    near: dict[str, dict[str, None]] = defaultdict(dict)
    for source, target in pairs:
        near[source][target] = near[target][source] = None
    first = [box for box in boxes if box in starts]
    order = dict.fromkeys(first)
    waiting = list(first)
    for box in waiting:
        for other in near.get(box, ()):
            if other in boxes and other not in order:
                order[other] = None
                waiting.append(other)
    order |= dict.fromkeys(sorted(boxes, key=lambda box: (box not in near, box)))
    chosen = set(list(order)[:MAX_BOXES])
    return {key: box for key, box in boxes.items() if key in chosen}


def _limit_columns(boxes: Iterable[_Box], edges: Sequence[Edge]) -> None:
    """Sort the columns of each box; of more than `MAX_COLUMNS`, those with edges take precedence."""
    used = {end for edge in edges for end in (edge.from_id, edge.to_id)}
    for box in boxes:
        box.columns.sort(key=lambda column: (column.properties.get("position", 1 << 31), column.id))
        if len(box.columns) > MAX_COLUMNS:
            chosen = sorted(box.columns, key=lambda column: column.id not in used)[:MAX_COLUMNS]
            box.hidden = len(box.columns) - MAX_COLUMNS
            ids = {column.id for column in chosen}
            box.columns = [column for column in box.columns if column.id in ids]


def _text(text: str) -> str:
    return xml_characters(one_line(text))


def _draw_mark(mark: Mark) -> str:
    return mark.colour if mark.sign else _INK


def _words(text: str, x: int, y: int, size: int, *, bold: bool = False, colour: str = _INK) -> str:
    weight = ' font-weight="bold"' if bold else ""
    return f'<text x="{x}" y="{y}" font-size="{size}"{weight} fill="{colour}">{escape(text)}</text>'
