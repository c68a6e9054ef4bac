"""Rows and engines: the operations that the pipeline is built from."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Iterable, Sequence
from contextlib import AbstractContextManager
from functools import partial
from itertools import chain
from operator import itemgetter
from typing import Any, Generic, Protocol, TypeVar

T = TypeVar("T")
U = TypeVar("U")
V = TypeVar("V")
W = TypeVar("W")
T_co = TypeVar("T_co", covariant=True)
# Strings, numbers and None, or tuples of them: a key must have the same `repr` in every process.
Key = TypeVar("Key", bound=Hashable)


class Rows(ABC, Generic[T]):
    """Unordered rows of one type.

    An engine may compute rows in several processes, and repeatedly unless they are cached. So functions must
    be pure and picklable, and must not depend on the order of rows.
    """

    @property
    @abstractmethod
    def engine(self) -> "Engine":
        """Return the engine of the rows."""

    @property
    @abstractmethod
    def partition_count(self) -> int:
        """Return the number of partitions."""

    @abstractmethod
    def map_numbered_partitions(self, function: Callable[[int, Iterable[T]], Iterable[U]]) -> "Rows[U]":
        """Call the function with the number of each partition, from 0, and its rows."""

    def map_partitions(self, function: Callable[[Iterable[T]], Iterable[U]]) -> "Rows[U]":
        """Call the function with the rows of each partition, such as to open one connection per partition."""
        return self.map_numbered_partitions(partial(_drop_number, function))

    @abstractmethod
    def group(self, key: Callable[[T], Key], function: Callable[[Key, list[T]], Iterable[U]]) -> "Rows[U]":
        """Call the function with each key and all of its rows. A group must fit into memory."""

    @abstractmethod
    def combine(
        self: "Rows[tuple[Key, W]]",
        create: Callable[[W], V],
        add: Callable[[V, W], V],
        merge: Callable[[V, V], V],
    ) -> "Rows[tuple[Key, V]]":
        """Combine the values of each key, partially before the shuffle.

        `create` returns the combined value of one value, `add` adds a value, `merge` merges two of them. The
        last two may modify their first argument; the result must not depend on order.
        """

    def reduce_by_key(self: "Rows[tuple[Key, V]]", merge: Callable[[V, V], V]) -> "Rows[tuple[Key, V]]":
        """Merge the values of each key, as `combine` does."""
        return self.combine(_itself, merge, merge)

    @abstractmethod
    def union(self, *others: "Rows[T]") -> "Rows[T]":
        """Return these rows and all of the others."""

    @abstractmethod
    def cache(self) -> "Rows[T]":
        """Return the same rows, computed once. `Engine.unpersist_all` frees them."""

    @abstractmethod
    def repartition(self, partitions: int) -> "Rows[T]":
        """Return the same rows in at most `partitions` partitions."""

    @abstractmethod
    def repartition_by(self, key: Callable[[T], Key], partitions: int) -> "Rows[T]":
        """Return the same rows in at most `partitions` partitions; rows with the same key share one."""

    @abstractmethod
    def collect(self) -> list[T]:
        """Return all rows in this process."""

    def flat_map(self, function: Callable[[T], Iterable[U]]) -> "Rows[U]":
        """Return all results that the function yields for each row."""
        return self.map_partitions(partial(_flat_map, function))

    def map(self, function: Callable[[T], U]) -> "Rows[U]":
        """Return the result of the function for each row."""
        return self.map_partitions(partial(map, function))

    def filter(self, is_wanted: Callable[[T], bool]) -> "Rows[T]":
        """Return the rows for which the function is true."""
        return self.map_partitions(partial(filter, is_wanted))

    def distinct(self) -> "Rows[T]":
        """Return distinct rows, which must be hashable; equal ones must have the same `repr`."""
        pairs: Rows[tuple[Any, None]] = self.map(_as_key)
        return pairs.reduce_by_key(_first).map(itemgetter(0))

    def count(self) -> int:
        """Return the number of rows."""
        return sum(self.map_partitions(_number).collect())

    def is_empty(self) -> bool:
        """Whether there are no rows."""
        return not any(self.map_partitions(_has_rows).collect())


class Shared(Protocol[T_co]):
    """A value that is available to functions in all processes."""

    @property
    def value(self) -> T_co:
        """Return the value."""


class Counter(Protocol):
    """A counter that functions increment and the driver reads."""

    @property
    def value(self) -> int:
        """Return the sum."""

    def add(self, number: int, /) -> None:
        """Increment the counter."""


class Engine(ABC):
    """Computes rows. Rows of different engines cannot be combined."""

    @property
    @abstractmethod
    def is_local(self) -> bool:
        """Whether all rows are in this process."""

    @property
    @abstractmethod
    def parallelism(self) -> int:
        """Return the number of partitions that are computed at a time."""

    @abstractmethod
    def rows(self, items: Iterable[T], partitions: int | None = None) -> Rows[T]:
        """Return items as rows, in at most `partitions` partitions (default: `parallelism`)."""

    @abstractmethod
    def share(self, value: T) -> Shared[T]:
        """Send a large value to each process once."""

    @abstractmethod
    def reserve(self, input_bytes: int) -> None:
        """Raise the number of partitions of groups to fit this much input text."""

    @abstractmethod
    def counter(self) -> Counter:
        """Return a new counter."""

    @abstractmethod
    def own_errors(self) -> AbstractContextManager[None]:
        """Return a context in which errors of this package that functions raise arrive unchanged."""

    @abstractmethod
    def unpersist_all(self) -> None:
        """Free all cached rows and shared values of this engine, which cannot be read afterwards."""

    def empty(self) -> Rows[Any]:
        """Return no rows."""
        return self.rows((), 1)

    def union(self, parts: Sequence[Rows[T]]) -> Rows[T]:
        """Return all rows of the parts."""
        return parts[0].union(*parts[1:]) if parts else self.empty()


# Functions and not lambdas: workers get them pickled.
def _drop_number(
    function: Callable[[Iterable[T]], Iterable[U]], _number: int, rows: Iterable[T]
) -> Iterable[U]:
    return function(rows)


def _flat_map(function: Callable[[T], Iterable[U]], rows: Iterable[T]) -> Iterable[U]:
    return chain.from_iterable(map(function, rows))


def _itself(row: T) -> T:
    return row


def _as_key(row: T) -> tuple[T, None]:
    return row, None


def _first(one: T, _other: T) -> T:
    return one


def _number(rows: Iterable[Any]) -> Iterable[int]:
    return (sum(1 for _ in rows),)


def _has_rows(rows: Iterable[Any]) -> Iterable[bool]:
    return (next((True for _ in rows), False),)
