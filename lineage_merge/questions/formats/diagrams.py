"""A subgraph as text of a diagram: Mermaid, which GitHub and GitLab render in Markdown, and Graphviz."""

import re
from collections.abc import Iterator

from lineage_merge.graph_format.elements import Subgraph, Vertex
from lineage_merge.questions.formats.describe import OBEYED, caption, title, truncate

_MERMAID_SHAPES = {
    "file": ("[/", "/]"),
    "view": ("(", ")"),
    "topic": (">", "]"),
    "seed": ("[(", ")]"),
    "snapshot": ("[(", ")]"),
    "table": ("[(", ")]"),
    "exposure": ("([", "])"),
    "job": ("{{", "}}"),
}
_ARROWS = {"influences": "-.->", "has_column": "---", "writes": "-.->"}
# Characters to escape as #35; (by number): they would end a text, begin HTML, an entity or a directive, or be
# Markdown (an underscore only at the edge of a word).
_SPECIAL = re.compile(r"""["#<>&`|%*~\\{}\[\]$;]|(?<![^\W_])_+|_+(?![^\W_])|^\s*(?:[-+]|\d+[.)])(?=\s)""")
_CONTROL = re.compile(f"[\x00-\x08\x0b-\x1f{OBEYED}\ud800-\udfff]")


def mermaid(graph: Subgraph) -> str:
    """Return a flowchart from left to right, one line per vertex and edge."""
    return "\n".join(_mermaid_lines(graph)) + "\n"


def _mermaid_lines(graph: Subgraph) -> Iterator[str]:
    yield "flowchart LR"
    short = {identifier: f"n{number}" for number, identifier in enumerate(graph.vertices)}
    for vertex in graph.vertices.values():
        yield f"  {short[vertex.id]}{_shape(graph, vertex)}"
    for edge in graph.edges:
        text = truncate(caption(edge), 80)
        label = f'|"{escape(text)}"|' if text else ""
        yield f"  {short[edge.from_id]} {_ARROWS.get(edge.label, '-->')}{label} {short[edge.to_id]}"


def _shape(graph: Subgraph, vertex: Vertex) -> str:
    begin, end = _MERMAID_SHAPES.get(vertex.label, ("[", "]"))
    return f'{begin}"{escape(title(graph, vertex))}"{end}'


def escape(text: str) -> str:
    """Escape a text for use between quotes; line feeds become spaces."""
    line = " ".join(_CONTROL.sub("\ufffd", text).split("\n"))
    special = _SPECIAL.sub(lambda match: _number(match[0]), line)
    # Before parsing, Mermaid removes the last semicolon of anything like "style ...: ...#...;".
    if re.search("style|classDef", special):
        special = special.replace(":", "#58;")
    return special or " "


def _number(text: str) -> str:
    return "".join(f"#{ord(character)};" for character in text)


_DOT_SHAPES = {
    "file": "folder",
    "topic": "cds",
    "exposure": "note",
    "column": "plaintext",
    "job": "component",
}
_DASHED = {"influences": "dashed", "has_column": "dotted", "writes": "dotted"}


def dot(graph: Subgraph) -> str:
    """Return a digraph from left to right; `tooltip` is the id."""
    return "\n".join(_dot_lines(graph)) + "\n"


def _dot_lines(graph: Subgraph) -> Iterator[str]:
    yield "digraph lineage {"
    yield "  rankdir=LR;"
    yield '  node [shape=box, fontname="sans-serif"];'
    yield '  edge [fontname="sans-serif", fontsize=10];'
    # Ids may contain ports or keywords of Graphviz, so short node names are generated.
    short = {identifier: f"n{number}" for number, identifier in enumerate(graph.vertices)}
    for vertex in graph.vertices.values():
        label = f"{quote(title(graph, vertex), vertex.label)}, tooltip={quote(vertex.id)}"
        yield f"  {short[vertex.id]} [label={label}, shape={_DOT_SHAPES.get(vertex.label, 'box')}];"
    for edge in graph.edges:
        style = _DASHED.get(edge.label, "solid")
        attributes = f"label={quote(truncate(caption(edge)))}, tooltip={quote(edge.label)}, style={style}"
        yield f"  {short[edge.from_id]} -> {short[edge.to_id]} [{attributes}];"
    yield "}"


def quote(*lines: str) -> str:
    """Return a quoted string; Graphviz interprets backslashes, quotes and HTML entities."""
    texts = []
    for line in lines:
        text = _CONTROL.sub("\ufffd", line).replace("\\", "\\\\").replace('"', '\\"').replace("&", "&amp;")
        texts.append(text.replace("\n", "\\n"))
    return '"' + "\\n".join(texts) + '"'
