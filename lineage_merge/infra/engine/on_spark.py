"""Rows as RDDs, computed by Spark's executors in Python workers."""

import pickle
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager
from functools import cached_property, partial
from itertools import chain
from struct import Struct
from typing import Any, NamedTuple, cast
from zlib import crc32

import pyspark.shuffle
from pyspark import RDD, Broadcast, StorageLevel
from pyspark.serializers import CPickleSerializer, NoOpSerializer
from pyspark.sql import DataFrame, SparkSession

from lineage_merge.infra.engine.local import collection_off
from lineage_merge.infra.engine.rows import Counter, Engine, Key, Rows, Shared, T, U, V, W
from lineage_merge.infra.spark_errors import own_errors
from lineage_merge.infra.spark_session import fit_partitions

# Dictionaries that spill to disk; the module has no type annotations.
_external: Any = pyspark.shuffle

# The number of a partition, and a pickled list of its rows.
Bucket = tuple[int, bytes]

_LONG = Struct(">q")  # Java's long

# Rows per batch: more for more partitions, to amortize the overhead of a batch.
_MIN_ROWS = 1000
_ROWS_PER_PARTITION = 10

MAX_TASKS = 1000


class SparkEngine(Engine):
    """Computes rows with a Spark session; `spark.sql.shuffle.partitions` applies to groups."""

    def __init__(self, spark: SparkSession) -> None:
        self.spark = spark
        self._cached: list[RDD[Any]] = []
        self._shared: list[Broadcast[Any]] = []

    @property
    def is_local(self) -> bool:
        return False

    @property
    def parallelism(self) -> int:
        return self.spark.sparkContext.defaultParallelism

    @property
    def shuffle_partitions(self) -> int:
        """Return the number of partitions of grouped rows."""
        return int(self.spark.conf.get("spark.sql.shuffle.partitions") or self.parallelism)

    @cached_property
    def worker_memory_mb(self) -> int:
        """Return the memory of a Python worker for grouping, before it spills to disk."""
        memory = self.spark.sparkContext.getConf().get("spark.python.worker.memory", "512m")
        jvm: Any = self.spark.sparkContext._jvm
        return int(jvm.org.apache.spark.network.util.JavaUtils.byteStringAsMb(memory))

    def rows(self, items: Iterable[T], partitions: int | None = None) -> Rows[T]:
        rows = list(items)
        number = max(1, min(len(rows), partitions or self.parallelism, MAX_TASKS))
        return SparkRows(self, self.spark.sparkContext.parallelize(rows, number))

    def from_frame(self, frame: DataFrame) -> Rows[Any]:
        """Return the rows of a DataFrame, as PySpark's `Row`."""
        return SparkRows(self, frame.rdd)

    def share(self, value: T) -> Shared[T]:
        shared = self.spark.sparkContext.broadcast(value)
        self._shared.append(shared)
        return shared

    def reserve(self, input_bytes: int) -> None:
        fit_partitions(self.spark, input_bytes)

    def counter(self) -> Counter:
        counter: Counter = self.spark.sparkContext.accumulator(0)
        return counter

    def own_errors(self) -> AbstractContextManager[None]:
        return own_errors()

    def unpersist_all(self) -> None:
        # In reverse: later RDDs depend on earlier ones.
        while self._cached:
            self._cached.pop().unpersist()
        while self._shared:
            self._shared.pop().unpersist()

    def persist(self, rdd: "RDD[T]") -> "RDD[T]":
        """Persist an RDD; partitions of an executor that ends are recomputed."""
        if not rdd.is_cached:
            rdd.persist(StorageLevel.MEMORY_AND_DISK)
            self._cached.append(rdd)
        return rdd


def session_of(engine: Engine) -> SparkSession:
    """Return the Spark session of an engine, which Kafka requires."""
    if not isinstance(engine, SparkEngine):
        raise TypeError("Kafka is read by Spark only")
    return engine.spark


class SparkRows(Rows[T]):
    """A sequence of RDDs of pickled rows.

    A union stays a list of RDDs as long as possible: Spark would send the rows of each through another
    Python worker.
    """

    def __init__(self, engine: SparkEngine, *rdds: "RDD[T]") -> None:
        self._engine = engine
        self._rdds = rdds

    @property
    def engine(self) -> SparkEngine:
        return self._engine

    @property
    def rdd(self) -> "RDD[T]":
        """Return all rows as one RDD."""
        return self._rdds[0] if len(self._rdds) == 1 else self._engine.spark.sparkContext.union([*self._rdds])

    @property
    def partition_count(self) -> int:
        return sum(rdd.getNumPartitions() for rdd in self._rdds)

    def map_numbered_partitions(self, function: Callable[[int, Iterable[T]], Iterable[U]]) -> Rows[U]:
        return SparkRows(self._engine, self.rdd.mapPartitionsWithIndex(function))

    def map_partitions(self, function: Callable[[Iterable[T]], Iterable[U]]) -> Rows[U]:
        return SparkRows(self._engine, *(rdd.mapPartitions(function) for rdd in self._rdds))

    def group(self, key: Callable[[T], Key], function: Callable[[Key, list[T]], Iterable[U]]) -> Rows[U]:
        number = self._engine.shuffle_partitions
        buckets = self.map_partitions(partial(make_keyed_buckets, key, number))
        return _move(buckets, number).map_partitions(
            partial(apply_by_key, function, self._engine.worker_memory_mb)
        )

    def combine(
        self: "SparkRows[tuple[Key, W]]",
        create: Callable[[W], V],
        add: Callable[[V, W], V],
        merge: Callable[[V, V], V],
    ) -> Rows[tuple[Key, V]]:
        combining = Combining(create, add, merge, self._engine.worker_memory_mb)
        number = self._engine.shuffle_partitions
        buckets = self.map_partitions(combining.values).map_partitions(partial(buckets_of, number))
        return _move(buckets, number).map_partitions(combining.merge_partitions)

    def union(self, *others: Rows[T]) -> Rows[T]:
        return SparkRows(self._engine, *self._rdds, *chain.from_iterable(map(_rdds, others)))

    def cache(self) -> Rows[T]:
        return SparkRows(self._engine, *map(self._engine.persist, self._rdds))

    def repartition(self, partitions: int) -> Rows[T]:
        present = self.partition_count
        if present == partitions:
            return self
        # Fewer partitions need no shuffle.
        spread = self.rdd.coalesce(partitions) if present > partitions else self.rdd.repartition(partitions)
        return SparkRows(self._engine, spread)

    def repartition_by(self, key: Callable[[T], Key], partitions: int) -> Rows[T]:
        buckets = self.map_partitions(partial(make_keyed_buckets, key, partitions))
        return _move(buckets, partitions).map_partitions(rows_of)

    def collect(self) -> list[T]:
        return self.rdd.collect()


def _rdds(rows: Rows[Any]) -> "tuple[RDD[Any], ...]":
    if not isinstance(rows, SparkRows):
        raise TypeError("rows of another engine")
    return rows._rdds


def _move(buckets: Rows[Bucket], number: int) -> "SparkRows[bytes]":
    """Return the pickled rows of buckets in the partitions that the buckets name.

    As `RDD.partitionBy`, which pickles buckets again, and sends those of a union through a second worker.
    """
    rows = cast("SparkRows[Bucket]", buckets)
    context = rows.engine.spark.sparkContext
    framed = [rdd.mapPartitions(_frame) for rdd in rows._rdds]
    for rdd in framed:
        rdd._bypass_serializer = True  # type: ignore[attr-defined]
    joined: Any = framed[0] if len(framed) == 1 else context.union(framed)
    jvm: Any = context._jvm
    pairs = jvm.PairwiseRDD(joined._jrdd.rdd()).asJavaPairRDD()
    moved = pairs.partitionBy(jvm.PythonPartitioner(number, 0))
    return SparkRows(rows.engine, RDD(jvm.PythonRDD.valueOfPair(moved), context, NoOpSerializer()))


def _frame(buckets: Iterable[Bucket]) -> Iterator[bytes]:
    """Yield the number and the content of each bucket, as Spark's `PairwiseRDD` reads them."""
    for partition, pickled in buckets:
        yield _LONG.pack(partition)
        yield pickled


# Shuffle, in Python workers: before and after rows move to the partition of their key. PySpark's own
# `groupByKey` collects rows by key on both sides, and pickles each row separately with cloudpickle. Here rows
# move in pickled batches and are grouped only on arrival.


def make_keyed_buckets(key: Callable[[T], Key], partitions: int, rows: Iterable[T]) -> Iterator[Bucket]:
    """Convert rows to buckets of `(key, row)`."""
    return buckets_of(partitions, ((key(row), row) for row in rows))


def buckets_of(partitions: int, pairs: Iterable[tuple[Any, Any]]) -> Iterator[Bucket]:
    """Convert pairs of key and value to buckets."""
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
            yield from _pickle(waiting)
            waiting, number = {}, 0
    yield from _pickle(waiting)


def _pickle(waiting: dict[int, list[tuple[Any, Any]]]) -> Iterator[Bucket]:
    return ((partition, pickle.dumps(pairs, pickle.HIGHEST_PROTOCOL)) for partition, pairs in waiting.items())


def _pairs(batches: Iterable[bytes]) -> Iterator[tuple[Any, Any]]:
    for pickled in batches:
        yield from pickle.loads(pickled)  # noqa: S301 # by `_pickled`, in another worker of this job


def rows_of(batches: Iterable[bytes]) -> Iterator[Any]:
    """Return the rows in pickled buckets of `keyed_buckets`."""
    return (row for _, row in _pairs(batches))


def apply_by_key(
    function: Callable[[Any, list[T]], Iterable[U]], memory_mb: int, batches: Iterable[bytes]
) -> Iterator[U]:
    """Group pickled rows and call a function per key; spills to disk above a memory limit."""
    aggregator = _external.Aggregator(_list_of, _append, _extend)
    groups = _external.ExternalGroupBy(aggregator, memory_mb, CPickleSerializer())
    groups.mergeValues(_pairs(batches))
    for key, rows in groups.items():
        # A tenth of the time: a group's objects end with it, without cycles.
        with collection_off():
            results = list(function(key, list(rows)))
        yield from results


class Combining(NamedTuple):
    """Combines the values of each key, before (`values`) and after (`merge_partitions`) the shuffle."""

    create: Callable[[Any], Any]
    add: Callable[[Any, Any], Any]
    merge: Callable[[Any, Any], Any]
    memory_mb: int

    def values(self, pairs: Iterable[tuple[Any, Any]]) -> Iterable[tuple[Any, Any]]:
        """Combine values of one partition."""
        merger = self._merger()
        merger.mergeValues(pairs)
        return cast("Iterable[tuple[Any, Any]]", merger.items())

    def merge_partitions(self, batches: Iterable[bytes]) -> Iterable[tuple[Any, Any]]:
        """Merge the combined values of all partitions."""
        merger = self._merger()
        merger.mergeCombiners(_pairs(batches))
        return cast("Iterable[tuple[Any, Any]]", merger.items())

    def _merger(self) -> Any:
        aggregator = _external.Aggregator(self.create, self.add, self.merge)
        return _external.ExternalMerger(aggregator, self.memory_mb, CPickleSerializer())


def _list_of(value: T) -> list[T]:
    return [value]


def _append(values: list[T], value: T) -> list[T]:
    values.append(value)
    return values


def _extend(values: list[T], others: list[T]) -> list[T]:
    values.extend(others)
    return values
