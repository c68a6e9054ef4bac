"""A subgraph as HTML for a notebook: datasets from left to right as inline SVG, and a table of columns.

Without scripts, styles of the page and references, so that it also shows in saved and converted notebooks.
The size is limited: the first datasets and columns are shown, and the number of the others.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from html import escape

from lineage_merge.graph_format.elements import Edge, Subgraph, Vertex
from lineage_merge.questions.formats.describe import (
    caption,
    declaration,
    one_line,
    owners_of_columns,
    title,
    transformation,
    truncate,
)
from lineage_merge.questions.formats.layered_layout import layers

MAX_DATASETS = 30
MAX_ROWS = 200
_WIDTH, _HEIGHT = 240, 44  # of a box, in pixels
_GAP_X, _GAP_Y = 70, 14
_MARGIN = 8
_NAME_LENGTH = 34  # characters that fit into a box
_TEXT_LENGTH = 120
_CELL = "text-align:left;vertical-align:top;padding:2px 12px 2px 0"
_HEADINGS = ("dataset", "column", "type", "from", "transformation", "expression")


def picture(graph: Subgraph) -> str:
    """Return the picture and the table, escaped."""
    parts = [_drawing(graph), _table(graph)]
    return f'<div style="max-width:100%;overflow-x:auto">{"".join(parts)}</div>'


def _drawing(graph: Subgraph) -> str:
    feeds = [edge for edge in graph.edges if edge.label == "feeds" and edge.from_id != edge.to_id]
    drawn = graph.datasets[:MAX_DATASETS]
    columns = layers([dataset.id for dataset in drawn], ((feed.from_id, feed.to_id) for feed in feeds))
    places = {
        identifier: (_MARGIN + column * (_WIDTH + _GAP_X), _MARGIN + row * (_HEIGHT + _GAP_Y))
        for column, layer in enumerate(columns)
        for row, identifier in enumerate(layer)
    }
    width = 2 * _MARGIN + len(columns) * (_WIDTH + _GAP_X) - _GAP_X
    height = 2 * _MARGIN + max(map(len, columns), default=0) * (_HEIGHT + _GAP_Y) - _GAP_Y
    shapes = [
        *(_line(feed, places) for feed in feeds if feed.from_id in places and feed.to_id in places),
        *(_box(dataset, *places[dataset.id]) for dataset in drawn),
    ]
    hidden = len(graph.datasets) - len(drawn)
    note = f"<p>{hidden} more datasets are not drawn.</p>" if hidden else ""
    if not drawn:
        return note
    return (
        f'<svg role="img" aria-label="lineage of {len(drawn)} datasets" width="{width}" height="{height}"'
        f' viewBox="0 0 {width} {height}" font-family="sans-serif">{"".join(shapes)}</svg>{note}'
    )


def _box(dataset: Vertex, x: int, y: int) -> str:
    name, whole = one_line(dataset.name), one_line(dataset.title)
    place = dataset.label if whole == name else f"{dataset.label} in {whole.removesuffix(name).rstrip('/.')}"
    return (
        f"<g><title>{_escape(whole)}</title>"
        f'<rect x="{x}" y="{y}" width="{_WIDTH}" height="{_HEIGHT}" rx="4" fill="none"'
        ' stroke="currentColor"/>'
        f'<text x="{x + 8}" y="{y + 19}" font-size="13" font-weight="bold" fill="currentColor">'
        f"{_escape(name, _NAME_LENGTH - 4)}</text>"
        f'<text x="{x + 8}" y="{y + 35}" font-size="11" fill="currentColor" opacity="0.7">'
        f"{_escape(place, _NAME_LENGTH + 2)}</text></g>"
    )


def _line(edge: Edge, places: Mapping[str, tuple[int, int]]) -> str:
    """Return a curve with an arrowhead. (A marker needs an id, and ids of two pictures would be equal.)"""
    (from_x, from_y), (x, y) = places[edge.from_id], places[edge.to_id]
    from_x, from_y, y = from_x + _WIDTH, from_y + _HEIGHT // 2, y + _HEIGHT // 2
    bend = _GAP_X // 2
    path = f"M{from_x} {from_y}C{from_x + bend} {from_y} {x - bend} {y} {x} {y}m-7 -4l7 4l-7 4"
    return (
        f"<g><title>{_escape(one_line(caption(edge)))}</title>"
        f'<path d="{path}" fill="none" stroke="currentColor" opacity="0.7"/></g>'
    )


def _table(graph: Subgraph) -> str:
    rows = list(_rows(graph))
    if not rows:
        return ""
    head = "".join(f'<th style="{_CELL}">{heading}</th>' for heading in _HEADINGS)
    body = "".join(
        "<tr>" + "".join(f'<td style="{_CELL}">{_escape(cell)}</td>' for cell in row) + "</tr>"
        for row in rows[:MAX_ROWS]
    )
    more = f"<p>{len(rows) - MAX_ROWS} more rows are not shown.</p>" if len(rows) > MAX_ROWS else ""
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{more}"


def _rows(graph: Subgraph) -> Iterator[tuple[str, ...]]:
    """Yield a row per source of each written column, then the columns that determine rows."""
    owners = {column: owner for column, owner in owners_of_columns(graph).items() if owner in graph.vertices}
    feeding: dict[str, list[Edge]] = defaultdict(list)
    written = set()
    for edge in graph.edges:
        if edge.label == "feeds_column":
            feeding[edge.to_id].append(edge)
        elif edge.label == "writes":
            written.add(edge.to_id)
    columns = [graph.vertices[id_] for id_, owner in owners.items() if id_ in feeding or owner in written]
    columns.sort(
        key=lambda column: (owners.get(column.id, ""), column.properties.get("position", 1 << 31), column.id)
    )
    for column in columns:
        owner = graph.vertices[owners[column.id]].title
        kind = str(column.properties.get("data_type", ""))
        if not feeding[column.id]:
            yield owner, column.qualified_name, kind, "", "", ""
        for edge in feeding[column.id]:
            yield owner, column.qualified_name, kind, *_derivation(graph, edge)
    for edge in graph.edges:
        if edge.label == "influences":
            yield graph.vertices[edge.to_id].title, "(rows)", "", *_derivation(graph, edge)


def _derivation(graph: Subgraph, edge: Edge) -> tuple[str, str, str]:
    source = title(graph, graph.vertices[edge.from_id])
    how = "  ".join(filter(None, (transformation(edge), declaration(edge))))
    return source, how, str(edge.properties.get("expression", ""))


def _escape(text: str, most: int = _TEXT_LENGTH) -> str:
    return escape(truncate(one_line(text), most))
