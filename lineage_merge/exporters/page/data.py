"""Data of the page: the graph as one JSON object, with list indexes instead of ids (pure).

::

    datasets  [{id, kind, name, title, namespace, path, environment, dags, facts, columns}]
              columns: [[name, type, description]], facts: [[what, text]]
    jobs      [{name, type, dag, environment, facts}]
    dags      [name]
    feeds         [[dataset, dataset, job, facts]]
    column_feeds  [[dataset, column, dataset, column, job, transformation, expression]]
    influences    [[dataset, column, dataset, job, transformation]]
    writes        [[job, dataset]]

Datasets, jobs and DAGs are indexes of their lists, columns are indexes of their dataset's `columns`.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime
from typing import Any

from lineage_merge.infra.redaction import redact, redact_sql
from lineage_merge.query.elements import COLUMN, JOB, Edge, Subgraph, Vertex, dataset_of, name_parts

_DATASET_FACTS = (
    "description",
    "qualified_name",
    "format",
    "location",
    "tags",
    "owners",
    "url",
    "aliases",
)
_JOB_FACTS = (
    "framework",
    "project",
    "status",
    "last_run_id",
    "last_run_at",
    "duration_ms",
    "rows_written",
    "owners",
    "tags",
)
_FEEDS_FACTS = ("operations", "write_mode", "via", "column_lineage", "sequence")
_TIMES = frozenset({"last_run_at"})


class _Numbered:
    """Assigns consecutive indexes to keys, in the order of first use."""

    def __init__(self) -> None:
        self._places: dict[tuple[str, ...], int] = {}

    def __call__(self, *key: str) -> int:
        return self._places.setdefault(key, len(self._places))

    def __iter__(self) -> Iterator[tuple[str, ...]]:
        return iter(self._places)


def page_data(graph: Subgraph) -> dict[str, Any]:
    """Return the graph in the format of the module's docstring; columns are ordered by position."""
    dags, jobs = _Numbered(), _Numbered()
    columns = _columns(graph)
    datasets = graph.datasets
    place = {each.id: number for number, each in enumerate(datasets)}
    column_place = {
        column.id: (place[dataset], number)
        for dataset, held in columns.items()
        for number, column in enumerate(held)
    }
    feeds: list[list[Any]] = []
    column_feeds: list[list[Any]] = []
    influences: list[list[Any]] = []
    writes: set[tuple[int, int]] = set()
    for edge in graph.edges:
        if edge.label == "feeds" and edge.from_id in place and edge.to_id in place:
            facts = _facts(edge.properties, _FEEDS_FACTS)
            feeds.append([place[edge.from_id], place[edge.to_id], jobs(*_job_of(edge)), facts])
        elif edge.label == "feeds_column" and edge.from_id in column_place and edge.to_id in column_place:
            how = [_text(edge, "transformation"), redact_sql(str(edge.properties.get("expression", "")))]
            ends = [*column_place[edge.from_id], *column_place[edge.to_id]]
            column_feeds.append([*ends, jobs(*_job_of(edge)), *how])
        elif edge.label == "influences" and edge.from_id in column_place and edge.to_id in place:
            ends = [*column_place[edge.from_id], place[edge.to_id]]
            influences.append([*ends, jobs(*_job_of(edge)), _text(edge, "transformation")])
        elif edge.label == "writes" and edge.to_id in place:
            writes.add((jobs(*_job_of(edge)), place[edge.to_id]))
    facts_of_job = _facts_of_jobs(graph)
    for key in facts_of_job:
        jobs(*key)
    return {
        "datasets": [_dataset(each, columns.get(each.id, []), dags) for each in datasets],
        "jobs": [
            {
                "environment": environment,
                "dag": dags(dag),
                "type": kind,
                "name": safe(name),
                "facts": facts_of_job.get((environment, dag, kind, name), []),
            }
            for environment, dag, kind, name in jobs
        ],
        "feeds": feeds,
        "column_feeds": column_feeds,
        "influences": influences,
        "writes": sorted(writes),
        "dags": [name for (name,) in dags],
    }


def safe(text: str) -> str:
    """Return text without passwords; graphs of other versions or programs may contain some."""
    return redact(text)


def safe_id(identifier: str) -> str:
    """Return a vertex id without passwords; each part, separated by ``|``, may be an address."""
    return "|".join(safe(part) for part in identifier.split("|"))


def _columns(graph: Subgraph) -> dict[str, list[Vertex]]:
    held: defaultdict[str, list[Vertex]] = defaultdict(list)
    for vertex in graph.vertices.values():
        if vertex.label == COLUMN and dataset_of(vertex.id) in graph.vertices:
            held[dataset_of(vertex.id)].append(vertex)
    last = float("inf")
    for columns in held.values():
        columns.sort(key=lambda each: (each.properties.get("position", last), each.name, each.id))
    return {dataset: columns for dataset, columns in held.items() if graph.vertices[dataset].is_dataset}


def _dataset(vertex: Vertex, columns: list[Vertex], dags: _Numbered) -> dict[str, Any]:
    _, namespace, path = name_parts(vertex.id)
    return {
        "id": safe_id(vertex.id),
        "kind": vertex.label,
        "name": safe(vertex.name),
        "title": safe(vertex.title),
        "namespace": safe(namespace),
        "path": safe(path),
        "environment": vertex.environment,
        "dags": [dags(name) for name in vertex.dags],
        "facts": _facts(vertex.properties, _DATASET_FACTS),
        "columns": [
            [
                redact_sql(each.name),
                str(each.properties.get("data_type", "")),
                _shown(each.properties.get("description", "")),
            ]
            for each in columns
        ],
    }


def _facts_of_jobs(graph: Subgraph) -> dict[tuple[str, str, str, str], list[list[str]]]:
    found: dict[tuple[str, str, str, str], list[list[str]]] = {}
    for vertex in graph.vertices.values():
        if vertex.label == JOB:
            for dag in vertex.dags:
                kind = str(vertex.properties.get("job_type", ""))
                found[vertex.environment, dag, kind, vertex.name] = _facts(vertex.properties, _JOB_FACTS)
    return found


def _job_of(edge: Edge) -> tuple[str, str, str, str]:
    environment, dag, kind = (
        str(edge.properties.get(key, "")) for key in ("environment", "dag_name", "job_type")
    )
    return environment, dag, kind, edge.job


def _facts(properties: Mapping[str, Any], keys: Iterable[str]) -> list[list[str]]:
    facts = []
    for key in keys:
        value = properties.get(key)
        if value is None or value == "" or value == ():
            continue
        if key in _TIMES:
            value = datetime.fromtimestamp(int(value) / 1000, tz=UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
        facts.append([key.replace("_", " "), _shown(value)])
    return facts


def _shown(value: Any) -> str:
    if isinstance(value, list | tuple):
        return "\n".join(safe(str(each)) for each in value)
    return safe(str(value))


def _text(edge: Edge, key: str) -> str:
    return _shown(edge.properties.get(key, ""))
