"""A subgraph in Graphviz' language."""

import re
from collections.abc import Iterator

from lineage_merge.query.elements import Subgraph
from lineage_merge.query.formats.describe import caption, shortened, title

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
    """A digraph from left to right; `tooltip` has the whole id."""
    return "\n".join(_lines(graph)) + "\n"


def _lines(graph: Subgraph) -> Iterator[str]:
    yield "digraph lineage {"
    yield "  rankdir=LR;"
    yield '  node [shape=box, fontname="sans-serif"];'
    yield '  edge [fontname="sans-serif", fontsize=10];'
    # Ids may hold what Graphviz reads as a port or a keyword: short names of our own stand for them.
    short = {identifier: f"n{number}" for number, identifier in enumerate(graph.vertices)}
    for vertex in graph.vertices.values():
        said = f"{quoted(title(graph, vertex), vertex.label)}, tooltip={quoted(vertex.id)}"
        yield f"  {short[vertex.id]} [label={said}, shape={_SHAPES.get(vertex.label, 'box')}];"
    for edge in graph.edges:
        style = _DASHED.get(edge.label, "solid")
        said = f"label={quoted(shortened(caption(edge)))}, tooltip={quoted(edge.label)}, style={style}"
        yield f"  {short[edge.from_id]} -> {short[edge.to_id]} [{said}];"
    yield "}"


def quoted(*lines: str) -> str:
    """A text of Graphviz, which knows backslashes, quotes and the entities of HTML."""
    texts = []
    for line in lines:
        text = _CONTROL.sub("\ufffd", line).replace("\\", "\\\\").replace('"', '\\"').replace("&", "&amp;")
        texts.append(text.replace("\n", "\\n"))
    return '"' + "\\n".join(texts) + '"'
