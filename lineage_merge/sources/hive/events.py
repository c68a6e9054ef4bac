"""Hive's queries as ends of writes: one row for each table that a query wrote. Pure."""

from collections.abc import Callable, Iterator
from typing import NamedTuple

from lineage_merge.model.elements import Reference
from lineage_merge.sources.hive.query import Query
from lineage_merge.sources.hive.statement import Table
from lineage_merge.sources.hive.translator import JOB_TYPE, Tables, framework, job_name
from lineage_merge.sources.runs.events import EventRow

# Between the key of a query and the target that a row is about: `plan` of a row.
SEPARATOR = "\n"


class Wanted(NamedTuple):
    """Which jobs count, what a job is called by, and how tables are named."""

    applies: Callable[[str], bool]
    job_name_from: str
    tables: Tables
    dataset_of: Callable[[Reference], str]


class Write(NamedTuple):
    """An end of a write; `is_view`: it made a view."""

    event: EventRow
    is_view: bool = False


def write_rows(query: Query, wanted: Wanted) -> Iterator[Write]:
    """One row for each table that a query wrote; one without a plan for a query that only reads.

    `append` False: nothing is left of what was in the table before.
    """
    if not query.targets:
        yield Write(EventRow(database="", key=query.key))
        return
    job = job_name(query, wanted.job_name_from)
    applies = wanted.applies(job)
    for target in query.targets:
        ref = wanted.tables.reference(target)
        write = query.statement.write_of(target)
        replaces = write.mode == "overwrite" and not write.partitioned
        event = EventRow(
            database="",
            wanted=applies,
            key=query.key,
            plan=f"{query.key}{SEPARATOR}{target.database}{SEPARATOR}{target.name}",
            application=job,
            job=job,
            job_type=JOB_TYPE,
            target=str(target),
            dataset=wanted.dataset_of(ref) if ref else f"?{target}",
            at=query.at,
            duration_ms=query.duration_ms or 0,
            run_id=query.key,
            shown_run_id=query.run_id or query.key,
            failed=False,
            append=not replaces,
            framework=framework(query),
            statement=query.shape(),
        )
        yield Write(event, write.is_view)


def target_of(plan: str) -> Table:
    """The target that a row's `plan` is about."""
    _, database, name = plan.split(SEPARATOR, 2)
    return Table(database, name)
