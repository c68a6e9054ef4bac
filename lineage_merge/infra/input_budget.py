"""Limit of the input that a single process reads.

Readers report bytes with `count`. Inside `limited`, reading more than the limit raises `InputTooLarge`;
outside nothing is counted.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from threading import Lock

from lineage_merge.model.errors import InputTooLarge

# Of a shuffle: of a heap of 1 GB a task may use 200 MB, which sorts this much text with few spills.
BYTES_PER_PARTITION = 32 << 20


class _Budget:
    """The remaining bytes, shared by all threads."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._lock = Lock()
        self.left = limit

    def spend(self, number: int) -> None:
        with self._lock:
            self.left -= number
            is_spent = self.left < 0
        if is_spent:
            raise InputTooLarge(f"the sources contain more than {self._limit:,} bytes of text")


_BUDGET: ContextVar[_Budget | None] = ContextVar("input_budget", default=None)


@contextmanager
def limit_input(limit: int) -> Iterator[None]:
    """Limit the input that is read in the block to `limit` bytes of unpacked text.

    Threads started in the block count only if they run in a copy of the context.
    """
    token = _BUDGET.set(_Budget(limit))
    try:
        yield
    finally:
        _BUDGET.reset(token)


def count(number: int) -> None:
    """Report bytes that were read. Raises `InputTooLarge` beyond the limit."""
    budget = _BUDGET.get()
    if budget is not None:
        budget.spend(number)


def limit_read(number: int) -> int:
    """Return the bytes to read at once, out of `number` (-1: all): at most one more than the limit."""
    budget = _BUDGET.get()
    if budget is None:
        return number
    enough = max(budget.left, 0) + 1
    return enough if number < 0 else min(number, enough)
