"""Write events of Hive queries: one row per table that a query wrote. Pure."""

from collections.abc import Callable, Iterator
from typing import NamedTuple

from lineage_merge.model.elements import Reference
from lineage_merge.sources.hive.query import Query
from lineage_merge.sources.hive.statement import Table
from lineage_merge.sources.hive.translator import JOB_TYPE, Tables, framework, job_name
from lineage_merge.sources.runs.events import EventRow

# Separates the query's key from the target in a row's `plan`.
SEPARATOR = "\n"


class Wanted(NamedTuple):
    """Which jobs are selected, how they are named, and how tables are resolved."""

    applies: Callable[[str], bool]
    job_name_from: str
    tables: Tables
    dataset_of: Callable[[Reference], str]


class Write(NamedTuple):
    """A write event; `is_view`: it created a view."""

    event: EventRow
    is_view: bool = False


def write_rows(query: Query, wanted: Wanted) -> Iterator[Write]:
    """Yield one row per table that a query wrote; one row without a plan for a read-only query.

    `append` False: the write replaced the whole table.
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
    """Return the target named in a row's `plan`."""
    _, database, name = plan.split(SEPARATOR, 2)
    return Table(database, name)
