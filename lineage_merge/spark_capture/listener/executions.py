"""What Spark reports of executions: the Py4J side of a `QueryExecutionListener`."""

import time
from collections.abc import Callable
from typing import Any, NamedTuple


class Execution(NamedTuple):
    """A finished execution: Spark's `QueryExecution`, its end (ms since 1970), its duration, and its error.

    `duration_ns` is None for a failed execution, of which Spark reports none; `error` is then its exception.
    """

    query: Any
    ended_ms: int
    duration_ns: int | None
    error: Any = None


class ExecutionListener:
    """Implements Spark's `QueryExecutionListener`.

    Spark calls it on the thread of its listener bus, which all listeners share, so it only hands over.
    """

    def __init__(self, hand_over: Callable[[Execution], None]) -> None:
        self._hand_over = hand_over

    def onSuccess(self, _name: str, query: Any, duration_ns: int) -> None:  # noqa: N802 (Spark's name)
        """Hand a successful execution over."""
        self._hand_over(Execution(query, now_ms(), duration_ns))

    def onFailure(self, _name: str, query: Any, error: Any) -> None:  # noqa: N802 (Spark's name)
        """Hand a failed execution over."""
        self._hand_over(Execution(query, now_ms(), None, error))

    def equals(self, other: object) -> bool:
        """Return whether Java's `other` is this listener, which it asks to remove another one."""
        return other is self

    class Java:
        """The interface, as Py4J reads it."""

        implements = ("org.apache.spark.sql.util.QueryExecutionListener",)


def now_ms() -> int:
    """Return the time in ms since 1970."""
    return time.time_ns() // 1_000_000
