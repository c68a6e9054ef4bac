"""Embedded graphs that are written without a server."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from lineage_merge.infra.embedded.element_batches import GraphTables, table_of
from lineage_merge.infra.embedded.graph_store import write_snapshot


def write_graph(
    graph: Path, nodes: Iterable[Mapping[str, Any]] = (), edges: Iterable[Mapping[str, Any]] = ()
) -> Path:
    """Write rows of nodes and edges as an embedded graph; returns its folder."""
    write_snapshot(graph, GraphTables(table_of("vertices", nodes), table_of("edges", edges)))
    return graph
