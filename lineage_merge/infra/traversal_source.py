"""Traversal sources, and elements with their properties, for gremlinpython 3.7 and 3.8.

They have neither a common function to create a source nor a common name for the step that drops all results
(`none` in 3.7, `discard` in 3.8, which `iterate` sends too): traversals end in `count`, or in `to_list` for
small results.
"""

import asyncio
from typing import Any

from gremlin_python.driver.remote_connection import RemoteStrategy
from gremlin_python.process.graph_traversal import GraphTraversal, GraphTraversalSource, __
from gremlin_python.process.traversal import T, TraversalStrategies
from gremlin_python.structure.graph import Graph


def source(connection: Any = None) -> GraphTraversalSource:
    """Return a traversal source over a `DriverRemoteConnection`, or one that only builds traversals."""
    strategies = TraversalStrategies()
    if connection is not None:
        strategies.add_strategies([RemoteStrategy(connection)])
    return GraphTraversalSource(Graph(), strategies)


def project_vertices(vertices: GraphTraversal) -> GraphTraversal:
    """Return vertices with all properties."""
    return vertices.project("id", "label", "properties").by(T.id).by(T.label).by(__.value_map())


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


def vertices_at(g: GraphTraversalSource, ids: list[str]) -> GraphTraversal:
    """Return vertices by id, with all properties."""
    return project_vertices(g.V(*ids))


def is_in_event_loop() -> bool:
    """Return whether the caller runs in an event loop, as in a notebook's cells."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True
