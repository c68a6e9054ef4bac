"""Times in ms since 1970, times and durations as text: ``1d``, ``36h``, ``1.5w``, ``2026-11-01``. Pure."""

import re
import time
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MILLISECOND = timedelta(milliseconds=1)
# The clocks of hosts differ by minutes: a time further ahead is wrong, and says nothing about other times.
_MAX_AHEAD = timedelta(days=1)
_MINUTE = 60_000
_HOUR = 60 * _MINUTE
_DAY = 24 * _HOUR


def epoch_ms(moment: datetime) -> int:
    """Return a time in ms since 1970; without a time zone it is UTC."""
    return ((moment if moment.tzinfo else moment.replace(tzinfo=UTC)) - EPOCH) // _MILLISECOND


def latest_credible() -> int:
    """Return the latest time that a source can report now, a day ahead of the clock, in ms since 1970."""
    return time.time_ns() // 1_000_000 + _MAX_AHEAD // _MILLISECOND


def is_later(stored: int, incoming: int) -> bool:
    """Return whether a time in the graph is later; one that cannot be right is not."""
    return incoming < stored <= latest_credible()


def utc_time(milliseconds: int | None, *, seconds: bool = False) -> str:
    """Return ``2026-11-23 02:48 UTC``, "" for an unknown time; `seconds`: ``2026-11-23 02:48:40 UTC``.

    A number of another unit, such as microseconds, may be no date: it is returned as it is.
    """
    if milliseconds is None:
        return ""
    moment = utc_moment(milliseconds)
    if moment is None:
        return f"{milliseconds} ms"
    return moment.strftime("%Y-%m-%d %H:%M:%S UTC" if seconds else "%Y-%m-%d %H:%M UTC")


def utc_date(milliseconds: int | None) -> str:
    """Return ``2026-11-23``, "" for an unknown time, and a number that is no date as `utc_time`."""
    return utc_time(milliseconds).partition(" ")[0]


def utc_moment(milliseconds: int) -> datetime | None:
    """Return a time, None if the number is no date."""
    try:
        return datetime.fromtimestamp(milliseconds / 1000, tz=UTC)
    except (OverflowError, OSError, ValueError):
        return None


def duration_text(milliseconds: int | None) -> str:
    """Return ``2 d 18 h``, ``3 h 5 min`` or ``12 min``, "" for an unknown duration."""
    if milliseconds is None:
        return ""
    for unit, name, part, part_name in ((_DAY, "d", _HOUR, "h"), (_HOUR, "h", _MINUTE, "min")):
        if milliseconds >= unit:
            whole, rest = divmod(milliseconds, unit)
            return f"{whole:,} {name} {rest // part} {part_name}" if rest >= part else f"{whole:,} {name}"
    return f"{max(milliseconds, 0) // _MINUTE} min"


UNITS: Mapping[str, timedelta] = {
    "m": timedelta(minutes=1),
    "h": timedelta(hours=1),
    "d": timedelta(days=1),
    "w": timedelta(weeks=1),
    "y": timedelta(days=365),
}
_DURATION = re.compile(r"([0-9]{1,9}(?:\.[0-9]{1,9})?)\s*([mhdwy])")
_LONGEST = timedelta(days=36500)
NOW = "now"
FORM = "minutes, hours, days, weeks or years, such as 90m, 36h, 1d or 2w"


class TooLong(ValueError):
    """A duration is longer than the longest one."""


def parse_duration(text: str) -> timedelta:
    """Parse a duration of more than 0 and at most 36,500 days. Raises `ValueError`."""
    duration = _duration(text)
    if duration is None:
        raise ValueError(f"expected {FORM}, found {text}")
    if not duration:
        raise ValueError(f"expected more than 0, found {text}")
    return duration


def _duration(text: str) -> timedelta | None:
    """Return a duration, which may be 0; None for other texts. Raises `TooLong`."""
    match = _DURATION.fullmatch(text.strip())
    if match is None:
        return None
    number, unit = float(match[1]), UNITS[match[2]]
    if number > _LONGEST / unit:
        raise TooLong(f"expected at most {_LONGEST.days} days, found {text}")
    return unit * number


def parse_age(text: str) -> int:
    """Return a duration in ms. Raises `ValueError`."""
    return parse_duration(text) // _MILLISECOND


def parse_time(text: str, now: int) -> int:
    """Return a time such as ``2026-11-01`` (UTC), ``1d`` before `now`, or ``now``, in ms since 1970.

    Raises `ValueError`.
    """
    age = timedelta() if text.strip() == NOW else _duration(text)
    if age is not None:
        return now - age // _MILLISECOND
    try:
        return epoch_ms(datetime.fromisoformat(text.strip()))
    except (ValueError, OverflowError):
        raise ValueError(
            f"expected {NOW}, a time such as 2026-11-01 or 2026-11-01T06:00Z, or an age such as 36h or 2w;"
            f" found {text}"
        ) from None
