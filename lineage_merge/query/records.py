"""Flat records of vertices and edges. Pure."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from lineage_merge.graph_format.elements import Edge, Subgraph, Vertex
from lineage_merge.questions.formats.describe import title

VERTEX_COLUMNS: Mapping[str, type] = {
    "id": str,
    "label": str,
    "name": str,
    "title": str,
    "environment": str,
    "dags": tuple,
}
EDGE_COLUMNS: Mapping[str, type] = {
    "from_id": str,
    "to_id": str,
    "label": str,
    "from": str,
    "to": str,
    "job": str,
    "dag": str,
    "transformation": str,
    "expression": str,
    "write_mode": str,
    "via": str,
}
# Properties of the newest run of a job.
RUN_COLUMNS: Mapping[str, type] = {
    "status": str,
    "last_run_id": str,
    "last_run_at": datetime,
    "duration_ms": int,
    "rows_written": int,
}


def vertex_record(vertex: Vertex) -> dict[str, Any]:
    """Return a record with `VERTEX_COLUMNS`."""
    return {
        "id": vertex.id,
        "label": vertex.label,
        "name": vertex.name,
        "title": vertex.title,
        "environment": vertex.environment,
        "dags": vertex.dags,
    }


def edge_record(graph: Subgraph, edge: Edge) -> dict[str, Any]:
    """Return a record with `EDGE_COLUMNS`; None: the edge has no such property."""
    held = edge.properties
    return {
        "from_id": edge.from_id,
        "to_id": edge.to_id,
        "label": edge.label,
        "from": title(graph, graph.vertices[edge.from_id]),
        "to": title(graph, graph.vertices[edge.to_id]),
        "job": edge.job or None,
        "dag": held.get("dag_name"),
        **{key: held.get(key) for key in ("transformation", "expression", "write_mode", "via")},
    }
