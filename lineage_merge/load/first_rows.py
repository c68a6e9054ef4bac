"""The first rows in an order, for messages."""

from collections.abc import Callable, Iterable
from functools import partial
from heapq import nsmallest
from typing import Any, TypeVar

from lineage_merge.infra.engine.rows import Rows

T = TypeVar("T")


def first_rows(rows: Rows[T], number: int, key: Callable[[T], Any]) -> list[T]:
    """Return the rows with the smallest keys, in their order."""
    return nsmallest(number, rows.map_partitions(partial(_first, number, key)).collect(), key)


def _first(number: int, key: Callable[[T], Any], rows: Iterable[T]) -> list[T]:
    return nsmallest(number, rows, key)
