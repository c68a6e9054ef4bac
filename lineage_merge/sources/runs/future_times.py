"""Times that are too far ahead of the clock to be right: they are reported, and order nothing. Pure."""

from collections.abc import Iterator
from functools import partial

from lineage_merge.infra.engine.rows import Rows
from lineage_merge.model.elements import Problem
from lineage_merge.model.times import utc_time
from lineage_merge.sources.runs.events import EventRow

AHEAD = "more than a day ahead of the clock"
FIX = "correct the clock of the host that wrote them, or the unit of the times"


def future_problem(number: int, what: str, source: str, field: str, first: int) -> Problem:
    """Return the notice about `number` items with such a time; `first` is the earliest one (ms)."""
    subject = f"1 {what} has a time" if number == 1 else f"{number} {what}s have times"
    message = f"{subject} {AHEAD} (from {utc_time(first)}): counted as older than all others"
    return Problem("notice", source, field, message)


def drop_future_times(events: Rows[EventRow], latest: int) -> Rows[EventRow]:
    """Return the events; one whose time is after `latest` (ms since 1970) has none.

    Such a write is within any lookback, and older than every other one of its job and target: its lineage
    remains until there is another, and it ends no lookback.
    """
    return events.map(partial(_drop_future_time, latest=latest))


def future_problems(events: Rows[EventRow], latest: int, source: str, field: str) -> Rows[Problem]:
    """Return the notice about the wanted writes whose time is after `latest`, if there are any."""
    ahead: Rows[tuple[str, tuple[int, int]]] = events.flat_map(partial(_future_time, latest=latest))
    return ahead.reduce_by_key(_both).map(
        lambda row: future_problem(row[1][0], "write", source, field, row[1][1])
    )


def _drop_future_time(event: EventRow, latest: int) -> EventRow:
    return event._replace(at=None) if event.at is not None and event.at > latest else event


def _future_time(event: EventRow, latest: int) -> Iterator[tuple[str, tuple[int, int]]]:
    if event.wanted and event.at is not None and event.at > latest:
        yield "", (1, event.at)


def _both(one: tuple[int, int], other: tuple[int, int]) -> tuple[int, int]:
    return one[0] + other[0], min(one[1], other[1])
