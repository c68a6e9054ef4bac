"""How long an execution took. Pure."""

from collections.abc import Mapping
from typing import Any

# More digits are no 64-bit number, and slow to read.
_DIGITS = 20


def duration_ns(event: Mapping[str, Any]) -> int | None:
    """The duration of a checked event or `progress` document; None where neither place has one.

    Producer API 1 keeps it in `extra`, as a number or as digits. Spline's server moves it out of there only
    where its JSON parser made a 64-bit number of it, so that its database may have it in `extra` alone.
    """
    duration = event.get("durationNs")
    return _whole((event.get("extra") or {}).get("durationNs")) if duration is None else int(duration)


def _whole(value: object) -> int | None:
    if isinstance(value, str) and len(value) < _DIGITS and value.isascii() and value.isdecimal():
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int):
        return None
    return value if 0 <= value < 1 << 63 else None
