"""Units of durations, and durations and times in text: ``1d``, ``36h``, ``1.5d``; ``2026-11-01``. Pure."""

import re
from collections.abc import Mapping
from datetime import datetime, timedelta

from lineage_merge.infra.times import epoch_ms

UNITS: Mapping[str, timedelta] = {
    "m": timedelta(minutes=1),
    "h": timedelta(hours=1),
    "d": timedelta(days=1),
    "w": timedelta(weeks=1),
    "y": timedelta(days=365),
}
# Not in weeks and years: durations are those of freshness.
_DURATION = re.compile(r"([0-9]{1,9}(?:\.[0-9]{1,9})?)\s*([dhm])")
_LONGEST = timedelta(days=36500)
_MILLISECOND = timedelta(milliseconds=1)
FORM = "days, hours or minutes, such as 1d, 36h or 90m"


def parse_duration(text: str) -> timedelta:
    """Parse a duration of more than 0 and at most 36,500 days. Raises `ValueError`."""
    found = _DURATION.fullmatch(text.strip())
    if found is None:
        raise ValueError(f"expected {FORM}, found {text}")
    duration = UNITS[found[2]] * float(found[1])
    if not timedelta(0) < duration <= _LONGEST:
        raise ValueError(f"expected more than 0 and at most {_LONGEST.days} days, found {text}")
    return duration


def parse_age(text: str) -> int:
    """Return a duration in ms. Raises `ValueError`."""
    return parse_duration(text) // _MILLISECOND


def parse_time(text: str, now: int) -> int:
    """Return a time such as ``2026-11-01`` (UTC), or ``1d`` before `now`, in ms since 1970.

    Raises `ValueError`.
    """
    try:
        return now - parse_age(text)
    except ValueError:
        pass
    try:
        return epoch_ms(datetime.fromisoformat(text))
    except ValueError:
        raise ValueError(
            f"expected a time such as 2026-11-01 or 2026-11-01T06:00Z, or {FORM}; found {text}"
        ) from None
