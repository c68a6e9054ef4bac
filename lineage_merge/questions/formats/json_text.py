"""A subgraph as JSON, for scripts."""

import json
from collections.abc import Mapping
from typing import Any

from lineage_merge.graph_format.elements import Edge, Subgraph, Vertex


def as_json(graph: Subgraph) -> dict[str, Any]:
    """Return the subgraph in a stable JSON format, to which only fields are added::

        {"vertices": [{"id": "dev|s3://tickit-raw|sales", "label": "file", "name": "sales",
                       "properties": {"environment": "dev", "dag_name": ["tickit_daily"], ...}}],
         "edges": [{"id": "0f...", "label": "feeds", "from": "<vertex id>", "to": "<vertex id>",
                    "properties": {"dag_name": "tickit_daily", "job_name": "ingest", ...}}]}

    Both lists are in a fixed order; `from` and `to` are ids of vertices. The possible properties are defined
    in `graph_format/node.schema.json` and `edge.schema.json`; empty ones are omitted; sets are sorted lists.
    """
    return {
        "vertices": [vertex_as_json(vertex) for vertex in graph.vertices.values()],
        "edges": [edge_as_json(edge) for edge in graph.edges],
    }


def vertex_as_json(vertex: Vertex) -> dict[str, Any]:
    """Return an item of `vertices`."""
    return {
        "id": vertex.id,
        "label": vertex.label,
        "name": vertex.name,
        "properties": _plain(vertex.properties),
    }


def edge_as_json(edge: Edge) -> dict[str, Any]:
    """Return an item of `edges`."""
    return {
        "id": edge.id,
        "label": edge.label,
        "from": edge.from_id,
        "to": edge.to_id,
        "properties": _plain(edge.properties),
    }


def json_text(values: Mapping[str, Any]) -> str:
    """Return JSON text, without escaping non-ASCII characters."""
    return json.dumps(values, indent=2, ensure_ascii=False)


def _plain(properties: Mapping[str, Any]) -> dict[str, Any]:
    return {
        key: list(value) if isinstance(value, tuple) else value for key, value in sorted(properties.items())
    }
