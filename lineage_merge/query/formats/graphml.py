"""A subgraph as GraphML, which Gephi, yEd, Cytoscape and NetworkX read."""

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any
from xml.sax.saxutils import escape, quoteattr

from lineage_merge.graph_format.schema import EDGE_PROPERTIES, NODE_PROPERTIES, Property
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


# Names of properties and GraphML's types of them.
_Types = Mapping[str, str]


def graphml(graph: Subgraph) -> str:
    """The subgraph: vertex and edge ids are those of the graph, `label` and all properties are data.

    A set is one text, its values joined with ", ". A character that XML cannot hold is U+FFFD.
    """
    vertices = graph.vertices.values()
    elements: tuple[Vertex | Edge, ...] = (*vertices, *graph.edges)
    return "\n".join(_lines(elements, _types(vertices), _types(graph.edges))) + "\n"


def streamed(elements: Iterable[Vertex | Edge]) -> Iterator[str]:
    """The same of any number of elements, line by line, without line ends; vertices come first.

    Keys stand at the head of the file, before anything is known of what follows: all that there can be.
    """
    return _lines(elements, _declared(NODE_PROPERTIES), _declared(EDGE_PROPERTIES))


def _lines(elements: Iterable[Vertex | Edge], of_nodes: _Types, of_edges: _Types) -> Iterator[str]:
    yield _HEAD
    yield from _keys("node", of_nodes)
    yield from _keys("edge", of_edges)
    yield '  <graph id="lineage" edgedefault="directed">'
    for each in elements:
        if isinstance(each, Vertex):
            yield f"    <node id={_attribute(each.id)}>{_data('node', each)}</node>"
        else:
            ends = f"source={_attribute(each.from_id)} target={_attribute(each.to_id)}"
            yield f"    <edge id={_attribute(each.id)} {ends}>{_data('edge', each)}</edge>"
    yield "  </graph>"
    yield "</graphml>"


def _types(elements: Iterable[Vertex | Edge]) -> _Types:
    """Of the properties that these elements have."""
    types: dict[str, str] = {"label": "string"}
    for each in elements:
        for name, value in each.properties.items():
            types[name] = "long" if isinstance(value, int) and types.get(name) != "string" else "string"
    return types


def _declared(properties: Iterable[Property]) -> _Types:
    """Of all properties that the graph model has."""
    keys = dict.fromkeys(("label", "environment", "dag_name"), "string")
    return keys | {each.name: each.type for each in properties}


def _keys(kind: str, types: _Types) -> Iterator[str]:
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
