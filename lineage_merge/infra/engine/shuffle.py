"""Shuffle of rows in Python workers: before and after rows move to the partition of their key.

PySpark's own `groupByKey` collects rows by key on both sides, and pickles each row separately with
cloudpickle. Here rows move in pickled batches and are grouped only on arrival.
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

# Dictionaries that spill to disk; the module has no type annotations.
_external: Any = pyspark.shuffle

# The number of a partition, and a pickled list of its rows.
Bucket = tuple[int, bytes]

# Rows per batch: more for more partitions, to amortize the overhead of a batch.
_MIN_ROWS = 1000
_ROWS_PER_PARTITION = 10


class KeyedBuckets(Generic[T, Key]):
    """Converts rows to buckets of `(key, row)`."""

    def __init__(self, key: Callable[[T], Key], partitions: int) -> None:
        self._key = key
        self._partitions = partitions

    def __call__(self, rows: Iterable[T]) -> Iterator[Bucket]:
        key = self._key
        return _buckets(((key(row), row) for row in rows), self._partitions)


class PairBuckets:
    """Converts pairs of key and value to buckets."""

    def __init__(self, partitions: int) -> None:
        self._partitions = partitions

    def __call__(self, pairs: Iterable[tuple[Any, Any]]) -> Iterator[Bucket]:
        return _buckets(pairs, self._partitions)


class Grouping(Generic[T, U]):
    """Groups the rows of buckets and calls a function per key; spills to disk above a memory limit."""

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
    """Combines the values of each key, before (`values`) and after (`combined`) the shuffle."""

    def __init__(
        self, create: Callable[[W], V], add: Callable[[V, W], V], merge: Callable[[V, V], V], memory_mb: int
    ) -> None:
        self._functions = create, add, merge
        self._memory_mb = memory_mb

    def values(self, pairs: Iterable[tuple[Any, W]]) -> Iterable[tuple[Any, V]]:
        """Combine values of one partition."""
        merger = self._merger()
        merger.mergeValues(pairs)
        values: Iterable[tuple[Any, V]] = merger.items()
        return values

    def combined(self, buckets: Iterable[Bucket]) -> Iterable[tuple[Any, V]]:
        """Merge the combined values of all partitions."""
        merger = self._merger()
        merger.mergeCombiners(_pairs(buckets))
        found: Iterable[tuple[Any, V]] = merger.items()
        return found

    def _merger(self) -> Any:
        aggregator = _external.Aggregator(*self._functions)
        return _external.ExternalMerger(aggregator, self._memory_mb, CPickleSerializer())


def rows_of(buckets: Iterable[Bucket]) -> Iterator[Any]:
    """Return the rows in buckets of `KeyedBuckets`."""
    return (row for _, row in _pairs(buckets))


def _buckets(pairs: Iterable[tuple[Any, Any]], partitions: int) -> Iterator[Bucket]:
    most = max(_MIN_ROWS, _ROWS_PER_PARTITION * partitions)
    waiting: dict[int, list[tuple[Any, Any]]] = {}
    number = 0
    for pair in pairs:
        # Python's hash of strings differs between processes.
        partition = crc32(repr(pair[0]).encode(errors="surrogatepass")) % partitions
        if partition in waiting:
            waiting[partition].append(pair)
        else:
            waiting[partition] = [pair]
        number += 1
        if number == most:
            yield from _pickled(waiting)
            waiting, number = {}, 0
    yield from _pickled(waiting)


def _pickled(waiting: dict[int, list[tuple[Any, Any]]]) -> Iterator[Bucket]:
    return ((partition, pickle.dumps(pairs, pickle.HIGHEST_PROTOCOL)) for partition, pairs in waiting.items())


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
