"""Tables for queries: t (a, b, c, d), u (k, v, w), j (id, tags, pairs, m), n (structures), p, wide (c0-c33).

Spark's text of a subquery's plan shows 25 columns of a relation.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from pyspark.sql import SparkSession

_TABLES = {
    "t": "a int, b string, c decimal(7,2), d date",
    "u": "k int, v string, w decimal(7,2)",
    "j": "id int, tags array<string>, pairs array<struct<x:int,y:string>>, m map<string,int>",
    "n": (
        "id int, address struct<city:string,zip:string,geo:struct<lat:double,lon:double>>,"
        " items array<struct<sku:string,qty:int>>, attrs map<string,struct<a:int,b:int>>, payload string"
    ),
    "wide": ", ".join(f"c{number} int" for number in range(34)),
}


@contextmanager
def example_tables(spark: SparkSession, folder: Path) -> Iterator[SparkSession]:
    """The tables, without rows, in a database that is the current one."""
    before = spark.catalog.currentDatabase()
    spark.sql(f"CREATE DATABASE shapes LOCATION '{folder}'")
    spark.catalog.setCurrentDatabase("shapes")
    for name, declared in _TABLES.items():
        spark.sql(f"CREATE TABLE {name} ({declared}) USING parquet")
    spark.sql("CREATE TABLE p (id int, name string, y int, m int) USING parquet PARTITIONED BY (y, m)")
    yield spark
    spark.catalog.setCurrentDatabase(before)
    spark.sql("DROP DATABASE shapes CASCADE")
