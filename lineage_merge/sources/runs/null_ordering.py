"""Values that may be missing, in order: None is smaller than all others, and no part of a sum."""

from collections.abc import Iterable
from typing import Any, TypeVar

T = TypeVar("T", bound=Any)


def nulls_first(*values: object) -> tuple[tuple[bool, Any], ...]:
    """A sort key of the values, in which None comes first."""
    return tuple((value is not None, value) for value in values)


def largest(values: Iterable[T | None]) -> T | None:
    """The largest of the values that are present; None where there is none."""
    return max((value for value in values if value is not None), default=None)


def smallest(values: Iterable[T | None]) -> T | None:
    """The smallest of the values that are present; None where there is none."""
    return min((value for value in values if value is not None), default=None)


def total(values: Iterable[int | None]) -> int | None:
    """The sum of the values that are present; None where there is none."""
    present = [value for value in values if value is not None]
    return sum(present) if present else None
