"""How many partitions a shuffle has, in a local session that this package started.

A few fit a small pipeline, whose time goes into tasks and not into rows. Of a large one each partition must
still fit the part of the memory that a task gets. Sessions of others (Glue, EMR) know it themselves.
"""

from collections.abc import Iterable
from math import ceil
from typing import TYPE_CHECKING

from lineage_merge.infra.storage import StoredFile

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# Set, to anything, in a session whose number of partitions is ours to choose.
OURS = "spark.lineage_merge.partitions"
FEWEST = 2
# Documents that lead to one partition: of a heap of 1 GB a task may use 200 MB, which sorts it in few pieces.
BYTES = 32 << 20
# About what packed text unpacks to.
_UNPACKED = 8

_NUMBER = "spark.sql.shuffle.partitions"


def at_least(spark: "SparkSession", number: int) -> None:
    """From now on that many, if there are fewer."""
    if spark.conf.get(OURS, None) and number > int(spark.conf.get(_NUMBER) or 0):
        spark.conf.set(_NUMBER, number)


def fit(spark: "SparkSession", found: Iterable[StoredFile]) -> None:
    """From now on enough for what is in these files, or parts of files."""
    at_least(spark, ceil(sum(map(text_bytes, found)) / BYTES))


def text_bytes(file: StoredFile) -> int:
    """About how many bytes of text a file holds, unpacked."""
    return file.size * _UNPACKED if file.location.endswith((".gz", ".parquet")) else file.size
