"""Data of the page: the graph as one JSON object, with list indexes instead of ids (pure).

::

    datasets  [{id, kind, name, title, namespace, path, environment, dags, facts, freshness, columns}]
              columns: [[name, type, description, facts, path]], facts: [[what, text]];
              a column without tags, owners, constraints, meta or usage has no facts; path: the names of a
              field from its column down, which only fields have; fields follow their column
              freshness: [status, last update, why, origin], without what is empty at its end;
              why: as text, origin: "age" or "input" of data that is not only stale because of its upstream
    jobs      [{name, type, dag, environment, facts}]
    dags      [name]
    feeds         [[dataset, dataset, job, facts]]
    column_feeds  [[dataset, column, dataset, column, job, transformation, expression, assumed]]
    influences    [[dataset, column, dataset, job, transformation, assumed]]
    writes        [[job, dataset]]
    assertions    as in `lineage_merge.exporters.page.data`
    topics        [{key, title, severity, datasets, entries}]: as in its `topics`
    near_misses   [{written, read, text, fix, is_dismissed}]: ids, as `describe_near_miss` returns them

Datasets, jobs and DAGs are indexes of their lists, columns are indexes of their dataset's `columns`. Only
assumed edges have `assumed`.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from typing import Any, NamedTuple

from lineage_merge.graph_format.elements import (
    COLUMN,
    JOB,
    Edge,
    Subgraph,
    Vertex,
    column_order,
    name_of_id,
    name_parts,
    title_of_id,
)
from lineage_merge.infra.batches import gather
from lineage_merge.infra.redaction import redact, redact_sql
from lineage_merge.merge.report import Dismissed, NearMiss
from lineage_merge.model.elements import dataset_of, structures_of
from lineage_merge.model.times import utc_time
from lineage_merge.questions.traversal.staleness import Freshness, cause_text, expectations_text, reasons_text
from lineage_merge.questions.traversal.usage import Usage

Facts = list[list[str]]

_TIMES = frozenset({"last_run_at"})


def safe(text: str) -> str:
    """Return text without passwords; graphs of other versions or programs may contain some."""
    return redact(text)


def safe_id(identifier: str) -> str:
    """Return a vertex id without passwords; each part, separated by ``|``, may be an address."""
    return "|".join(safe(part) for part in identifier.split("|"))


def facts(properties: Mapping[str, Any], keys: Iterable[str]) -> Facts:
    """Return the properties with these keys that have a value; values of a set are lines."""
    pairs = []
    for key in keys:
        value = properties.get(key)
        if value is None or value == "" or value == () or value == []:
            continue
        if key in _TIMES:
            value = utc_time(int(value), seconds=True)
        pairs.append([key.replace("_", " "), format_value(value)])
    return pairs


def format_value(value: Any) -> str:
    """Return a value as text, a set with one value per line."""
    if isinstance(value, list | tuple):
        return "\n".join(safe(str(item)).replace("\n", " ") for item in value)
    return safe(str(value))


_DATASET_FACTS = tuple(
    """
    description qualified_name format location tags owners materialization version latest_version
    deprecation_date access contract constraints group exposure_type metric_type url maturity meta
    file_path aliases
    """.split()
)
_COLUMN_FACTS = ("tags", "owners", "constraints", "meta")
_JOB_FACTS = tuple(
    "framework project status last_run_id last_run_at duration_ms rows_written owners tags".split()
)
_FEEDS_FACTS = ("operations", "write_mode", "via", "column_lineage", "declared", "reads", "sequence")


class _Numbered:
    """Assigns consecutive indexes to keys, in the order of first use."""

    def __init__(self) -> None:
        self._places: dict[tuple[str, ...], int] = {}

    def __call__(self, *key: str) -> int:
        return self._places.setdefault(key, len(self._places))

    def __iter__(self) -> Iterator[tuple[str, ...]]:
        return iter(self._places)


NO_USAGE: Mapping[str, Usage] = {}


def page_data(
    graph: Subgraph, freshness: Iterable[Freshness] = (), usage: Mapping[str, Usage] = NO_USAGE
) -> dict[str, Any]:
    """Return the graph in the format of the module's docstring; columns are ordered by position.

    Of a dataset that is not in `freshness`, none is shown; `usage`: of datasets and columns, by id.
    """
    columns = columns_of(graph.vertices)
    datasets = graph.datasets
    place = {dataset.id: number for number, dataset in enumerate(datasets)}
    places = Places(place, place_columns(columns, place))
    return numbered_data(graph, datasets, columns, places, freshness_rows(freshness), usage)


class Places(NamedTuple):
    """The indexes of datasets and columns by id; that of a column has its dataset's before."""

    datasets: Mapping[str, int]
    columns: Mapping[str, tuple[int, int]]


def numbered_data(
    graph: Subgraph,
    datasets: Iterable[Vertex],
    columns: Mapping[str, list[Vertex]],
    places: Places,
    freshness: Mapping[str, list[Any]],
    usage: Mapping[str, Usage],
) -> dict[str, Any]:
    """Return these datasets, and the edges of the graph between elements with places, as `page_data` does."""
    dags, jobs = _Numbered(), _Numbered()
    edges = _edges(graph, places.datasets, places.columns, jobs)
    facts_of_job = _facts_of_jobs(graph)
    for key in facts_of_job:
        jobs(*key)
    return {
        "datasets": [
            _dataset(dataset, columns.get(dataset.id, []), dags, freshness.get(dataset.id, []), usage)
            for dataset in datasets
        ],
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
        **edges,
        "assertions": assertions(graph, *places),
        "dags": [name for (name,) in dags],
    }


def freshness_rows(freshness: Iterable[Freshness]) -> dict[str, list[Any]]:
    """Return what the page shows of the freshness of datasets, by id."""
    return {status.dataset.id: _freshness(status) for status in freshness}


def place_columns(
    columns: Mapping[str, list[Vertex]], place: Mapping[str, int]
) -> dict[str, tuple[int, int]]:
    """Return the place of each column: the index of its dataset, and its own among these columns."""
    return {
        column.id: (place[dataset], number)
        for dataset, held in columns.items()
        for number, column in enumerate(held)
    }


def _edges(
    graph: Subgraph, place: Mapping[str, int], column_place: Mapping[str, tuple[int, int]], jobs: _Numbered
) -> dict[str, list[Any]]:
    """Return the edges between datasets and columns with these indexes, and what `jobs` write."""
    rows: dict[str, list[Any]] = {"feeds": [], "column_feeds": [], "influences": []}
    writes: set[tuple[int, int]] = set()
    for edge in graph.edges:
        if edge.label == "feeds" and edge.from_id in place and edge.to_id in place:
            ends = [place[edge.from_id], place[edge.to_id]]
            rows["feeds"].append([*ends, jobs(*_job_of(edge)), facts(edge.properties, _FEEDS_FACTS)])
        elif edge.label == "feeds_column" and edge.from_id in column_place and edge.to_id in column_place:
            how = [_text(edge, "transformation"), redact_sql(str(edge.properties.get("expression", "")))]
            ends = [*column_place[edge.from_id], *column_place[edge.to_id]]
            rows["column_feeds"].append([*ends, jobs(*_job_of(edge)), *how, *_mark_assumed(edge)])
        elif edge.label == "influences" and edge.from_id in column_place and edge.to_id in place:
            ends = [*column_place[edge.from_id], place[edge.to_id]]
            how = [_text(edge, "transformation")]
            rows["influences"].append([*ends, jobs(*_job_of(edge)), *how, *_mark_assumed(edge)])
        elif edge.label == "writes" and edge.to_id in place:
            writes.add((jobs(*_job_of(edge)), place[edge.to_id]))
    return {**rows, "writes": sorted(writes)}


def describe_near_miss(miss: NearMiss | Dismissed) -> dict[str, Any]:
    """Return a near miss with ids of its datasets and a text: the fix, or who dismissed it and why."""
    ends = {"written": safe_id(miss.written), "read": safe_id(miss.read)}
    if isinstance(miss, Dismissed):
        until = f" until {miss.until}" if miss.until else ""
        return {
            **ends,
            "text": safe(f"by {miss.by}{until}: {miss.reason}"),
            "fix": "",
            "is_dismissed": True,
        }
    note = f"; {miss.note}" if miss.note else ""
    fix = f"; Fix: {miss.fix_key}" if miss.fix_key else ""
    text = f"score {miss.score}: {', '.join(miss.evidence)}{note}{fix}"
    return {**ends, "text": safe(text), "fix": safe(miss.fix), "is_dismissed": False}


def columns_of(vertices: Mapping[str, Vertex]) -> dict[str, list[Vertex]]:
    """Return the columns among vertices in their order, by dataset; datasets must be among them, too."""
    held = gather((dataset_of(vertex.id), vertex) for vertex in vertices.values() if vertex.label == COLUMN)
    return {
        dataset: sorted(columns, key=partial(column_order, vertices))
        for dataset, columns in held.items()
        if dataset in vertices and vertices[dataset].is_dataset
    }


def _dataset(
    vertex: Vertex,
    columns: list[Vertex],
    dags: _Numbered,
    freshness: list[Any],
    usage: Mapping[str, Usage],
) -> dict[str, Any]:
    _, namespace, path = name_parts(vertex.id)
    names = {column.id: column.name for column in columns}
    return {
        "id": safe_id(vertex.id),
        "kind": vertex.label,
        "name": safe(vertex.name),
        "title": safe(vertex.title),
        "namespace": safe(namespace),
        "path": safe(path),
        "environment": vertex.environment,
        "dags": [dags(name) for name in vertex.dags],
        "facts": [*facts(vertex.properties, _DATASET_FACTS), *_usage(usage, vertex)],
        "freshness": freshness,
        "columns": [_column(column, names, usage) for column in columns],
    }


def _freshness(freshness: Freshness) -> list[Any]:
    why = expectations_text(freshness) if freshness.status == "fresh" else reasons_text(freshness)
    if freshness.because_of:
        why += f", because of {cause_text(freshness.because_of, title_of_id(freshness.because_of.dataset))}"
    is_old = {"age", "freshness_check"}.intersection(freshness.reasons)
    origin = "age" if is_old else "input" if "newer_input" in freshness.reasons else ""
    row = [freshness.status, freshness.update.updated_at, safe(why), origin]
    while not row[-1]:
        row.pop()
    return row


def _usage(usage: Mapping[str, Usage], vertex: Vertex) -> Facts:
    """Return ``Read 1,204 times, last on 2026-11-20`` as a fact; none of what is not observed."""
    of_vertex = usage.get(vertex.id)
    if of_vertex is None or not of_vertex.is_observed:
        return []
    return [["usage", safe(f"{of_vertex.text[0].upper()}{of_vertex.text[1:]}")]]


def _column(vertex: Vertex, names: Mapping[str, str], usage: Mapping[str, Usage]) -> list[Any]:
    """Return the row of a column. `names`: those of the dataset's columns and fields, by id."""
    known = [*facts(vertex.properties, _COLUMN_FACTS), *_usage(usage, vertex)]
    path = []
    if above := structures_of(vertex.id):
        path = [redact_sql(names.get(part, name_of_id(part))) for part in (*above, vertex.id)]
    return [
        redact_sql(vertex.qualified_name),
        str(vertex.properties.get("data_type", "")),
        format_value(vertex.properties.get("description", "")),
        *([known] if known or path else []),
        *([path] if path else []),
    ]


def _facts_of_jobs(graph: Subgraph) -> dict[tuple[str, str, str, str], list[list[str]]]:
    by_job: dict[tuple[str, str, str, str], list[list[str]]] = {}
    for vertex in graph.vertices.values():
        if vertex.label == JOB:
            for dag in vertex.dags:
                kind = str(vertex.properties.get("job_type", ""))
                by_job[vertex.environment, dag, kind, vertex.name] = facts(vertex.properties, _JOB_FACTS)
    return by_job


def _job_of(edge: Edge) -> tuple[str, str, str, str]:
    environment, dag, kind = (
        str(edge.properties.get(key, "")) for key in ("environment", "dag_name", "job_type")
    )
    return environment, dag, kind, edge.job


def _mark_assumed(edge: Edge) -> list[bool]:
    return [True] if edge.properties.get("assumed") == "true" else []


def _text(edge: Edge, key: str) -> str:
    return format_value(edge.properties.get(key, ""))


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
        _row(vertices[check], checks[check], compared[check])
        for check in sorted(checks)
        if vertices[check].label == "assertion"
    ]


def _row(vertex: Vertex, checks: list[tuple[int, int]], compared: list[str]) -> list[Any]:
    properties = vertex.properties
    known = facts(properties, _FACTS)
    if column := properties.get("column_name"):
        known.append(["checks", redact_sql(str(column))])
    if compared:
        known.append(["compared with", format_value(sorted(compared))])
    if vertex.dags:
        known.append(["DAG", format_value(vertex.dags)])
    row = [
        safe(vertex.name),
        *(safe(str(properties.get(key, ""))) for key in ("assertion_type", "severity", "status")),
        properties.get("failures"),
        properties.get("last_run_at"),
        [list(check) for check in sorted(checks)],
        known,
    ]
    if properties.get("assertion_type") == "freshness":
        row.append([properties.get(key) for key in _FRESHNESS])
    return row
