"""Facts about the runs of each job: the newest run, and the number of successful runs."""

from collections.abc import Hashable, Iterator
from operator import add
from typing import Any, NamedTuple, TypeVar

from lineage_merge.infra.engine.rows import Rows
from lineage_merge.model.elements import Job, JobKey, SuccessfulRuns
from lineage_merge.model.records import Record
from lineage_merge.sources.runs.events import EventRow, largest, nulls_first, total
from lineage_merge.sources.runs.run_selection import SelectedWrite
from lineage_merge.sources.source import Resolver

T = TypeVar("T")
# Job type and name.
_Job = tuple[str, str]


class JobFacts(NamedTuple):
    """Facts about a job's newest run, failed or not."""

    job_type: str
    job: str
    last_run_at: int | None
    last_run_id: str | None
    duration_ms: int | None
    rows_written: int | None
    framework: str | None
    failed: bool | None
    owners: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()


class _Write(NamedTuple):
    """The end of a write without its target. Equal rows are one write: an export can contain duplicates."""

    job_type: str
    job: str
    run_id: str | None
    database: str
    key: str | None
    plan: str | None
    application: str | None
    at: int | None
    duration_ms: int | None
    shown_run_id: str | None
    failed: bool | None
    append: bool | None
    rows: int | None
    framework: str | None
    owners: tuple[str, ...]
    tags: tuple[str, ...]


class _Newest(NamedTuple):
    """The facts of a job's newest run, and whether one of the job's writes is selected."""

    facts: JobFacts | None
    is_selected: bool


def job_facts(events: Rows[EventRow], selected: Rows[SelectedWrite]) -> Rows[JobFacts]:
    """Return the newest run, failed or not, of each job that has a selected write."""
    of_runs = events.flat_map(_write).group(_run, _run_facts)
    return of_runs.union(selected.map(_selected_job)).combine(_unchanged, _newer, _newer).flat_map(_facts)


def job_records(events: Rows[EventRow], selected: Rows[SelectedWrite], resolver: Resolver) -> Rows[Record]:
    """Return records of the jobs that have a selected write, and each job's number of successful runs."""
    elements: Rows[Any] = job_facts(events, selected).map(job)
    return elements.union(successful_runs(events)).map_partitions(resolver.records)


def job(facts: JobFacts) -> Job:
    """Return the facts as an element."""
    properties = {
        "framework": facts.framework,
        "last_run_id": facts.last_run_id,
        "last_run_at": facts.last_run_at,
        "duration_ms": facts.duration_ms,
        "rows_written": facts.rows_written,
        "status": "failed" if facts.failed else "succeeded",
    }
    known = {name: value for name, value in properties.items() if value not in (None, "")}
    sets = {name: values for name, values in (("owners", facts.owners), ("tags", facts.tags)) if values}
    return Job(JobKey(facts.job_type, facts.job), facts.last_run_at or 0, known, sets)


def successful_runs(events: Rows[EventRow]) -> Rows[SuccessfulRuns]:
    """Count the runs of each job in which all writes succeeded."""
    of_runs = events.flat_map(_failure).combine(_unchanged, _either, _either)
    return of_runs.flat_map(_successful_run).combine(_unchanged, add, add).map(_counted)


def _counted(runs: tuple[_Job, int]) -> SuccessfulRuns:
    return SuccessfulRuns(JobKey(*runs[0]), runs[1])


def _write(event: EventRow) -> Iterator[_Write]:
    if event.plan is not None:
        yield _Write(
            event.job_type or "",
            event.job or "",
            event.run_id,
            event.database,
            event.key,
            event.plan,
            event.application,
            event.at,
            event.duration_ms,
            event.shown_run_id,
            event.failed,
            event.append,
            event.rows,
            event.framework,
            event.owners,
            event.tags,
        )


def _run(write: _Write) -> tuple[str, str, str | None]:
    return write.job_type, write.job, write.run_id


def _run_facts(_run: Hashable, found: list[_Write]) -> Iterator[tuple[_Job, _Newest]]:
    writes = set(found)
    job_type, name = found[0].job_type, found[0].job
    facts = JobFacts(
        job_type,
        name,
        last_run_at=largest(write.at for write in writes),
        last_run_id=largest(write.shown_run_id for write in writes),
        duration_ms=total(write.duration_ms for write in writes),
        rows_written=total(write.rows for write in writes),
        framework=largest(write.framework for write in writes),
        failed=largest(write.failed for write in writes),
        owners=tuple(sorted({owner for write in writes for owner in write.owners})),
        tags=tuple(sorted({tag for write in writes for tag in write.tags})),
    )
    yield (job_type, name), _Newest(facts, is_selected=False)


def _selected_job(each: SelectedWrite) -> tuple[_Job, _Newest]:
    return (each.event.job_type or "", each.event.job or ""), _Newest(None, is_selected=True)


def _newer(one: _Newest, other: _Newest) -> _Newest:
    facts = max((one.facts, other.facts), key=_in_order)
    return _Newest(facts, one.is_selected or other.is_selected)


def _in_order(facts: JobFacts | None) -> tuple[tuple[bool, object], ...]:
    return () if facts is None else nulls_first(*facts)


def _facts(found: tuple[_Job, _Newest]) -> Iterator[JobFacts]:
    _, newest = found
    if newest.is_selected and newest.facts:
        yield newest.facts


def _failure(event: EventRow) -> Iterator[tuple[tuple[str, str, str, str | None], bool | None]]:
    if event.plan is not None:
        yield (event.job_type or "", event.job or "", event.database, event.run_id), event.failed


def _either(one: bool | None, other: bool | None) -> bool | None:
    return largest((one, other))


def _successful_run(
    found: tuple[tuple[str, str, str, str | None], bool | None],
) -> Iterator[tuple[_Job, int]]:
    (job_type, name, _, _), failed = found
    if failed is False:
        yield (job_type, name), 1


def _unchanged(value: T) -> T:
    return value
