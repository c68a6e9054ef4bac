"""The public Python interface (docs/python.md): `Lineage` opens a graph and answers questions.

It stands on the questions, the history and the configuration; `cli/` and `mcp/` stand on it. The modules
below are internal.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from lineage_merge.graph_format.elements import Edge as Edge
    from lineage_merge.graph_format.elements import Subgraph as Subgraph
    from lineage_merge.graph_format.elements import Vertex as Vertex
    from lineage_merge.query.lineage import Lineage as Lineage
    from lineage_merge.questions.result import Result as Result

# Imported on first use: every module of this package imports this one.
_PUBLIC = {
    "Edge": "lineage_merge.graph_format.elements",
    "Lineage": "lineage_merge.query.lineage",
    "Result": "lineage_merge.questions.result",
    "Subgraph": "lineage_merge.graph_format.elements",
    "Vertex": "lineage_merge.graph_format.elements",
}
__all__ = ["Edge", "Lineage", "Result", "Subgraph", "Vertex"]


def __getattr__(name: str) -> Any:
    """Import a public class on first use."""
    if name in _PUBLIC:
        return getattr(import_module(_PUBLIC[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
