"""A subgraph as JSON, for scripts."""

import json
from collections.abc import Mapping
from typing import Any

from lineage_merge.query.elements import Edge, Subgraph, Vertex


def as_json(graph: Subgraph) -> dict[str, Any]:
    """What is stable, and only grows::

        {"vertices": [{"id": "dev|s3://tickit-raw|sales", "label": "file", "name": "sales",
                       "properties": {"environment": "dev", "dag_name": ["tickit_daily"], ...}}],
         "edges": [{"id": "0f...", "label": "feeds", "from": "<vertex id>", "to": "<vertex id>",
                    "properties": {"dag_name": "tickit_daily", "job_name": "ingest", ...}}]}

    Both lists are in a fixed order; `from` and `to` are ids of the vertices. Which properties there may
    be stands in `graph_format/node.schema.json` and `edge.schema.json`; what an element does not have is left
    out; sets are sorted lists.
    """
    return {
        "vertices": [of_vertex(each) for each in graph.vertices.values()],
        "edges": [of_edge(each) for each in graph.edges],
    }


def of_vertex(vertex: Vertex) -> dict[str, Any]:
    """A vertex as it stands under `vertices`."""
    return {
        "id": vertex.id,
        "label": vertex.label,
        "name": vertex.name,
        "properties": _plain(vertex.properties),
    }


def of_edge(edge: Edge) -> dict[str, Any]:
    """An edge as it stands under `edges`."""
    return {
        "id": edge.id,
        "label": edge.label,
        "from": edge.from_id,
        "to": edge.to_id,
        "properties": _plain(edge.properties),
    }


def json_text(values: Mapping[str, Any]) -> str:
    """Any answer as text, names as they are spelled."""
    return json.dumps(values, indent=2, ensure_ascii=False)


def _plain(properties: Mapping[str, Any]) -> dict[str, Any]:
    return {
        key: list(value) if isinstance(value, tuple) else value for key, value in sorted(properties.items())
    }
