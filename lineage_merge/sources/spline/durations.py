"""Execution durations. Pure."""

from collections.abc import Mapping
from typing import Any

# More digits do not fit 64 bits, and are slow to parse.
_DIGITS = 20


def duration_ns(event: Mapping[str, Any]) -> int | None:
    """Return the duration in a validated event or `progress` document; None without one.

    Producer API 1 has it in `extra`, as a number or as digits. Spline's server moves it out of `extra` only
    if its JSON parser read a 64-bit number, so databases may have it in `extra` alone.
    """
    duration = event.get("durationNs")
    return _whole((event.get("extra") or {}).get("durationNs")) if duration is None else int(duration)


def _whole(value: object) -> int | None:
    if isinstance(value, str) and len(value) < _DIGITS and value.isascii() and value.isdecimal():
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int):
        return None
    return value if 0 <= value < 1 << 63 else None
