"""Arguments of questions: times, ages and changes as texts or Python objects."""

import time
from datetime import date, datetime, timedelta
from datetime import time as time_of_day

from lineage_merge.model.errors import QueryError
from lineage_merge.model.times import epoch_ms, parse_age, parse_time
from lineage_merge.questions.effects import Change

_MILLISECOND = timedelta(milliseconds=1)

Age = str | int | timedelta
Time = str | int | date | timedelta


def now_ms() -> int:
    """Return the time in ms since 1970."""
    return time.time_ns() // 1_000_000


def age_ms(age: Age | None, name: str = "older_than") -> int | None:
    """Return an age such as ``1d`` in ms; numbers are ms. Raises `QueryError`."""
    if age is None or isinstance(age, int):
        return age
    if isinstance(age, timedelta):
        return age // _MILLISECOND
    try:
        return parse_age(age)
    except ValueError as error:
        raise QueryError(f"{name}: {error}") from None


def time_ms(moment: Time | None, name: str = "since") -> int | None:
    """Return a time such as ``2026-11-01`` (UTC), or ``1d`` ago, in ms since 1970.

    Numbers are ms since 1970; datetimes without a time zone are UTC. Raises `QueryError`.
    """
    if moment is None or isinstance(moment, int):
        return moment
    if isinstance(moment, timedelta):
        return now_ms() - moment // _MILLISECOND
    if isinstance(moment, datetime):
        return epoch_ms(moment)
    if isinstance(moment, date):
        return epoch_ms(datetime.combine(moment, time_of_day.min))
    try:
        return parse_time(moment, now_ms())
    except ValueError as error:
        raise QueryError(f"{name}: {error}") from None


def change_of(change: str | None) -> Change | None:
    """Return the kind of a change. Raises `QueryError` if it is unknown."""
    try:
        return Change(change) if change else None
    except ValueError:
        kinds = ", ".join(each.value for each in Change)
        raise QueryError(f"unknown change: {change}; changes: {kinds}") from None
