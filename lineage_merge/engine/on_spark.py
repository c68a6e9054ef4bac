"""Rows as RDDs: computed by Spark's executors, in Python workers."""

from collections.abc import Callable, Iterable, Iterator
from typing import Any, TypeVar
from zlib import crc32

from pyspark import RDD, Broadcast, StorageLevel
from pyspark.sql import DataFrame, SparkSession

from lineage_merge import partitions as spark_partitions
from lineage_merge.engine.rows import Engine, Key, Rows, Shared

T = TypeVar("T")
U = TypeVar("U")
V = TypeVar("V")
W = TypeVar("W")

MOST_TASKS = 1000


class SparkEngine(Engine):
    """Computes rows with a Spark session. Groups go to as many partitions as Spark shuffles into."""

    def __init__(self, spark: SparkSession) -> None:
        self.spark = spark
        self._kept: list[RDD[Any]] = []
        self._shared: list[Broadcast[Any]] = []

    @property
    def is_local(self) -> bool:
        return False

    @property
    def parallelism(self) -> int:
        return self.spark.sparkContext.defaultParallelism

    @property
    def shuffle_partitions(self) -> int:
        """How many partitions a group has."""
        return int(self.spark.conf.get("spark.sql.shuffle.partitions") or self.parallelism)

    def rows(self, items: Iterable[T], partitions: int | None = None) -> Rows[T]:
        found = list(items)
        number = max(1, min(len(found), partitions or self.parallelism, MOST_TASKS))
        return SparkRows(self, self.spark.sparkContext.parallelize(found, number))

    def of_frame(self, frame: DataFrame) -> Rows[Any]:
        """The rows of a DataFrame, as PySpark's `Row`."""
        return SparkRows(self, frame.rdd)

    def share(self, value: T) -> Shared[T]:
        shared = self.spark.sparkContext.broadcast(value)
        self._shared.append(shared)
        return shared

    def reserve(self, input_bytes: int) -> None:
        spark_partitions.at_least(self.spark, -(-input_bytes // spark_partitions.BYTES))

    def release(self) -> None:
        # The last first: it is made of those before it.
        while self._kept:
            self._kept.pop().unpersist()
        while self._shared:
            self._shared.pop().unpersist()

    def kept(self, rdd: "RDD[T]") -> "RDD[T]":
        """The RDD, computed once; what an executor takes along when it ends is computed again."""
        if not rdd.is_cached:
            rdd.persist(StorageLevel.MEMORY_AND_DISK)
            self._kept.append(rdd)
        return rdd


class SparkRows(Rows[T]):
    """An RDD of pickled rows."""

    def __init__(self, engine: SparkEngine, rdd: "RDD[T]") -> None:
        self._engine = engine
        self.rdd = rdd

    @property
    def engine(self) -> SparkEngine:
        return self._engine

    @property
    def partition_count(self) -> int:
        return self.rdd.getNumPartitions()

    def map_numbered_partitions(self, function: Callable[[int, Iterable[T]], Iterable[U]]) -> Rows[U]:
        return SparkRows(self._engine, self.rdd.mapPartitionsWithIndex(function))

    def map_partitions(self, function: Callable[[Iterable[T]], Iterable[U]]) -> Rows[U]:
        return SparkRows(self._engine, self.rdd.mapPartitions(function))

    def group(self, key: Callable[[T], Key], function: Callable[[Key, list[T]], Iterable[U]]) -> Rows[U]:
        def keyed(rows: Iterable[T]) -> Iterator[tuple[Key, T]]:
            return ((key(row), row) for row in rows)

        def grouped(groups: Iterable[tuple[Key, Iterable[T]]]) -> Iterator[U]:
            for name, rows in groups:
                yield from function(name, list(rows))

        number = self._engine.shuffle_partitions
        by_key = self.rdd.mapPartitions(keyed).groupByKey(number, partitionFunc=_place)
        return SparkRows(self._engine, by_key.mapPartitions(grouped))

    def combine(
        self: "SparkRows[tuple[Key, W]]",
        create: Callable[[W], V],
        add: Callable[[V, W], V],
        merge: Callable[[V, V], V],
    ) -> Rows[tuple[Key, V]]:
        number = self._engine.shuffle_partitions
        combined: RDD[tuple[Key, V]] = self.rdd.combineByKey(create, add, merge, number, _place)
        return SparkRows(self._engine, combined)

    def union(self, *others: Rows[T]) -> Rows[T]:
        rdds = [self.rdd, *map(_rdd, others)]
        return SparkRows(self._engine, self._engine.spark.sparkContext.union(rdds))

    def keep(self) -> Rows[T]:
        return SparkRows(self._engine, self._engine.kept(self.rdd))

    def spread(self, partitions: int) -> Rows[T]:
        present = self.rdd.getNumPartitions()
        if present == partitions:
            return self
        # Fewer partitions are made by reading several in turn; for more of them, rows are moved.
        spread = self.rdd.coalesce(partitions) if present > partitions else self.rdd.repartition(partitions)
        return SparkRows(self._engine, spread)

    def spread_by(self, key: Callable[[T], Key], partitions: int) -> Rows[T]:
        spread = self.rdd.map(lambda row: (key(row), row)).partitionBy(partitions, _place).values()
        return SparkRows(self._engine, spread)

    def collect(self) -> list[T]:
        return self.rdd.collect()


def _rdd(rows: Rows[Any]) -> "RDD[Any]":
    if not isinstance(rows, SparkRows):
        raise TypeError("rows of another engine")
    return rows.rdd


def _place(key: Any) -> int:
    # Python's own hash of a text differs from process to process.
    return crc32(repr(key).encode(errors="surrogatepass"))
