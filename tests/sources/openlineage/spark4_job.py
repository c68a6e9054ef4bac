"""A small job for Spark 4, run in an environment of its own by `check_spark4`: three writes to a folder."""

import sys

from pyspark.sql import SparkSession


def main(folder: str) -> None:
    """Constants to files, an aggregation of them, and a table of them."""
    spark = SparkSession.builder.getOrCreate()
    spark.sql("select 1 as id, 2.5 as price, 'x' as city").write.mode("overwrite").parquet(f"{folder}/raw")
    spark.read.parquet(f"{folder}/raw").createOrReplaceTempView("raw")
    totals = spark.sql("select city, sum(price) as total from raw where id > 0 group by city")
    totals.write.mode("overwrite").parquet(f"{folder}/totals")
    spark.sql("create table copied using parquet as select id + 1 as next from raw")
    spark.stop()


if __name__ == "__main__":
    main(sys.argv[1])
