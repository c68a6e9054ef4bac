"""Facts about the runs of each job: the newest run, and the number of successful runs."""

from collections.abc import Hashable, Iterable, Iterator
from operator import add
from typing import Any, NamedTuple, TypeVar

from lineage_merge.infra.engine.rows import Rows
from lineage_merge.model.elements import Job, JobKey, SuccessfulRuns
from lineage_merge.model.records import Record
from lineage_merge.sources.resolver import Resolver
from lineage_merge.sources.runs.events import EventRow, largest, nulls_first, total
from lineage_merge.sources.runs.run_selection import SelectedWrite
from lineage_merge.sources.runs.silent_writes import silent_writes

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
    versions: tuple[str, ...] = ()


# The facts of a job's newest run, and whether one of the job's writes is selected.
_Newest = tuple[JobFacts | None, bool]


def job_facts(events: Rows[EventRow], selected: Rows[SelectedWrite]) -> Rows[JobFacts]:
    """Return the newest run, failed or not, of each job that has a selected write."""
    writes = events.filter(_is_write).map(_drop_target)
    of_runs = writes.group(lambda write: (_job(write), write.run_id), _run_facts)
    selected_jobs: Rows[tuple[_Job, _Newest]] = selected.map(lambda write: (_job(write.event), (None, True)))
    newest = of_runs.union(selected_jobs).combine(_itself, _newer, _newer)
    return newest.flat_map(lambda run: [run[1][0]] if run[1][0] and run[1][1] else [])


def job_records(events: Rows[EventRow], selected: Rows[SelectedWrite], resolver: Resolver) -> Rows[Record]:
    """Return records of the jobs that have a selected write, their successful runs, and missing writes."""
    elements: Rows[Any] = job_facts(events, selected).map(job)
    others = successful_runs(events), silent_writes(events)
    return elements.union(*others).map_partitions(resolver.records)


def job(facts: JobFacts) -> Job:
    """Return the facts as an element."""
    properties = {
        "framework": facts.framework,
        "last_run_id": facts.last_run_id,
        "last_run_at": facts.last_run_at,
        "duration_ms": facts.duration_ms,
        "rows_written": facts.rows_written,
        "last_versions": ", ".join(facts.versions),
        "status": "failed" if facts.failed else "succeeded",
    }
    known = {name: value for name, value in properties.items() if value not in (None, "")}
    sets = {name: values for name, values in (("owners", facts.owners), ("tags", facts.tags)) if values}
    return Job(JobKey(facts.job_type, facts.job), facts.last_run_at or 0, known, sets)


def successful_runs(events: Rows[EventRow]) -> Rows[SuccessfulRuns]:
    """Count the runs of each job in which all writes succeeded."""
    of_writes = events.filter(_is_write).map(
        lambda event: ((_job(event), event.database, event.run_id), event.failed)
    )
    of_runs = of_writes.combine(_itself, _either, _either)
    successes = of_runs.filter(lambda run: run[1] is False).map(lambda run: (run[0][0], 1))
    return successes.combine(int, add, add).map(lambda job: SuccessfulRuns(JobKey(*job[0]), job[1]))


def _is_write(event: EventRow) -> bool:
    return event.plan is not None


def _drop_target(event: EventRow) -> EventRow:
    """Return a write in a form in which equal ones are one write: an export can contain duplicates."""
    return event._replace(wanted=True, target=None, dataset=None, unlabelled=None, statement=None)


def _job(event: EventRow) -> _Job:
    return event.job_type or "", event.job or ""


def _run_facts(_run: Hashable, events: list[EventRow]) -> Iterator[tuple[_Job, _Newest]]:
    writes = set(events)
    job = _job(events[0])
    facts = JobFacts(
        *job,
        last_run_at=largest(write.at for write in writes),
        last_run_id=largest(write.shown_run_id for write in writes),
        duration_ms=total(write.duration_ms for write in writes),
        rows_written=total(write.rows for write in writes),
        framework=largest(write.framework for write in writes),
        failed=largest(write.failed for write in writes),
        owners=tuple(sorted({owner for write in writes for owner in write.owners})),
        tags=tuple(sorted({tag for write in writes for tag in write.tags})),
        versions=_versions(writes),
    )
    yield job, (facts, False)


def _versions(writes: Iterable[EventRow]) -> tuple[str, ...]:
    """Return the version of each target after the last write to it."""
    newest: dict[str, str] = {}
    for write in sorted(writes, key=lambda write: nulls_first(write.at, write.version)):
        if write.version and not write.failed:
            newest[write.version.rpartition("@")[0]] = write.version
    return tuple(newest[table] for table in sorted(newest))


def _newer(one: _Newest, other: _Newest) -> _Newest:
    newest = max(one[0], other[0], key=lambda facts: () if facts is None else nulls_first(*facts))
    return newest, one[1] or other[1]


def _either(one: bool | None, other: bool | None) -> bool | None:
    return largest((one, other))


def _itself(value: T) -> T:
    return value
