"""What every format says of a vertex and an edge."""

import re

from lineage_merge.query.elements import COLUMN, Edge, Subgraph, Vertex, dataset_of


def title(graph: Subgraph, vertex: Vertex) -> str:
    """The title; a column's is under the name that its dataset goes by, where that is known."""
    owner = graph.vertices.get(dataset_of(vertex.id)) if vertex.label == COLUMN else None
    return f"{owner.title}#{vertex.name}" if owner else vertex.title


def caption(edge: Edge) -> str:
    """What stands on an edge: the job, and of columns what happens to them."""
    said = [edge.job] if edge.label in ("feeds", "writes") else []
    said += [str(edge.properties[key]) for key in ("transformation", "expression") if key in edge.properties]
    if "via" in edge.properties:
        said.append(f"via {edge.properties['via']}")
    if edge.properties.get("column_lineage") == "unavailable":
        said.append("column lineage unavailable")
    if edge.properties.get("undeclared") == "true":
        said.append("undeclared")
    return "  ".join(each for each in said if each)


# With those that turn a line's direction, and all that stands behind them in it.
_CONTROL = re.compile("[\x00-\x08\x0e-\x1b\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


def one_line(text: str) -> str:
    """A text that does nothing to a terminal but stand there."""
    return " ".join(_CONTROL.sub("\ufffd", text).split())


def shortened(text: str, most: int = 120) -> str:
    """One line of at most so many characters."""
    line = " ".join(text.split())
    return line if len(line) <= most else f"{line[: most - 1]}…"
