"""A small job, run by `check_listener`: three writes to a folder, and two that fail."""

import sys
from contextlib import suppress

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession


def main(folder: str) -> None:
    """Constants to files, an aggregation of them, two writes that fail, and a table."""
    spark = SparkSession.builder.getOrCreate()
    spark.sql("select 1 as id, 2.5 as price, 'x' as city").write.mode("overwrite").parquet(f"{folder}/raw")
    spark.read.parquet(f"{folder}/raw").createOrReplaceTempView("raw")
    totals = spark.sql("select city, sum(price) as total from raw where id > 0 group by city")
    totals.write.mode("overwrite").parquet(f"{folder}/totals")
    with suppress(PySparkException, Py4JJavaError):
        failing = spark.sql("select id, cast(raise_error('no such city') as string) as city from raw")
        failing.write.mode("overwrite").parquet(f"{folder}/failed")
    with suppress(PySparkException, Py4JJavaError):
        spark.sql(
            "create table broken using parquet as"
            " select cast(raise_error('no such id') as int) as id from raw"
        )
    spark.sql("create table copied using parquet as select id + 1 as next from raw")
    spark.stop()


if __name__ == "__main__":
    main(sys.argv[1])
