"""Moments as given on the command line. Pure."""

import re
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

from lineage_merge.history.layout import shown_time
from lineage_merge.model.errors import ConfigError

_AGO = re.compile(r"(\d{1,6})([mhdwy])")
_UNITS = {
    "m": timedelta(minutes=1),
    "h": timedelta(hours=1),
    "d": timedelta(days=1),
    "w": timedelta(weeks=1),
    "y": timedelta(days=365),
}
_DATE = re.compile(r"\d{4}-\d{2}-\d{2}")
_MERGE = re.compile(r"[0-9a-f]{8,12}")
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
FORMS = "a date (2026-01-31), a time (2026-01-31T14:00), an age (3d, 12h, 2w) or the id of a merge"


class Moment(NamedTuple):
    """A time in ms since 1970, or the beginning of the id of a merge; `text` as given."""

    text: str
    time: int = 0
    merge: str = ""

    def __str__(self) -> str:
        return f"merge {self.merge}" if self.merge else shown_time(self.time)


def parse_moment(text: str, now: datetime | None = None, option: str = "--as-of") -> Moment:
    """Parse a moment. Times without an offset are UTC; a date is its last millisecond, an age is before now.

    Raises `ConfigError`.
    """
    words = text.strip()
    if ago := _AGO.fullmatch(words):
        try:
            return Moment(text, _ms((now or datetime.now(UTC)) - int(ago[1]) * _UNITS[ago[2]]))
        except OverflowError:
            raise ConfigError(option, f"too long ago: {text}") from None
    if _MERGE.fullmatch(words):
        return Moment(text, merge=words)
    try:
        found = datetime.fromisoformat(words)
        found = found if found.tzinfo else found.replace(tzinfo=UTC)
        end = timedelta(days=1) - timedelta(milliseconds=1) if _DATE.fullmatch(words) else timedelta()
        return Moment(text, _ms(found + end))
    except (ValueError, OverflowError):
        raise ConfigError(option, f"not a time: {text}; expected {FORMS}") from None


def _ms(moment: datetime) -> int:
    return (moment - _EPOCH) // timedelta(milliseconds=1)
