"""Selection of the writes that define the lineage.

Only successful writes are selected. By default that is the newest write per job and target, and what belongs
to it in the same run: appends since the last overwrite, and a write that ended while another one to the same
target was running (CREATE TABLE AS SELECT reports the inner insert and the outer command).
"""

from collections.abc import Hashable, Iterator
from datetime import timedelta
from functools import partial
from typing import Any, NamedTuple

from lineage_merge.infra.batches import gather
from lineage_merge.infra.engine.rows import Rows
from lineage_merge.sources.runs.events import EventRow, nulls_first, smallest
from lineage_merge.sources.runs.future_times import drop_future_times
from lineage_merge.sources.settings import Runs

# A database and a plan in it.
PlanKey = tuple[str, str]


class PlanLabels(NamedTuple):
    """The requested labels that a plan has."""

    database: str
    plan: str
    labels: list[str]


class RowLevelPlan(NamedTuple):
    """A plan that changes single rows of its target: rows of earlier writes remain."""

    database: str
    plan: str


class SelectedWrite(NamedTuple):
    """A selected write; `sequence` and `newest_sequence` as in `SelectedPlan`."""

    event: EventRow
    sequence: int
    newest_sequence: int | None = None


class SelectedPlan(NamedTuple):
    """What the selected writes of a plan say about it.

    `sequence`: position of its first write within the run, from 1. `newest_sequence`: the same in the newest
    run of the job, None if no write of that run belongs to this plan.
    """

    application: str
    sequence: int
    newest_sequence: int | None


def check_labels(events: Rows[EventRow], plans: Rows[PlanLabels]) -> Rows[EventRow]:
    """Return the events; `wanted` is False if an event and its plan together lack a requested label."""
    writes: Rows[Any] = events
    return writes.union(plans).group(lambda row: (row.database, row.plan), _add_labels)


def with_row_level(events: Rows[EventRow], plans: Rows[RowLevelPlan]) -> Rows[EventRow]:
    """Return the events; `append` is True, where it was None, if the plan changes single rows."""
    writes: Rows[Any] = events
    return writes.union(plans).group(lambda row: (row.database, row.plan), _add_append)


def select_lookback(events: Rows[EventRow], runs: Runs, lookback: timedelta, latest: int) -> Rows[EventRow]:
    """Return the wanted writes since a time, of a run, or of the lookback before the newest one per database.

    The lookback does not start now: a dump yields the same graph whenever it is read, and a database without
    writes for a month keeps its lineage. Times after `latest` are unknown (`drop_future_times`).
    """
    events = drop_future_times(events, latest)
    if runs.which == "run":
        return events.filter(partial(_is_of_run, run=runs.run))
    if runs.which == "since":
        return events.filter(partial(_is_since, since=runs.since))
    times = events.filter(lambda event: event.at is not None).map(
        lambda event: (event.database, event.at or 0)
    )
    newest = {
        database: runs.find_start(at, lookback) for database, at in times.combine(int, max, max).collect()
    }
    return events.filter(lambda event: _is_since(event, newest.get(event.database, 0)))


def select_writes(events: Rows[EventRow], runs: Runs) -> Rows[SelectedWrite]:
    """Select writes (see the module) from events of `select_lookback`."""
    writes = events.filter(is_successful).group(lambda event: (event.database, event.run_id), _number_writes)
    if runs.which == "latest":
        writes = writes.group(_key_of_write, _latest)
    return writes.group(_job, _select_newest_run)


def group_by_plan(selected: Rows[SelectedWrite]) -> Rows[tuple[PlanKey, SelectedPlan]]:
    """Return one row per plan that has selected writes.

    A plan that many runs share is read once.
    """
    return selected.map(_plan_of_write).combine(lambda plan: plan, _combine, _combine)


def is_successful(event: EventRow) -> bool:
    """Return whether an event is the end of a write without error."""
    return event.plan is not None and event.failed is False


def _add_labels(_plan: Hashable, rows: list[EventRow | PlanLabels]) -> Iterator[EventRow]:
    present = {label for row in rows if isinstance(row, PlanLabels) for label in row.labels}
    for row in rows:
        if isinstance(row, EventRow):
            yield row._replace(wanted=row.wanted and present.issuperset(row.unlabelled or ()))


def _add_append(_plan: Hashable, rows: list[EventRow | RowLevelPlan]) -> Iterator[EventRow]:
    is_row_level = any(isinstance(row, RowLevelPlan) for row in rows)
    for row in rows:
        if isinstance(row, EventRow):
            yield row._replace(append=is_row_level) if row.append is None else row


def _is_since(event: EventRow, since: int) -> bool:
    return event.wanted and (event.at is None or event.at >= since)


def _is_of_run(event: EventRow, run: str) -> bool:
    return event.wanted and run in (event.run_id, event.shown_run_id)


def _number_writes(_run: Hashable, events: list[EventRow]) -> Iterator[SelectedWrite]:
    # Equal events share a position: an export can contain duplicates.
    ends = [nulls_first(event.at, event.key) for event in events]
    positions = {end: position for position, end in enumerate(sorted(set(ends)), 1)}
    return (SelectedWrite(event, positions[end]) for event, end in zip(events, ends, strict=True))


def _key_of_write(write: SelectedWrite) -> tuple[str | None, ...]:
    event = write.event
    return event.database, event.job_type, event.job, event.statement, event.dataset


def _latest(_written: Hashable, writes: list[SelectedWrite]) -> Iterator[SelectedWrite]:
    newest = max((write.event for write in writes), key=lambda event: nulls_first(event.at, event.run_id))
    # Grouped by raw target: two partitions of one table do not replace each other.
    by_target = gather((write.event.target, write) for write in writes if write.event.run_id == newest.run_id)
    for of_target in by_target.values():
        since = _last_overwrite_began([write.event for write in of_target])
        yield from (write for write in of_target if since is None or (write.event.at or 0) >= since)


def _last_overwrite_began(events: list[EventRow]) -> int | None:
    """Return when the last overwrite of a target began; None if all writes append."""
    overwrites = [event for event in events if event.append is False]
    if not overwrites:
        return None
    last = max(overwrites, key=lambda event: nulls_first(event.at, event.duration_ms))
    return (last.at or 0) - (last.duration_ms or 0)


def _job(write: SelectedWrite) -> tuple[str | None, ...]:
    event = write.event
    return event.job_type, event.job, event.statement


def _select_newest_run(_job: Hashable, writes: list[SelectedWrite]) -> Iterator[SelectedWrite]:
    newest = max(
        (write.event for write in writes),
        key=lambda event: nulls_first(event.at, event.run_id, event.database),
    )
    for write in writes:
        is_newest = write.event.run_id == newest.run_id and write.event.database == newest.database
        yield write._replace(newest_sequence=write.sequence) if is_newest else write


def _plan_of_write(write: SelectedWrite) -> tuple[PlanKey, SelectedPlan]:
    event, sequence, newest = write
    return (event.database, event.plan or ""), SelectedPlan(event.application or "", sequence, newest)


def _combine(one: SelectedPlan, other: SelectedPlan) -> SelectedPlan:
    return SelectedPlan(
        max(one.application, other.application),
        min(one.sequence, other.sequence),
        smallest((one.newest_sequence, other.newest_sequence)),
    )
