"""JDBC queries in Spark, with the result's columns as named by Spark."""

from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F  # noqa: N812 (its name everywhere)

from lineage_merge import capture
from lineage_merge.spark_capture import Captured

pytestmark = pytest.mark.jvm

DRIVER = "org.apache.derby.jdbc.EmbeddedDriver"
DATABASE = "derby:memory:market"
OUT = "s3://lake|out"


def columns_of(captured: Captured, label: str = "feeds_column") -> set[tuple[str, str, str]]:
    """From, transformation, to; ids without the environment."""
    return {
        (
            edge.from_id.partition("|")[2],
            str(edge.properties["transformation"]),
            edge.to_id.partition("|")[2],
        )
        for edge in captured.edges
        if edge.label == label
    }


def test_a_query_over_jdbc_leads_to_the_columns_of_its_tables(spark: SparkSession, tmp_path: Path) -> None:
    jvm: Any = spark._jvm
    jvm.java.lang.System.setProperty("derby.stream.error.file", f"{tmp_path}/derby.log")
    url = f"jdbc:{DATABASE};create=true"
    options = {"url": url, "driver": DRIVER}
    orders = spark.createDataFrame([(1, 2.5)], "id int, price double")
    people = spark.createDataFrame([(1, "x", 2020)], "key int, name string, since int")
    orders.write.jdbc(url, "orders", properties={"driver": DRIVER})
    people.write.jdbc(url, "people", properties={"driver": DRIVER})
    grouped = (
        'select o."id", sum(o."price") as total, count(*) from orders o'
        ' join people p on o."id" = p."key" where p."since" > 2000 group by o."id"'
    )
    joined = '(select * from orders o join people p on o."id" = p."key") q'

    by_option = spark.read.format("jdbc").options(query=grouped, **options).load()
    by_table = spark.read.format("jdbc").options(dbtable=joined, **options).load()
    found = {
        "option": capture(by_option.withColumn("twice", F.col("TOTAL") * 2), target="s3://lake/out"),
        "table": capture(by_table.where("price > 1"), target="s3://lake/out"),
    }

    assert {name: columns_of(each) for name, each in found.items()} == {
        "option": {
            (f"{DATABASE}|orders|id", "IDENTITY", f"{OUT}|id"),
            (f"{DATABASE}|orders|price", "AGGREGATION", f"{OUT}|total"),
            (f"{DATABASE}|orders|price", "AGGREGATION", f"{OUT}|twice"),
        },
        "table": {
            (f"{DATABASE}|orders|id", "IDENTITY", f"{OUT}|id"),
            (f"{DATABASE}|people|key", "IDENTITY", f"{OUT}|key"),
            (f"{DATABASE}|people|name", "IDENTITY", f"{OUT}|name"),
            (f"{DATABASE}|people|since", "IDENTITY", f"{OUT}|since"),
        },
    }
    assert {each[:2] for each in columns_of(found["option"], "influences")} == {
        (f"{DATABASE}|orders|id", "JOIN,GROUP_BY"),
        (f"{DATABASE}|people|key", "JOIN"),
        (f"{DATABASE}|people|since", "FILTER"),
    }
    assert [each.kind for each in found["option"].problems] == []
    # Between the columns that the condition names, `price` may be of either table.
    assert ["price" in each.message for each in found["table"].problems] == [True]
