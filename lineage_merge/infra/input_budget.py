"""A limit to how much input is read, for work that one process is to do.

Code that reads input reports it with `count`. Within `limited`, reading more than the limit raises
`InputTooLarge`; elsewhere nothing is counted.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from threading import Lock

from lineage_merge.model.errors import InputTooLarge


class _Budget:
    """The bytes that are left, for all threads together."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._lock = Lock()
        self.left = limit

    def take(self, number: int) -> None:
        with self._lock:
            self.left -= number
            is_spent = self.left < 0
        if is_spent:
            raise InputTooLarge(f"the sources hold more than {self._limit:,} bytes of text")


_BUDGET: ContextVar[_Budget | None] = ContextVar("input_budget", default=None)


@contextmanager
def limited(limit: int) -> Iterator[None]:
    """Let all that is read within it be at most `limit` bytes of unpacked text.

    A thread that is started within it counts only if it runs in a copy of the context.
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
        budget.take(number)


def at_most(number: int) -> int:
    """How many of so many bytes (-1: all) to read at once: one above the limit is enough to know."""
    budget = _BUDGET.get()
    if budget is None:
        return number
    enough = max(budget.left, 0) + 1
    return enough if number < 0 else min(number, enough)
