"""Number of shuffle partitions in a local session that this package started.

Small input needs few: its time goes into tasks, not rows. For large input, each partition must fit into the
memory of a task. Other sessions (Glue, EMR) have their own setting.
"""

from collections.abc import Iterable
from math import ceil
from typing import TYPE_CHECKING

from lineage_merge.infra.storage import StoredFile

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# Set, to any value, in a session whose number of partitions may be changed.
ADJUSTABLE = "spark.lineage_merge.partitions"
MIN_PARTITIONS = 2
# Input per partition: of a heap of 1 GB a task may use 200 MB, which sorts this much with few spills.
BYTES_PER_PARTITION = 32 << 20
# Approximate ratio of unpacked to packed text.
_UNPACKED = 8

_NUMBER = "spark.sql.shuffle.partitions"


def at_least(spark: "SparkSession", number: int) -> None:
    """Raise the number of partitions to `number`."""
    if spark.conf.get(ADJUSTABLE, None) and number > int(spark.conf.get(_NUMBER) or 0):
        spark.conf.set(_NUMBER, number)


def fit(spark: "SparkSession", found: Iterable[StoredFile]) -> None:
    """Raise the number of partitions to fit the content of these files."""
    at_least(spark, ceil(sum(map(text_bytes, found)) / BYTES_PER_PARTITION))


def text_bytes(file: StoredFile) -> int:
    """Return the approximate size of a file as unpacked text."""
    return file.size * _UNPACKED if file.location.endswith((".gz", ".parquet")) else file.size
