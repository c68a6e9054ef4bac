"""Writes inside another command, such as the insert of a CREATE TABLE AS SELECT. Pure."""

from collections.abc import Hashable, Iterator
from itertools import groupby

from lineage_merge.infra.engine.rows import Rows
from lineage_merge.sources.runs.events import EventRow
from lineage_merge.sources.runs.null_ordering import nulls_first


def without_nested(events: Rows[EventRow]) -> Rows[EventRow]:
    """Merge each command and the writes inside it into one write.

    For a failed CREATE TABLE AS SELECT, openlineage-spark sends FAIL only for the insert. The outer command,
    to the same target, began before the insert, ended no earlier, and is reported as COMPLETE: it failed.

    If both succeed, the insert's rows are counted once: it is within the command's time, to the same target,
    with as many rows.
    """
    return events.group(_written, _as_one)


def _written(event: EventRow) -> tuple[str | None, str | None]:
    return event.run_id, event.target


def _as_one(_written: Hashable, events: list[EventRow]) -> Iterator[EventRow]:
    """Return the writes to one target in one run, merged."""
    in_order = sorted(events, key=_outer_first)
    found = list(_failed_inside(in_order) if in_order[0].target is not None else in_order)
    # Sorting is stable: of equal row counts the outer one stays first.
    for _, of_rows in groupby(sorted(found, key=_rows), key=_rows):
        yield from _counted_once(of_rows)


def _outer_first(event: EventRow) -> tuple[tuple[bool, object], ...]:
    at = event.at or 0
    return nulls_first(at - (event.duration_ms or 0), -at, event.key)


def _rows(event: EventRow) -> tuple[tuple[bool, object], ...]:
    return nulls_first(event.rows)


def _failed_inside(in_order: list[EventRow]) -> Iterator[EventRow]:
    earliest: int | None = None  # end of the first failed write among the later ones
    event_rows: list[EventRow] = []
    for event in reversed(in_order):
        at = event.at or 0
        is_failed = bool(event.failed) or (earliest is not None and earliest <= at)
        event_rows.append(event._replace(failed=is_failed))
        if event.failed:
            earliest = at if earliest is None else min(earliest, at)
    return reversed(event_rows)


def _counted_once(of_rows: Iterator[EventRow]) -> Iterator[EventRow]:
    latest: int | None = None  # end of the last of the previous writes
    for event in of_rows:
        at = event.at or 0
        is_inner = latest is not None and latest >= at
        yield event._replace(rows=None) if is_inner else event
        latest = at if latest is None else max(latest, at)
