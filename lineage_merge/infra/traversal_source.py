"""Traversal sources for gremlinpython 3.7 and 3.8, which have no common function to create one.

They have no common name for the step that drops all results either (`none` in 3.7, `discard` in 3.8, which
`iterate` sends too): traversals end in `count`, or in `to_list` for small results.
"""

from typing import Any

from gremlin_python.driver.remote_connection import RemoteStrategy
from gremlin_python.process.graph_traversal import GraphTraversalSource
from gremlin_python.process.traversal import TraversalStrategies
from gremlin_python.structure.graph import Graph


def source(connection: Any = None) -> GraphTraversalSource:
    """Return a traversal source over a `DriverRemoteConnection`, or one that only builds traversals."""
    strategies = TraversalStrategies()
    if connection is not None:
        strategies.add_strategies([RemoteStrategy(connection)])
    return GraphTraversalSource(Graph(), strategies)
