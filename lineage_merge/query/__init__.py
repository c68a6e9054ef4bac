"""Queries on the graph, shared by the command line, the page and notebooks.

The public Python interface is in `__all__` (docs/python.md); the modules below are internal.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from lineage_merge.query.elements import Edge as Edge
    from lineage_merge.query.elements import Subgraph as Subgraph
    from lineage_merge.query.elements import Vertex as Vertex
    from lineage_merge.query.interface.lineage import Lineage as Lineage
    from lineage_merge.query.interface.result import Result as Result

# Imported on first use: every module of this package imports this one.
_PUBLIC = {
    "Edge": "lineage_merge.query.elements",
    "Lineage": "lineage_merge.query.interface.lineage",
    "Result": "lineage_merge.query.interface.result",
    "Subgraph": "lineage_merge.query.elements",
    "Vertex": "lineage_merge.query.elements",
}
__all__ = ["Edge", "Lineage", "Result", "Subgraph", "Vertex"]


def __getattr__(name: str) -> Any:
    """Import a public class on first use."""
    if name in _PUBLIC:
        return getattr(import_module(_PUBLIC[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
