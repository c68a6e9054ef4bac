"""Embedded graphs that are written and read without a load."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from lineage_merge.graph_format.arrow import rows_of_table
from lineage_merge.infra.embedded.graph_store import GraphFolder, write_snapshot
from lineage_merge.infra.embedded.graph_tables import GraphTables, table_of


def write_graph(
    graph: Path, nodes: Iterable[Mapping[str, Any]] = (), edges: Iterable[Mapping[str, Any]] = ()
) -> Path:
    """Write rows of nodes and edges as an embedded graph; returns its folder."""
    write_snapshot(graph, GraphTables(table_of("vertices", nodes), table_of("edges", edges)))
    return graph


def whole_folder(graph: Path, *, merge_runs: bool = False) -> tuple[dict[str, Any], dict[str, Any]]:
    """All there is, in the form of `graph_reading.whole`."""
    tables = GraphFolder(graph).read()
    hidden = ["merge_state"] if merge_runs else ["merge_run", "merge_state"]
    vertices = {
        row["id"]: (row["label"], {key: _sorted(value) for key, value in _properties(row).items()})
        for row in rows_of_table(tables.vertices)
        if row["label"] not in hidden
    }
    edges = {
        row["id"]: (row["from"], row["label"], row["to"], _properties(row))
        for row in rows_of_table(tables.edges)
    }
    return vertices, edges


def _properties(row: dict[str, Any]) -> dict[str, Any]:
    keys = ("id", "label", "from", "to", "first_seen")
    return {key: value for key, value in row.items() if key not in keys}


def _sorted(value: Any) -> list[Any]:
    return sorted(value, key=repr) if isinstance(value, list) else [value]
