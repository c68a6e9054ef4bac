"""A source's records (`lineage_merge.model.records`) as plain values, so that tests compare whole sets."""

import json
from collections import Counter
from collections.abc import Iterable, Mapping

from lineage_merge.infra.engine.rows import Rows
from lineage_merge.model.records import Record

Flow = tuple[str, str, str]


def rows_of(records: Rows[Record]) -> list[Record]:
    """All records."""
    return records.collect()


def comparable(rows: Iterable[Record]) -> Counter[str]:
    """Records in no order, each with how often it is there."""
    return Counter(json.dumps(row._asdict(), sort_keys=True) for row in rows)


def flows_of(rows: Iterable[Record], job: str | None = None) -> set[Flow]:
    """(job, source, target) of every `feeds`, of one job or of all; ids without the environment."""
    return {
        (str(row.job_name), _short(row.source), _short(row.target))
        for row in rows
        if row.kind == "feeds" and job in (None, row.job_name)
    }


def writes_of(rows: Iterable[Record]) -> set[tuple[str, str]]:
    """(job, target) of every `writes`."""
    return {(str(row.job_name), _short(row.target)) for row in rows if row.kind == "writes"}


def jobs_of(rows: Iterable[Record]) -> dict[str, Mapping[str, str]]:
    """The facts of every job: of several records of one job, those with the newest time."""
    newest: dict[str, tuple[int, Mapping[str, str]]] = {}
    for row in rows:
        if row.kind == "job":
            job, found = str(row.job_name), (row.at or 0, row.properties)
            newest[job] = max(newest.get(job, found), found, key=lambda each: each[0])
    return {job: facts for job, (_, facts) in newest.items()}


def problems_of(rows: Iterable[Record]) -> set[tuple[str, str, str, str]]:
    """(kind, document, field, message) of every problem."""
    return {
        (str(row.rule), str(row.document), str(row.field), str(row.message))
        for row in rows
        if row.kind == "problem"
    }


def _short(identifier: str | None) -> str:
    return str(identifier).partition("|")[2]
