"""A source's records (`lineage_merge.model.records`) as plain values, so that tests compare whole sets."""

import json
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any, TypeVar

from lineage_merge.infra.engine.rows import Rows
from lineage_merge.model.elements import Count, Feeds, Job, Problem, SuccessfulRuns, Writes
from lineage_merge.model.records import Record

Flow = tuple[str, str, str]
AnyRecord = TypeVar("AnyRecord", bound=Record)


def rows_of(records: Rows[Record]) -> list[Record]:
    """All records."""
    return records.collect()


def records_of(kind: type[AnyRecord], rows: Iterable[Record]) -> list[AnyRecord]:
    """The records of one kind."""
    return [row for row in rows if isinstance(row, kind)]


def comparable(rows: Iterable[Record]) -> Counter[str]:
    """Records in no order, each with how often it is there."""
    return Counter(
        f"{type(row).__name__} {json.dumps(row._asdict(), sort_keys=True, default=repr)}" for row in rows
    )


def flows_of(rows: Iterable[Record], job: str | None = None) -> set[Flow]:
    """(job, source, target) of every `feeds`, of one job or of all; ids without the environment."""
    return {
        (row.job.name, _short(row.source), _short(row.target))
        for row in records_of(Feeds, rows)
        if job in (None, row.job.name)
    }


def writes_of(rows: Iterable[Record]) -> set[tuple[str, str]]:
    """(job, target) of every `writes`."""
    return {(row.job.name, _short(row.target)) for row in records_of(Writes, rows)}


def jobs_of(rows: Iterable[Record]) -> dict[str, Mapping[str, Any]]:
    """The facts of every job: of several records of one job, those with the newest time."""
    newest: dict[str, tuple[int, Mapping[str, Any]]] = {}
    for row in records_of(Job, rows):
        job, facts = row.key.name, (row.at, row.properties)
        newest[job] = max(newest.get(job, facts), facts, key=lambda each: each[0])
    return {job: facts for job, (_, facts) in newest.items()}


def problems_of(rows: Iterable[Record]) -> set[tuple[str, str, str, str]]:
    """(kind, document, field, message) of every problem."""
    return {(row.kind, row.document, row.field, row.message) for row in records_of(Problem, rows)}


def counts_of(rows: Iterable[Record]) -> dict[str, int]:
    """The number of each kind of items that were read, if no two records count the same."""
    return {row.what: row.number for row in records_of(Count, rows)}


def runs_of(rows: Iterable[Record]) -> dict[str, int]:
    """The number of successful runs by job."""
    return {row.job.name: row.number for row in records_of(SuccessfulRuns, rows)}


def _short(identifier: str) -> str:
    return identifier.partition("|")[2]
