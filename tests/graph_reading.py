"""The graph as plain Python values, so that tests compare whole graphs."""

from typing import Any

from gremlin_python.process.graph_traversal import GraphTraversalSource, __
from gremlin_python.process.traversal import P, T

Edges = set[tuple[str, str, str]]


def edges_of(g: GraphTraversalSource, *labels: str) -> Edges:
    """(from, label, to) of every edge with one of the labels: between datasets, if none is named."""
    found = (
        g.E()
        .has_label(*(labels or ("feeds", "writes")))
        .project("from", "label", "to")
        .by(__.out_v().id_())
        .by(T.label)
        .by(__.in_v().id_())
        .to_list()
    )
    return {(edge["from"], edge["label"], edge["to"]) for edge in found}


def columns_of(g: GraphTraversalSource) -> set[tuple[str, str, str]]:
    """(from, transformation, to) of every `feeds_column`."""
    found = (
        g.E()
        .has_label("feeds_column")
        .project("from", "transformation", "to")
        .by(__.out_v().id_())
        .by("transformation")
        .by(__.in_v().id_())
        .to_list()
    )
    return {(edge["from"], edge["transformation"], edge["to"]) for edge in found}


def labels_of(g: GraphTraversalSource) -> dict[str, str]:
    """The label of every vertex of lineage, by id."""
    vertices = g.V().has_label(P.without(["merge_run", "merge_state"]))
    found: dict[str, str] = vertices.group().by(T.id).by(__.label()).next()
    return found


def whole(g: GraphTraversalSource, *, merge_runs: bool = False) -> tuple[dict[str, Any], dict[str, Any]]:
    """All there is: every vertex and edge with label and properties, sets sorted.

    `merge_run` vertices only if they are asked for: they differ after each merge. What a load leaves for the
    next one (`merge_state`) is no lineage, and when it created an element (`first_seen`) differs, too.
    """
    hidden = ["merge_state"] if merge_runs else ["merge_run", "merge_state"]
    every = g.V().has_label(P.without(hidden))
    vertices = {
        vertex["id"]: (vertex["label"], _sorted(vertex["properties"]))
        for vertex in every.project("id", "label", "properties")
        .by(T.id)
        .by(T.label)
        .by(__.value_map())
        .to_list()
    }
    edges = {
        edge["id"]: (edge["from"], edge["label"], edge["to"], _without_time(edge["properties"]))
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


def _sorted(properties: dict[str, list[Any]]) -> dict[str, list[Any]]:
    return {key: sorted(values, key=repr) for key, values in _without_time(properties).items()}


def _without_time(properties: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in properties.items() if key != "first_seen"}
