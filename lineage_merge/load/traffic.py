"""Counts requests to the graph and what they are answered with, wherever they are sent from."""

from dataclasses import dataclass
from threading import Lock
from typing import Any, Protocol, cast

from lineage_merge.engine.rows import Engine


class Counter(Protocol):
    """A number that workers add to and the driver reads."""

    @property
    def value(self) -> int:
        """The sum."""

    def add(self, number: int, /) -> None:
        """Add to it."""


@dataclass(frozen=True, slots=True)
class Traffic:
    """Requests that were sent, also those sent again, and elements, ids and values that were read."""

    requests: Counter
    read: Counter


def counted(engine: Engine) -> Traffic:
    """Return counters of nothing yet."""
    return Traffic(counter(engine), counter(engine))


def counter(engine: Engine) -> Counter:
    """Return a counter that functions of the engine may add to."""
    if engine.is_local:
        return _LocalCounter()
    on_spark: Any = engine
    return cast(Counter, on_spark.spark.sparkContext.accumulator(0))


class _LocalCounter:
    def __init__(self) -> None:
        self._value = 0
        self._lock = Lock()

    @property
    def value(self) -> int:
        return self._value

    def add(self, number: int) -> None:
        with self._lock:
            self._value += number
