"""Ordering and sums of nullable values: None sorts first and is skipped in sums."""

from collections.abc import Iterable
from typing import Any, TypeVar

T = TypeVar("T", bound=Any)


def nulls_first(*values: object) -> tuple[tuple[bool, Any], ...]:
    """Return a sort key of the values in which None sorts first."""
    return tuple((value is not None, value) for value in values)


def largest(values: Iterable[T | None]) -> T | None:
    """Return the largest value that is not None; None without one."""
    return max((value for value in values if value is not None), default=None)


def smallest(values: Iterable[T | None]) -> T | None:
    """Return the smallest value that is not None; None without one."""
    return min((value for value in values if value is not None), default=None)


def total(values: Iterable[int | None]) -> int | None:
    """Return the sum of the values that are not None; None without one."""
    present = [value for value in values if value is not None]
    return sum(present) if present else None
