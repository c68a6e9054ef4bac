"""Titles, captions and safe texts of vertices and edges, shared by the formats."""

import re
from collections.abc import Iterable

from lineage_merge.graph_format.elements import COLUMN, Edge, Subgraph, Vertex, title_in
from lineage_merge.model.elements import dataset_of
from lineage_merge.naming.jobs import DECLARED, declaration_in


def title(graph: Subgraph, vertex: Vertex) -> str:
    """Return the title; that of a column contains its dataset's title if known."""
    return title_in(graph.vertices, vertex.id)


def owners_of_columns(graph: Subgraph) -> dict[str, str]:
    """Return the dataset of each column and field that the edges of a graph lead to, by id."""
    above = {edge.to_id: edge.from_id for edge in graph.edges if edge.label == "has_column"}
    owners = dict(above)
    for column, owner in above.items():
        while owner in above:
            owner = above[owner]
        # Of a walk of columns, the graph has no dataset.
        owners[column] = dataset_of(owner) if graph.vertices[owner].label == COLUMN else owner
    return owners


def caption(edge: Edge) -> str:
    """Return the caption of an edge: job, transformation and expression."""
    said = [edge.job] if edge.label in ("feeds", "writes") else []
    said += [transformation(edge), str(edge.properties.get("expression", "")), declaration(edge)]
    if "via" in edge.properties:
        said.append(f"via {edge.properties['via']}")
    if edge.properties.get("column_lineage") == "unavailable":
        said.append("column lineage unavailable")
    if edge.properties.get("undeclared") == "true":
        said.append("undeclared")
    if edge.properties.get("reads") == "metadata":
        said.append("metadata only")
    return "  ".join(phrase for phrase in said if phrase)


def declaration(edge: Edge) -> str:
    """Return who declares an edge and why, "" if a tool reports it."""
    return declaration_in(edge.properties)


def declarations(edges: Iterable[Edge]) -> str:
    """Return the declarations of edges, each once, "" if tools report all of them.

    Edges of columns do not say more than those of their datasets.
    """
    texts = {declaration(edge) for edge in edges} - {""}
    return "; ".join(sorted(texts - {DECLARED})) or "".join(texts)


def transformation(edge: Edge) -> str:
    """Return how an edge between columns transforms, "" if it says nothing: ``IDENTITY (assumed)``."""
    how = str(edge.properties.get("transformation", ""))
    return f"{how} (assumed)" if edge.properties.get("assumed") == "true" else how


# Of a set of characters: controls above ASCII's first ones, and those that change the direction of text.
OBEYED = "\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069"
_CONTROL = re.compile(f"[\x00-\x08\x0e-\x1b{OBEYED}\ud800-\udfff]")


def one_line(text: str) -> str:
    """Return one line without control characters, safe for terminals."""
    return " ".join(_CONTROL.sub("\ufffd", text).split())


def truncate(text: str, most: int = 120) -> str:
    """Return one line of at most `most` characters."""
    line = " ".join(text.split())
    return line if len(line) <= most else f"{line[: most - 1]}…"


_IMPOSSIBLE = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def xml_characters(text: str) -> str:
    """Replace characters that XML cannot represent by U+FFFD."""
    return _IMPOSSIBLE.sub("\ufffd", text)
