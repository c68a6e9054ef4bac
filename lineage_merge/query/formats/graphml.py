"""A subgraph as GraphML, which Gephi, yEd, Cytoscape and NetworkX read."""

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any
from xml.sax.saxutils import escape, quoteattr

from lineage_merge.query.elements import Edge, Subgraph, Vertex

_HEAD = (
    '<?xml version="1.0" encoding="UTF-8"?>\n'
    '<graphml xmlns="http://graphml.graphdrawing.org/xmlns"'
    ' xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance"'
    ' xsi:schemaLocation="http://graphml.graphdrawing.org/xmlns'
    ' http://graphml.graphdrawing.org/xmlns/1.0/graphml.xsd">'
)
# What XML 1.0 cannot hold, however it is written.
_IMPOSSIBLE = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def graphml(graph: Subgraph) -> str:
    """The subgraph: vertex and edge ids are those of the graph, `label` and all properties are data.

    A set is one text, its values joined with ", ". A character that XML cannot hold is U+FFFD.
    """
    return "\n".join(_lines(graph)) + "\n"


def _lines(graph: Subgraph) -> Iterator[str]:
    vertices = graph.vertices.values()
    yield _HEAD
    yield from _keys("node", vertices)
    yield from _keys("edge", graph.edges)
    yield '  <graph id="lineage" edgedefault="directed">'
    for vertex in vertices:
        yield f"    <node id={_attribute(vertex.id)}>{_data('node', vertex)}</node>"
    for edge in graph.edges:
        ends = f"source={_attribute(edge.from_id)} target={_attribute(edge.to_id)}"
        yield f"    <edge id={_attribute(edge.id)} {ends}>{_data('edge', edge)}</edge>"
    yield "  </graph>"
    yield "</graphml>"


def _keys(kind: str, elements: Iterable[Vertex | Edge]) -> Iterator[str]:
    types: dict[str, str] = {"label": "string"}
    for each in elements:
        for name, value in each.properties.items():
            types[name] = "long" if isinstance(value, int) and types.get(name) != "string" else "string"
    for name, kind_of_value in sorted(types.items()):
        attributes = f'for="{kind}" attr.name={_attribute(name)} attr.type="{kind_of_value}"'
        yield f"  <key id={_attribute(f'{kind}.{name}')} {attributes}/>"


def _data(kind: str, element: Vertex | Edge) -> str:
    values: Mapping[str, Any] = {"label": element.label, **element.properties}
    return "".join(
        f"<data key={_attribute(f'{kind}.{name}')}>{_text(value)}</data>"
        for name, value in sorted(values.items())
    )


def _attribute(text: str) -> str:
    return quoteattr(_IMPOSSIBLE.sub("\ufffd", text), {"\n": "&#10;", "\r": "&#13;", "\t": "&#9;"})


def _text(value: Any) -> str:
    text = ", ".join(value) if isinstance(value, tuple) else str(value)
    # A reader of XML makes a line feed of a carriage return that is not written so.
    return escape(_IMPOSSIBLE.sub("\ufffd", text), {"\r": "&#13;"})
