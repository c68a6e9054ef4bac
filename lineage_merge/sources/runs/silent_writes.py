"""Writes that a job did in its earlier runs, and that its later successful runs did not report.

A client that fails at one operation sends the other writes of a run: nothing else shows that the lineage of
this one is old. A job may also have stopped writing the dataset, or write it only in some runs: a dataset
counts if the last two runs that could report it did.
"""

from collections.abc import Hashable, Iterator
from typing import NamedTuple

from lineage_merge.infra.batches import gather
from lineage_merge.infra.engine.rows import Rows
from lineage_merge.model.elements import Problem
from lineage_merge.model.times import utc_time
from lineage_merge.sources.runs.events import EventRow

# Runs in a row that wrote a dataset before it is missed.
_REGULAR = 2


class _Run(NamedTuple):
    """A successful run of a job: the time of its last write (ms since 1970), and the datasets it wrote."""

    at: int
    run_id: str
    datasets: frozenset[str]


def silent_writes(events: Rows[EventRow]) -> Rows[Problem]:
    """Return the datasets of each job that its later runs did not write, as problems ``silent``."""
    return events.filter(_counts).map(_drop_details).group(_job, _report_missed)


def _counts(event: EventRow) -> bool:
    # Statements of a job run independently of each other.
    return event.plan is not None and event.statement is None and event.at is not None


def _drop_details(event: EventRow) -> EventRow:
    return EventRow(
        event.database,
        job=event.job,
        job_type=event.job_type,
        dataset=event.dataset,
        at=event.at,
        run_id=event.run_id,
        failed=event.failed,
    )


def _job(event: EventRow) -> tuple[str | None, ...]:
    return event.database, event.job_type, event.job


def _report_missed(_job: Hashable, events: list[EventRow]) -> Iterator[Problem]:
    runs = _successful_runs(events)
    last_write = {dataset: number for number, run in enumerate(runs) for dataset in run.datasets}
    for dataset, last in sorted(last_write.items()):
        before = runs[last - _REGULAR + 1 : last + 1] if last >= _REGULAR - 1 else ()
        later = [run for run in runs[last + 1 :] if _could_report(run, runs[last].datasets)]
        if later and before and all(dataset in run.datasets for run in before):
            number = f"{len(later)} later successful runs" if len(later) > 1 else "a later successful run"
            since = utc_time(runs[last].at, seconds=True)
            yield Problem(
                "silent",
                dataset,
                f"{events[0].job_type} {events[0].job}",
                f"no write since {since}, although {number} did not report it:"
                " has the job changed, or does its client not support the operation?"
                " lineage_merge.capture.install records every write",
            )


def _successful_runs(events: list[EventRow]) -> list[_Run]:
    """Return the runs without a failed write, by time."""
    by_run = gather((event.run_id or "", event) for event in events)
    return sorted(
        _Run(max(write.at or 0 for write in writes), run_id, _datasets(writes))
        for run_id, writes in by_run.items()
        if not any(write.failed for write in writes)
    )


def _datasets(writes: list[EventRow]) -> frozenset[str]:
    # What names no dataset may differ in each run.
    return frozenset(write.dataset for write in writes if write.dataset and not write.dataset.startswith("?"))


def _could_report(run: _Run, datasets: frozenset[str]) -> bool:
    """Whether a run is one of the same kind: a job with parameters writes other datasets in each run."""
    return not run.datasets or not run.datasets.isdisjoint(datasets)
