"""The graph as plain Python values, so that tests compare whole graphs."""

from typing import Any

from gremlin_python.process.graph_traversal import GraphTraversalSource, __
from gremlin_python.process.traversal import T

Edges = set[tuple[str, str, str]]


def edges_of(g: GraphTraversalSource) -> Edges:
    """(from, label, to) of every edge."""
    found = (
        g.E().project("from", "label", "to").by(__.out_v().id_()).by(T.label).by(__.in_v().id_()).to_list()
    )
    return {(edge["from"], edge["label"], edge["to"]) for edge in found}


def labels_of(g: GraphTraversalSource) -> dict[str, str]:
    """The label of every vertex, by id."""
    found: dict[str, str] = g.V().group().by(T.id).by(__.label()).next()
    return found


def whole(g: GraphTraversalSource) -> tuple[dict[str, Any], dict[str, Any]]:
    """All there is: every vertex and edge with label and properties, sets sorted."""
    vertices = {
        vertex["id"]: (vertex["label"], {key: sorted(values) for key, values in vertex["properties"].items()})
        for vertex in g.V()
        .project("id", "label", "properties")
        .by(T.id)
        .by(T.label)
        .by(__.value_map())
        .to_list()
    }
    edges = {
        edge["id"]: (edge["from"], edge["label"], edge["to"], edge["properties"])
        for edge in g.E()
        .project("id", "from", "label", "to", "properties")
        .by(T.id)
        .by(__.out_v().id_())
        .by(T.label)
        .by(__.in_v().id_())
        .by(__.value_map())
        .to_list()
    }
    return vertices, edges
