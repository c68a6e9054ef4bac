"""What Python workers do when rows are grouped: before rows move to the partition of their key, and after.

PySpark's own `groupByKey` collects rows by key on both sides and pickles each row by itself with cloudpickle.
Here they move in pickled batches, and are collected where they arrive.
"""

import pickle
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Generic, TypeVar
from zlib import crc32

import pyspark.shuffle
from pyspark.serializers import CPickleSerializer

from lineage_merge.infra.engine.rows import Key

T = TypeVar("T")
U = TypeVar("U")
V = TypeVar("V")
W = TypeVar("W")

# Dictionaries that are written to disk above a size of memory; the module has no annotations.
_external: Any = pyspark.shuffle

# The number of a partition, and rows of it as pickled list.
Bucket = tuple[int, bytes]

# Rows that wait to be pickled together: more for more partitions, so that a batch is worth its overhead.
_MIN_ROWS = 1000
_ROWS_PER_PARTITION = 10


class KeyedBuckets(Generic[T, Key]):
    """Rows to buckets of `(key, row)` by a function that returns the key."""

    def __init__(self, key: Callable[[T], Key], partitions: int) -> None:
        self._key = key
        self._partitions = partitions

    def __call__(self, rows: Iterable[T]) -> Iterator[Bucket]:
        key = self._key
        return _buckets(((key(row), row) for row in rows), self._partitions)


class PairBuckets:
    """Pairs of key and value to buckets of them."""

    def __init__(self, partitions: int) -> None:
        self._partitions = partitions

    def __call__(self, pairs: Iterable[tuple[Any, Any]]) -> Iterator[Bucket]:
        return _buckets(pairs, self._partitions)


class Grouping(Generic[T, U]):
    """Buckets to what a function yields for each key and its rows; writes to disk above a size of memory."""

    def __init__(self, function: Callable[[Any, list[T]], Iterable[U]], memory_mb: int) -> None:
        self._function = function
        self._memory_mb = memory_mb

    def __call__(self, buckets: Iterable[Bucket]) -> Iterator[U]:
        aggregator = _external.Aggregator(_list_of, _appended, _extended)
        groups = _external.ExternalGroupBy(aggregator, self._memory_mb, CPickleSerializer())
        groups.mergeValues(_pairs(buckets))
        for key, rows in groups.items():
            yield from self._function(key, list(rows))


class Combining(Generic[V, W]):
    """Combines the values of each key, before (`values`) and after (`combined`) they are moved."""

    def __init__(
        self, create: Callable[[W], V], add: Callable[[V, W], V], merge: Callable[[V, V], V], memory_mb: int
    ) -> None:
        self._functions = create, add, merge
        self._memory_mb = memory_mb

    def values(self, pairs: Iterable[tuple[Any, W]]) -> Iterable[tuple[Any, V]]:
        """Combine values of one partition."""
        merger = self._merger()
        merger.mergeValues(pairs)
        found: Iterable[tuple[Any, V]] = merger.items()
        return found

    def combined(self, buckets: Iterable[Bucket]) -> Iterable[tuple[Any, V]]:
        """Combine combined values of all partitions."""
        merger = self._merger()
        merger.mergeCombiners(_pairs(buckets))
        found: Iterable[tuple[Any, V]] = merger.items()
        return found

    def _merger(self) -> Any:
        aggregator = _external.Aggregator(*self._functions)
        return _external.ExternalMerger(aggregator, self._memory_mb, CPickleSerializer())


def rows_of(buckets: Iterable[Bucket]) -> Iterator[Any]:
    """The rows of buckets of `KeyedBuckets`."""
    return (row for _, row in _pairs(buckets))


def _buckets(pairs: Iterable[tuple[Any, Any]], partitions: int) -> Iterator[Bucket]:
    most = max(_MIN_ROWS, _ROWS_PER_PARTITION * partitions)
    waiting: dict[int, list[tuple[Any, Any]]] = {}
    number = 0
    for pair in pairs:
        # Python's own hash of a text differs from process to process.
        place = crc32(repr(pair[0]).encode(errors="surrogatepass")) % partitions
        if place in waiting:
            waiting[place].append(pair)
        else:
            waiting[place] = [pair]
        number += 1
        if number == most:
            yield from _pickled(waiting)
            waiting, number = {}, 0
    yield from _pickled(waiting)


def _pickled(waiting: dict[int, list[tuple[Any, Any]]]) -> Iterator[Bucket]:
    return ((place, pickle.dumps(pairs, pickle.HIGHEST_PROTOCOL)) for place, pairs in waiting.items())


def _pairs(buckets: Iterable[Bucket]) -> Iterator[tuple[Any, Any]]:
    for _, pickled in buckets:
        yield from pickle.loads(pickled)  # noqa: S301 # by `_pickled`, in another worker of this job


def _list_of(value: T) -> list[T]:
    return [value]


def _appended(values: list[T], value: T) -> list[T]:
    values.append(value)
    return values


def _extended(values: list[T], others: list[T]) -> list[T]:
    values.extend(others)
    return values
