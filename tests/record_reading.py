"""A source's records (`lineage_merge.records`) as plain values, so that tests compare whole sets."""

import json
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from pyspark.sql import DataFrame, Row

Flow = tuple[str, str, str]


def rows_of(records: DataFrame) -> list[Row]:
    """All records."""
    return records.collect()


def comparable(rows: Iterable[Row]) -> Counter[str]:
    """Records in no order, each with how often it is there."""
    return Counter(json.dumps(row.asDict(recursive=True), sort_keys=True) for row in rows)


def flows_of(rows: Iterable[Row], job: str | None = None) -> set[Flow]:
    """(job, source, target) of every `feeds`, of one job or of all; ids without the environment."""
    return {
        (row.job_name, _short(row["source"]), _short(row["target"]))
        for row in rows
        if row.kind == "feeds" and job in (None, row.job_name)
    }


def writes_of(rows: Iterable[Row]) -> set[tuple[str, str]]:
    """(job, target) of every `writes`."""
    return {(row.job_name, _short(row["target"])) for row in rows if row.kind == "writes"}


def jobs_of(rows: Iterable[Row]) -> dict[str, Mapping[str, str]]:
    """The facts of every job: of several records of one job, those with the newest time."""
    newest: dict[str, tuple[int, Mapping[str, str]]] = {}
    for row in rows:
        if row.kind == "job":
            found: tuple[int, Any] = (row.at, row.properties)
            newest[row.job_name] = max(newest.get(row.job_name, found), found, key=lambda each: each[0])
    return {job: facts for job, (_, facts) in newest.items()}


def problems_of(rows: Iterable[Row]) -> set[tuple[str, str, str, str]]:
    """(kind, document, field, message) of every problem."""
    return {(row.rule, row.document, row.field, row.message) for row in rows if row.kind == "problem"}


def _short(identifier: str) -> str:
    return identifier.partition("|")[2]
