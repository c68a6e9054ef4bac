"""Traversals that read vertices and edges with all their properties."""

from gremlin_python.process.graph_traversal import GraphTraversal, GraphTraversalSource, __
from gremlin_python.process.traversal import T

# Suffix of an edge's interim id while `load.label_replacement` recreates its vertex.
INTERIM = "~"


def vertices_by_id(g: GraphTraversalSource, ids: list[str]) -> GraphTraversal:
    """Return vertices with all properties."""
    return g.V(*ids).project("id", "label", "properties").by(T.id).by(T.label).by(__.value_map())


def project_edges(edges: GraphTraversal) -> GraphTraversal:
    """Return edges with their ends and all properties."""
    return (
        edges.project("id", "label", "from", "to", "properties")
        .by(T.id)
        .by(T.label)
        .by(__.out_v().id_())
        .by(__.in_v().id_())
        .by(__.value_map())
    )
