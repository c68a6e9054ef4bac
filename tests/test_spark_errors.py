"""What goes wrong inside of Spark reaches people as one line, and our own errors as themselves."""

import pytest
from pyspark.sql import SparkSession

from lineage_merge.errors import DocumentError, LineageMergeError
from lineage_merge.spark import own_errors


def message(spark: SparkSession, told: str) -> str:
    """What becomes of an error that Spark's workers tell in these words."""
    with pytest.raises(LineageMergeError) as raised, own_errors():
        spark.range(1).selectExpr(f"raise_error('{told}')").collect()
    return str(raised.value)


@pytest.mark.parametrize(
    "told",
    [
        "java.lang.OutOfMemoryError: Java heap space",
        "org.apache.spark.memory.SparkOutOfMemoryError: [UNABLE_TO_ACQUIRE_MEMORY] got 0",
    ],
)
def test_too_little_memory_is_told_with_what_to_do(spark: SparkSession, told: str) -> None:
    assert "ran out of memory" in message(spark, told)
    assert "SPARK_DRIVER_MEMORY" in message(spark, told)


def test_another_failure_is_told_in_one_line_that_is_no_place_in_the_code(spark: SparkSession) -> None:
    told = message(spark, "the disk is full")
    assert told.startswith("Spark failed: ")
    assert "the disk is full" in told
    assert "\n" not in told


def test_an_error_of_our_own_is_raised_as_what_it_was(spark: SparkSession) -> None:
    def broken(_number: int) -> int:
        raise DocumentError("manifest.json", "nodes", "is not an object")

    with pytest.raises(DocumentError, match=r"^manifest\.json: nodes: is not an object"), own_errors():
        spark.sparkContext.parallelize([1], 1).map(broken).collect()
