"""The merge without Spark against the one with Spark: the same records must give the same graph."""

from functools import reduce
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

from lineage_merge import config
from lineage_merge.merge import in_memory, join, names
from lineage_merge.model import (
    Alias,
    Authority,
    Column,
    Dataset,
    Element,
    Feeds,
    FeedsColumn,
    Influences,
    Job,
    JobKey,
    Reference,
    Writes,
)
from lineage_merge.records import RECORD_DDL, records
from lineage_merge.sample import config_file
from lineage_merge.sources import registry
from lineage_merge.sources.source import function

Rows = list[dict[str, Any]]


def _by_spark(found: DataFrame, settings: config.Config) -> tuple[Rows, Rows]:
    merged = join.merge(found.persist(), settings.environment, settings.dag_name)
    return _plain(merged.nodes), _plain(merged.edges)


def _plain(rows: DataFrame) -> Rows:
    held = (
        {key: value for key, value in each.asDict(recursive=True).items() if value is not None}
        for each in rows.collect()
    )
    return sorted(held, key=lambda each: each["id"])


def _in_memory(found: DataFrame, settings: config.Config) -> tuple[Rows, Rows]:
    merged = in_memory.merge(map(tuple, found.collect()), settings.environment, settings.dag_name)
    return merged.nodes, merged.edges


def _read(spark: SparkSession, settings: config.Config) -> DataFrame:
    known = names.from_config(settings)
    return reduce(
        DataFrame.unionByName,
        (function(source.read)(spark, settings, known) for source, _ in registry.configured(settings)),
    ).persist()


def test_the_sample_of_spark_and_dbt_is_the_same_graph(spark: SparkSession) -> None:
    settings = config.load(config_file(), environ={})
    found = _read(spark, settings)

    nodes, edges = _in_memory(found, settings)

    assert len(nodes) > 50
    assert (nodes, edges) == _by_spark(found, settings)


@pytest.mark.parametrize(
    "source",
    [
        {"spline": {"export": "spline/seed_queries", "operations": True}},
        {"hive": {"log": "hive/hive-lineage.log", "warehouse": "hdfs://nn:8020/user/hive/warehouse"}},
    ],
    ids=["operations", "hive"],
)
def test_other_sources_are_the_same_graph(spark: SparkSession, data: Path, source: Any) -> None:
    section, values = next(iter(source.items()))
    at = "export" if section == "spline" else "log"
    given = {section: {**values, at: str(data / values[at])}, "dag_name": "d", "environment": "dev"}
    settings = config.parse(given)
    found = _read(spark, settings)

    assert _in_memory(found, settings) == _by_spark(found, settings)


def test_who_contradicts_whom_is_decided_the_same_way(spark: SparkSession) -> None:
    settings = config.Config("d|ä", "dev", merge=config.Merge())
    job, other = JobKey("sql", "a|b.sql"), JobKey("spark", "c")
    table, path, twin = (
        Reference("spark_catalog", "db.t"),
        Reference("", "s3://b/t"),
        Reference("spark_catalog", "db.u"),
    )
    elements: list[Element] = [
        Dataset(table, Authority.READER, "table", {"description": "read"}, {"tags": ("b", "a")}),
        Dataset(table, Authority.BUILDER, "view", {"description": "built"}, {"tags": ("c",)}),
        Dataset(table, Authority.BUILDER, "table", {"description": "built too"}),
        Alias(table, path, "told"),
        Alias(twin, path, "one"),
        Alias(twin, Reference("", "s3://b/else"), "two"),
        Alias(Reference("spark_catalog", "db.v"), path, "assumed", assumed=True),
        Alias(Reference("spark_catalog", "db.v"), Reference("", "s3://b/known"), "known"),
        Column(table, "A%", Authority.READER, {"data_type": "int", "position": 1}),
        Column(path, "a%", Authority.BUILDER, {"data_type": "bigint"}),
        Job(job, 5, {"last_run_at": 5}),
        Job(job, 7, {"status": "failed"}),
        Writes(job, table),
        Feeds(job, twin, table, {"sequence": 10, "write_mode": "append"}, {"via": ("x", "b")}),
        Feeds(job, twin, path, {"sequence": 9, "write_mode": "overwrite"}, {"via": ("a",)}),
        Feeds(other, path, path, {"columns": "lost"}),
        FeedsColumn(job, twin, "X", table, "A%", ("WINDOW", "IDENTITY"), "é" * 1000),
        FeedsColumn(job, twin, "x", path, "a%", ("AGGREGATION",), "a" * 999),
        Influences(job, twin, "y", table, ("SORT", "FILTER")),
    ]
    found = spark.createDataFrame(
        list(records(elements, names.from_config(settings))), RECORD_DDL, verifySchema=False
    )

    nodes, edges = _in_memory(found, settings)

    assert (nodes, edges) == _by_spark(found, settings)
    assert {each["id"]: each["label"] for each in nodes if each["label"] in ("table", "view")} == {
        "dev|s3://b|t": "view",
        "dev|spark_catalog|db.u": "table",
    }
