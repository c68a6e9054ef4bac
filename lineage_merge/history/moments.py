"""Moments as given on the command line. Pure."""

import re
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

from lineage_merge.history.layout import format_time
from lineage_merge.model.errors import ConfigError
from lineage_merge.model.times import TooLong, epoch_ms, parse_time

_DATE = re.compile(r"\d{4}-\d{2}-\d{2}")
_REST_OF_DAY = timedelta(days=1) // timedelta(milliseconds=1) - 1
_MERGE = re.compile(r"[0-9a-f]{8,12}")
FORMS = "now, a date (2026-01-31), a time (2026-01-31T14:00), an age (3d, 12h, 2w) or the id of a merge"


class Moment(NamedTuple):
    """A time in ms since 1970, or the beginning of the id of a merge; `text` as given."""

    text: str
    time: int = 0
    merge: str = ""

    def __str__(self) -> str:
        return f"merge {self.merge}" if self.merge else format_time(self.time)


def parse_moment(text: str, now: datetime | None = None, option: str = "--as-of") -> Moment:
    """Parse a moment. Times without an offset are UTC; a date is its last millisecond, an age is before now.

    Raises `ConfigError`.
    """
    words = text.strip()
    if _MERGE.fullmatch(words):
        return Moment(text, merge=words)
    try:
        time = parse_time(words, epoch_ms(now or datetime.now(UTC)))
        return Moment(text, time + _REST_OF_DAY if _DATE.fullmatch(words) else time)
    except TooLong as error:
        raise ConfigError(option, str(error)) from None
    except ValueError:
        raise ConfigError(option, f"not a time: {text}; expected {FORMS}") from None
