"""Times in ms since 1970, and times and durations as text."""

from datetime import UTC, datetime, timedelta

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MILLISECOND = timedelta(milliseconds=1)
_MINUTE = 60_000
_HOUR = 60 * _MINUTE
_DAY = 24 * _HOUR


def epoch_ms(moment: datetime) -> int:
    """Return a time in ms since 1970; without a time zone it is UTC."""
    return ((moment if moment.tzinfo else moment.replace(tzinfo=UTC)) - EPOCH) // _MILLISECOND


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
