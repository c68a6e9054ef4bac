"""`capture(...).save()`: the document of a captured plan, which `lineage-merge review --capture` compares."""

import json
from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F  # noqa: N812 (its name everywhere)

from lineage_merge import capture
from lineage_merge.graph_format.captures import parse_capture
from lineage_merge.model.errors import CaptureError
from tests.command_line import in_process

pytestmark = pytest.mark.jvm


def saved(spark: SparkSession, file: Path, *, status: str, join: str, total: str) -> None:
    orders = spark.range(1).select(
        F.col("id"), F.lit(1).alias("customer"), F.lit("paid").alias("status"), F.lit(1.5).alias("amount")
    )
    customers = spark.range(1).select(F.col("id").cast("int").alias("key"), F.lit("CH").alias("country"))
    folder = file.parent
    if not (folder / "orders").exists():
        orders.write.parquet(str(folder / "orders"))
        customers.write.parquet(str(folder / "customers"))
    read = spark.read.parquet(str(folder / "orders"))
    joined = read.where(f"status = '{status}' and amount > 0").join(
        spark.read.parquet(str(folder / "customers")), F.col("customer") == F.col("key"), join
    )
    result = joined.groupBy("country").agg(F.sum("amount").alias(total), F.count("*").alias("orders"))
    capture(result, name="sales", target="s3://lake/sales", environment="prod").save(str(file))


def test_a_saved_plan_has_its_clauses_and_is_reviewed(spark: SparkSession, tmp_path: Path) -> None:
    before, after = tmp_path / "before.json", tmp_path / "after.json"
    saved(spark, before, status="paid", join="left", total="revenue")
    saved(spark, after, status="settled", join="inner", total="net_revenue")

    document = parse_capture(str(before), before.read_text())
    assert [tuple(each) for each in document.clauses] == [
        ("filter", "amount > cast(0 as double)"),
        ("filter", "status = 'paid'"),
        ("grouping", "group by country"),
        ("join", "left outer join on customer = key"),
    ]
    outcome = in_process("review", "--capture", str(after), "--base", str(before), "--json")
    found = {
        (each["kind"], each["title"], each["before"], each["after"])
        for each in json.loads(outcome.out)["findings"]
    }
    assert outcome.code == 0, outcome.err
    assert found == {
        ("column renamed", "s3://lake/sales#revenue", "revenue", "net_revenue"),
        ("filter changed", "s3://lake/sales", "status = 'paid'", "status = 'settled'"),
        (
            "join changed",
            "s3://lake/sales",
            "left outer join on customer = key",
            "inner join on customer = key",
        ),
    }


def test_a_plan_without_a_target_is_not_saved(spark: SparkSession, tmp_path: Path) -> None:
    with pytest.raises(CaptureError, match="no target"):
        capture(spark.range(3)).save(str(tmp_path / "x.json"))
