"""A subgraph as a Graphviz digraph."""

import re
from collections.abc import Iterator

from lineage_merge.graph_format.elements import Subgraph
from lineage_merge.questions.formats.describe import caption, title, truncate

_SHAPES = {
    "file": "folder",
    "topic": "cds",
    "exposure": "note",
    "column": "plaintext",
    "job": "component",
}
_DASHED = {"influences": "dashed", "has_column": "dotted", "writes": "dotted"}
_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f\ud800-\udfff]")


def dot(graph: Subgraph) -> str:
    """Return a digraph from left to right; `tooltip` is the id."""
    return "\n".join(_lines(graph)) + "\n"


def _lines(graph: Subgraph) -> Iterator[str]:
    yield "digraph lineage {"
    yield "  rankdir=LR;"
    yield '  node [shape=box, fontname="sans-serif"];'
    yield '  edge [fontname="sans-serif", fontsize=10];'
    # Ids may contain ports or keywords of Graphviz, so short node names are generated.
    short = {identifier: f"n{number}" for number, identifier in enumerate(graph.vertices)}
    for vertex in graph.vertices.values():
        label = f"{quoted(title(graph, vertex), vertex.label)}, tooltip={quoted(vertex.id)}"
        yield f"  {short[vertex.id]} [label={label}, shape={_SHAPES.get(vertex.label, 'box')}];"
    for edge in graph.edges:
        style = _DASHED.get(edge.label, "solid")
        attributes = f"label={quoted(truncate(caption(edge)))}, tooltip={quoted(edge.label)}, style={style}"
        yield f"  {short[edge.from_id]} -> {short[edge.to_id]} [{attributes}];"
    yield "}"


def quoted(*lines: str) -> str:
    """Return a quoted string; Graphviz interprets backslashes, quotes and HTML entities."""
    texts = []
    for line in lines:
        text = _CONTROL.sub("\ufffd", line).replace("\\", "\\\\").replace('"', '\\"').replace("&", "&amp;")
        texts.append(text.replace("\n", "\\n"))
    return '"' + "\\n".join(texts) + '"'
