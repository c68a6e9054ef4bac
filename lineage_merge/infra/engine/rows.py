"""Rows and the engine that computes them: the few operations that the whole pipeline is made of."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from typing import Any, Generic, Protocol, TypeVar

T = TypeVar("T")
U = TypeVar("U")
V = TypeVar("V")
W = TypeVar("W")
T_co = TypeVar("T_co", covariant=True)
# Texts, numbers and None, or tuples of them: a key must have the same `repr` in every process.
Key = TypeVar("Key", bound=Hashable)


class Rows(ABC, Generic[T]):
    """Rows of one type, in no order.

    An engine may compute rows in several processes, and more than once unless they are kept. So functions
    must be pure, must pickle with all that they refer to, and must not depend on the order of rows.
    """

    @property
    @abstractmethod
    def engine(self) -> "Engine":
        """The engine that computes the rows."""

    @property
    @abstractmethod
    def partition_count(self) -> int:
        """How many partitions there are."""

    @abstractmethod
    def map_numbered_partitions(self, function: Callable[[int, Iterable[T]], Iterable[U]]) -> "Rows[U]":
        """Call the function with the number of each partition, from 0, and its rows."""

    def map_partitions(self, function: Callable[[Iterable[T]], Iterable[U]]) -> "Rows[U]":
        """Call the function with the rows of each partition: for what is set up once (a connection)."""
        return self.map_numbered_partitions(_Unnumbered(function))

    @abstractmethod
    def group(self, key: Callable[[T], Key], function: Callable[[Key, list[T]], Iterable[U]]) -> "Rows[U]":
        """Call the function with each key and all rows that have it. A group must fit into memory."""

    @abstractmethod
    def combine(
        self: "Rows[tuple[Key, W]]",
        create: Callable[[W], V],
        add: Callable[[V, W], V],
        merge: Callable[[V, V], V],
    ) -> "Rows[tuple[Key, V]]":
        """Combine the values of pairs that share a key, in part before they are moved to one process.

        `create` makes a combined value of one value, `add` adds a value to it, `merge` merges two of them.
        The last two may change their first argument, and must give the same in any order.
        """

    @abstractmethod
    def union(self, *others: "Rows[T]") -> "Rows[T]":
        """These rows and all of the others."""

    @abstractmethod
    def cache(self) -> "Rows[T]":
        """The same rows, computed once, for what is read several times. `Engine.unpersist_all` frees them."""

    @abstractmethod
    def repartition(self, partitions: int) -> "Rows[T]":
        """The same rows in at most so many partitions."""

    @abstractmethod
    def repartition_by(self, key: Callable[[T], Key], partitions: int) -> "Rows[T]":
        """The same rows in at most so many partitions, those with the same key in the same one."""

    @abstractmethod
    def collect(self) -> list[T]:
        """All rows in this process."""

    def flat_map(self, function: Callable[[T], Iterable[U]]) -> "Rows[U]":
        """All that the function yields for each row."""
        return self.map_partitions(_FlatMap(function))

    def map(self, function: Callable[[T], U]) -> "Rows[U]":
        """What the function returns for each row."""
        return self.map_partitions(_Map(function))

    def filter(self, is_wanted: Callable[[T], bool]) -> "Rows[T]":
        """The rows for which the function is true."""
        return self.map_partitions(_Filter(is_wanted))

    def distinct(self) -> "Rows[T]":
        """Each row once; rows are hashable, and equal ones have the same `repr`."""
        pairs: Rows[tuple[Any, None]] = self.map(_as_key)
        return pairs.combine(_itself, _first, _first).map(_key)

    def count(self) -> int:
        """How many rows there are."""
        return sum(self.map_partitions(_number).collect())

    def is_empty(self) -> bool:
        """Whether there is no row."""
        return not any(self.map_partitions(_has_rows).collect())


class Shared(Protocol[T_co]):
    """A value that functions use wherever they run."""

    @property
    def value(self) -> T_co:
        """The value."""


class Counter(Protocol):
    """A number that functions add to and the driver reads."""

    @property
    def value(self) -> int:
        """The sum."""

    def add(self, number: int, /) -> None:
        """Add to it."""


class Engine(ABC):
    """Computes rows. Rows of different engines do not go together."""

    @property
    @abstractmethod
    def is_local(self) -> bool:
        """Whether all rows are in this process."""

    @property
    @abstractmethod
    def parallelism(self) -> int:
        """How many partitions are computed at a time."""

    @abstractmethod
    def rows(self, items: Iterable[T], partitions: int | None = None) -> Rows[T]:
        """Rows of this process, in at most so many partitions: by default `parallelism`."""

    @abstractmethod
    def share(self, value: T) -> Shared[T]:
        """A large value that functions refer to, sent to each process once."""

    @abstractmethod
    def reserve(self, input_bytes: int) -> None:
        """From now on group into enough partitions for that much input, read as text."""

    @abstractmethod
    def counter(self) -> Counter:
        """A counter of nothing yet, which functions add to wherever they run."""

    @abstractmethod
    def own_errors(self) -> AbstractContextManager[None]:
        """Within it, errors of this package that functions raise arrive as they are."""

    @abstractmethod
    def unpersist_all(self) -> None:
        """Free all kept rows of this engine. None of them can be read afterwards."""

    def empty(self) -> Rows[Any]:
        """No rows."""
        return self.rows((), 1)

    def union(self, parts: Sequence[Rows[T]]) -> Rows[T]:
        """All rows of the parts."""
        return parts[0].union(*parts[1:]) if parts else self.empty()


class _Unnumbered(Generic[T, U]):
    def __init__(self, function: Callable[[Iterable[T]], Iterable[U]]) -> None:
        self.function = function

    def __call__(self, _number: int, rows: Iterable[T]) -> Iterable[U]:
        return self.function(rows)


class _FlatMap(Generic[T, U]):
    def __init__(self, function: Callable[[T], Iterable[U]]) -> None:
        self.function = function

    def __call__(self, rows: Iterable[T]) -> Iterator[U]:
        for row in rows:
            yield from self.function(row)


class _Map(Generic[T, U]):
    def __init__(self, function: Callable[[T], U]) -> None:
        self.function = function

    def __call__(self, rows: Iterable[T]) -> Iterator[U]:
        return map(self.function, rows)


class _Filter(Generic[T]):
    def __init__(self, is_wanted: Callable[[T], bool]) -> None:
        self.is_wanted = is_wanted

    def __call__(self, rows: Iterable[T]) -> Iterator[T]:
        return filter(self.is_wanted, rows)


def _itself(row: T) -> T:
    return row


def _as_key(row: T) -> tuple[T, None]:
    return row, None


def _first(one: T, _other: T) -> T:
    return one


def _key(pair: tuple[T, Any]) -> T:
    return pair[0]


def _number(rows: Iterable[Any]) -> Iterable[int]:
    return (sum(1 for _ in rows),)


def _has_rows(rows: Iterable[Any]) -> Iterable[bool]:
    return (next((True for _ in rows), False),)
