"""What differs between the graph that was made and the one that had to be made, in words."""

from collections.abc import Iterator
from typing import Any

from benchmarks.generated.pipeline import START
from tests.properties.building import Row, Rows
from tests.properties.oracle_graph import Edge, Graph
from tests.properties.pipeline_documents import MINUTE_MS

# Values by the key they belong to.
Values = dict[Any, Any]

_DATASETS = frozenset({"file", "table", "view", "seed", "snapshot", "exposure"})
# The order in which a text lists the paths of a column.
_ORDER = (
    "IDENTITY", "TRANSFORMATION", "AGGREGATION", "CONDITIONAL", "FILTER", "JOIN", "GROUP_BY", "SORT",
)  # fmt: skip


def differences(made: Rows, expected: Graph, *, operations: bool) -> list[str]:
    """Empty where both are the same; `operations`: whether texts of operations count."""
    return [
        *_of("datasets", _labels(made), expected.labels),
        *_of("columns", _ids(made, "column"), dict.fromkeys(expected.columns, "column")),
        *_of("has_column", _has_column(made), {each: each.rpartition("|")[0] for each in expected.columns}),
        *_of("jobs", _jobs(made), _expected_jobs(expected)),
        *_of("writes", _ends(made, "writes"), {_writing(each): "" for each in expected.writes}),
        *_of("feeds", _feeds(made, operations), _expected_feeds(expected, operations)),
        *_of("feeds_column", _paths(made, "feeds_column"), _texts(expected.feeds_column)),
        *_of("influences", _paths(made, "influences"), _texts(expected.influences)),
    ]


def _of(what: str, made: Values, expected: Values) -> Iterator[str]:
    for key in sorted({*made, *expected}, key=str):
        if key not in expected:
            yield f"{what}: {key} is too much: {made[key]}"
        elif key not in made:
            yield f"{what}: {key} is missing: {expected[key]}"
        elif made[key] != expected[key]:
            yield f"{what}: {key} is {made[key]}, not {expected[key]}"


def _labels(made: Rows) -> Values:
    return {key: row["label"] for key, row in made.nodes.items() if row.get("label") in _DATASETS}


def _ids(made: Rows, label: str) -> Values:
    return {key: label for key, row in made.nodes.items() if row.get("label") == label}


def _has_column(made: Rows) -> Values:
    return {row["to"]: row["from"] for row in made.edges.values() if row["label"] == "has_column"}


def _jobs(made: Rows) -> Values:
    names = ("last_run_at", "last_run_id", "duration_ms", "rows_written", "status")
    found: Values = {}
    for key, row in made.nodes.items():
        if row.get("label") == "job":
            is_spark = row["job_type"] == "spark"
            found[key] = tuple(row.get(name) for name in names) if is_spark else "dbt"
    return found


def _expected_jobs(expected: Graph) -> Values:
    found: Values = {f"dev|daily|dbt|{each}": "dbt" for each in expected.dbt_jobs}
    for job, facts in expected.jobs.items():
        found[f"dev|daily|spark|{job}"] = (
            START + facts.last_run_at * MINUTE_MS,
            facts.last_run_id,
            facts.duration * MINUTE_MS,
            facts.rows,
            "failed" if facts.failed else "succeeded",
        )
    return found


def _edge(row: Row) -> tuple[str, ...]:
    return (row["job_type"], row["job_name"], row["from"], row["to"])


def _ends(made: Rows, label: str) -> Values:
    return {_edge(row): "" for row in made.edges.values() if row["label"] == label}


def _writing(write: tuple[str, str, str]) -> tuple[str, ...]:
    kind, job, target = write
    return (kind, job, f"dev|daily|{kind}|{job}", target)


def _feeds(made: Rows, operations: bool) -> Values:
    names = ("write_mode", "sequence", "via", *(["operations"] if operations else []))
    return {
        _edge(row): tuple(row.get(name) for name in names)
        for row in made.edges.values()
        if row["label"] == "feeds"
    }


def _expected_feeds(expected: Graph, operations: bool) -> Values:
    return {
        edge: (
            max(flow.modes, default=None),
            min(flow.sequences, default=None),
            " | ".join(sorted(flow.via)) or None,
            *([" | ".join(sorted(flow.operations)) or None] if operations else []),
        )
        for edge, flow in expected.feeds.items()
    }


def _paths(made: Rows, label: str) -> Values:
    return {_edge(row): row.get("transformation") for row in made.edges.values() if row["label"] == label}


def _texts(found: dict[Edge, set[str]]) -> Values:
    return {edge: ",".join(sorted(kinds, key=_ORDER.index)) for edge, kinds in found.items()}
