"""Rows in this process and on Spark: the same records must give the same graph and report."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from lineage_merge import config
from lineage_merge.cli.sample import config_file
from lineage_merge.infra.engine.local import LocalEngine
from lineage_merge.infra.engine.on_spark import SparkEngine
from lineage_merge.infra.engine.rows import Engine
from lineage_merge.merge import dataset_resolver, join
from lineage_merge.merge.alias_resolution import identities
from lineage_merge.merge.report import Report
from lineage_merge.merge.report_builder import report
from lineage_merge.model.elements import (
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
from lineage_merge.model.records import Record
from lineage_merge.orchestration.configuration import CONFIGURATION
from lineage_merge.orchestration.read_sources import configured_sources, read_all

Found = tuple[list[dict[str, Any]], list[dict[str, Any]], Report, list[tuple[str, ...]]]


def merged(engine: Engine, settings: config.Config, found: Iterable[Record] | None = None) -> Found:
    """Nodes, edges, report and names of what the sources hold, or of records."""
    rows = (
        read_all(engine, settings, dataset_resolver.from_config(settings), configured_sources(settings))
        if found is None
        else engine.rows(found)
    )
    graph = join.merge(rows, settings.environment, settings.dag_name, settings.merge)
    nodes, edges = (sorted(each.collect(), key=by_id) for each in (graph.nodes, graph.edges))
    known = sorted(map(tuple, identities(rows, graph.aliases).collect()))
    return nodes, edges, report(rows, graph), known


def by_id(row: dict[str, Any]) -> str:
    return str(row["id"])


def test_the_sample_of_spark_and_dbt_is_the_same_graph(spark: SparkSession) -> None:
    settings = CONFIGURATION.load(config_file(), environ={})

    local = merged(LocalEngine(), settings)

    assert len(local[0]) > 50
    assert local == merged(SparkEngine(spark), settings)


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
    settings = CONFIGURATION.parse(given)

    assert merged(LocalEngine(), settings) == merged(SparkEngine(spark), settings)


def test_conflicts_are_resolved_identically(spark: SparkSession) -> None:
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
        Alias(table, path, "catalog"),
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
        Feeds(other, path, path, {"column_lineage": "unavailable"}),
        FeedsColumn(job, twin, "X", table, "A%", ("WINDOW", "IDENTITY"), "é" * 1000),
        FeedsColumn(job, twin, "x", path, "a%", ("AGGREGATION",), "a" * 999),
        Influences(job, twin, "y", table, ("SORT", "FILTER")),
    ]
    given = list(dataset_resolver.from_config(settings).records(elements))

    local = merged(LocalEngine(), settings, given)

    assert local == merged(SparkEngine(spark), settings, given)
    assert {each["id"]: each["label"] for each in local[0] if each["label"] in ("table", "view")} == {
        "dev|s3://b|t": "view",
        "dev|spark_catalog|db.u": "table",
    }
