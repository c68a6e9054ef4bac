"""A subgraph as GraphML, which Gephi, yEd, Cytoscape and NetworkX read."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any
from xml.sax.saxutils import escape, quoteattr

from lineage_merge.graph_format.elements import Edge, Subgraph, Vertex
from lineage_merge.graph_format.schema import EDGE_PROPERTIES, NODE_PROPERTIES, Property
from lineage_merge.questions.formats.describe import xml_characters

_HEAD = (
    '<?xml version="1.0" encoding="UTF-8"?>\n'
    '<graphml xmlns="http://graphml.graphdrawing.org/xmlns"'
    ' xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance"'
    ' xsi:schemaLocation="http://graphml.graphdrawing.org/xmlns'
    ' http://graphml.graphdrawing.org/xmlns/1.0/graphml.xsd">'
)

# GraphML types by name of the property.
_Types = Mapping[str, str]


def graphml(graph: Subgraph) -> str:
    """Return the subgraph with the ids of the graph; `label` and all properties are data.

    Sets are joined with ", ". Characters that XML cannot represent become U+FFFD.
    """
    vertices = graph.vertices.values()
    elements: tuple[Vertex | Edge, ...] = (*vertices, *graph.edges)
    return "\n".join(_lines(elements, _types(vertices), _types(graph.edges))) + "\n"


def write_elements(elements: Iterable[Vertex | Edge]) -> Iterator[str]:
    """Yield the lines, without line ends, for any number of elements; vertices must come first.

    The head of the file declares all possible keys, because the elements are not known yet.
    """
    return _lines(elements, _declare(NODE_PROPERTIES), _declare(EDGE_PROPERTIES))


def _lines(elements: Iterable[Vertex | Edge], of_nodes: _Types, of_edges: _Types) -> Iterator[str]:
    yield _HEAD
    yield from _keys("node", of_nodes)
    yield from _keys("edge", of_edges)
    yield '  <graph id="lineage" edgedefault="directed">'
    for element in elements:
        if isinstance(element, Vertex):
            yield f"    <node id={_attribute(element.id)}>{_data('node', element)}</node>"
        else:
            ends = f"source={_attribute(element.from_id)} target={_attribute(element.to_id)}"
            yield f"    <edge id={_attribute(element.id)} {ends}>{_data('edge', element)}</edge>"
    yield "  </graph>"
    yield "</graphml>"


def _types(elements: Iterable[Vertex | Edge]) -> _Types:
    """Return the types of the properties of these elements."""
    types: dict[str, str] = {"label": "string"}
    for element in elements:
        for name, value in element.properties.items():
            types[name] = "long" if isinstance(value, int) and types.get(name) != "string" else "string"
    return types


def _declare(properties: Iterable[Property]) -> _Types:
    """Return the types of all properties of the graph model."""
    keys = dict.fromkeys(("label", "environment", "dag_name"), "string")
    return keys | {key.name: key.type for key in properties}


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
    return quoteattr(xml_characters(text), {"\n": "&#10;", "\r": "&#13;", "\t": "&#9;"})


def _text(value: Any) -> str:
    text = ", ".join(value) if isinstance(value, tuple) else str(value)
    # XML parsers convert unescaped carriage returns to line feeds.
    return escape(xml_characters(text), {"\r": "&#13;"})
