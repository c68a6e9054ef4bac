"""Tests and data quality checks in the page's data (pure).

::

    assertions  [[name, type, severity, status, failures, finished, checks, facts, freshness]]
                checks: [[dataset, column]], column -1: the dataset itself
                failures, finished (ms since 1970): null if there was no run
                freshness: [newest row, warn after, fail after] in ms, only of a freshness check
"""

from collections import defaultdict
from collections.abc import Mapping
from typing import Any

from lineage_merge.exporters.page.facts import facts, safe, shown
from lineage_merge.graph_format.elements import Subgraph, Vertex
from lineage_merge.infra.redaction import redact_sql

_FACTS = ("description", "job_name", "duration_ms", "file_path", "owners", "tags")
_FRESHNESS = ("max_loaded_at", "warn_after_ms", "error_after_ms")


def assertions(
    graph: Subgraph, place: Mapping[str, int], column_place: Mapping[str, tuple[int, int]]
) -> list[list[Any]]:
    """Return the assertions of the datasets and columns with these indexes."""
    checks: defaultdict[str, list[tuple[int, int]]] = defaultdict(list)
    compared: defaultdict[str, list[str]] = defaultdict(list)
    for edge in graph.edges:
        if edge.label == "checks" and edge.to_id in place:
            checks[edge.from_id].append((place[edge.to_id], -1))
        elif edge.label == "checks" and edge.to_id in column_place:
            checks[edge.from_id].append(column_place[edge.to_id])
        elif edge.label == "references":
            compared[edge.from_id].append(graph.vertices[edge.to_id].title)
    vertices = graph.vertices
    return [
        _row(vertices[each], checks[each], compared[each])
        for each in sorted(checks)
        if vertices[each].label == "assertion"
    ]


def _row(vertex: Vertex, checks: list[tuple[int, int]], compared: list[str]) -> list[Any]:
    properties = vertex.properties
    known = facts(properties, _FACTS)
    if column := properties.get("column_name"):
        known.append(["checks", redact_sql(str(column))])
    if compared:
        known.append(["compared with", shown(sorted(compared))])
    if vertex.dags:
        known.append(["DAG", shown(vertex.dags)])
    row = [
        safe(vertex.name),
        *(safe(str(properties.get(key, ""))) for key in ("assertion_type", "severity", "status")),
        properties.get("failures"),
        properties.get("last_run_at"),
        [list(each) for each in sorted(checks)],
        known,
    ]
    if properties.get("assertion_type") == "freshness":
        row.append([properties.get(key) for key in _FRESHNESS])
    return row
