"""Vertices and edges with all that they hold: the questions that every reader of the graph asks."""

from gremlin_python.process.graph_traversal import GraphTraversal, GraphTraversalSource, __
from gremlin_python.process.traversal import T

# What stands behind an edge's id while `load.label_replacement` makes the edge anew.
INTERIM = "~"


def vertices_by_id(g: GraphTraversalSource, ids: list[str]) -> GraphTraversal:
    """Vertices with all they hold."""
    return g.V(*ids).project("id", "label", "properties").by(T.id).by(T.label).by(__.value_map())


def project_edges(edges: GraphTraversal) -> GraphTraversal:
    """Edges with their ends and all they hold."""
    return (
        edges.project("id", "label", "from", "to", "properties")
        .by(T.id)
        .by(T.label)
        .by(__.out_v().id_())
        .by(__.in_v().id_())
        .by(__.value_map())
    )
