"""Rows as RDDs, computed by Spark's executors in Python workers."""

from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager
from functools import cached_property
from itertools import chain
from typing import Any, TypeVar, cast

from pyspark import RDD, Broadcast, StorageLevel
from pyspark.sql import DataFrame, SparkSession

from lineage_merge.infra import shuffle_partitions as spark_partitions
from lineage_merge.infra.engine import shuffle
from lineage_merge.infra.engine.rows import Counter, Engine, Key, Rows, Shared
from lineage_merge.infra.spark_session import own_errors

T = TypeVar("T")
U = TypeVar("U")
V = TypeVar("V")
W = TypeVar("W")

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
        found = list(items)
        number = max(1, min(len(found), partitions or self.parallelism, MAX_TASKS))
        return SparkRows(self, self.spark.sparkContext.parallelize(found, number))

    def of_frame(self, frame: DataFrame) -> Rows[Any]:
        """Return the rows of a DataFrame, as PySpark's `Row`."""
        return SparkRows(self, frame.rdd)

    def share(self, value: T) -> Shared[T]:
        shared = self.spark.sparkContext.broadcast(value)
        self._shared.append(shared)
        return shared

    def reserve(self, input_bytes: int) -> None:
        spark_partitions.at_least(self.spark, -(-input_bytes // spark_partitions.BYTES_PER_PARTITION))

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


def session_of(engine: Engine, what: str) -> SparkSession:
    """Return the Spark session of an engine; `what` (such as "Kafka") requires Spark."""
    if not isinstance(engine, SparkEngine):
        raise TypeError(f"{what} is read by Spark only")
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
        grouping = shuffle.Grouping(function, self._engine.worker_memory_mb)
        number = self._engine.shuffle_partitions
        buckets = self.map_partitions(shuffle.KeyedBuckets(key, number))
        return _moved(buckets, number).map_partitions(grouping)

    def combine(
        self: "SparkRows[tuple[Key, W]]",
        create: Callable[[W], V],
        add: Callable[[V, W], V],
        merge: Callable[[V, V], V],
    ) -> Rows[tuple[Key, V]]:
        combining = shuffle.Combining(create, add, merge, self._engine.worker_memory_mb)
        number = self._engine.shuffle_partitions
        buckets = self.map_partitions(combining.values).map_partitions(shuffle.PairBuckets(number))
        return _moved(buckets, number).map_partitions(combining.combined)

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
        buckets = self.map_partitions(shuffle.KeyedBuckets(key, partitions))
        return _moved(buckets, partitions).map_partitions(shuffle.rows_of)

    def collect(self) -> list[T]:
        return self.rdd.collect()


def _rdds(rows: Rows[Any]) -> "tuple[RDD[Any], ...]":
    if not isinstance(rows, SparkRows):
        raise TypeError("rows of another engine")
    return rows._rdds


def _moved(buckets: Rows[shuffle.Bucket], number: int) -> Rows[shuffle.Bucket]:
    """Move buckets to their partitions."""
    rows = cast("SparkRows[shuffle.Bucket]", buckets)
    return SparkRows(rows.engine, rows.rdd.partitionBy(number, _number))


def _number(number: int) -> int:
    return number
