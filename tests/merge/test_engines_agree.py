"""Rows in this process and on Spark: the same records must give the same graph and report.

Whole builds of sources: `tests/test_small_input.py`; generated pipelines: `tests/properties/test_oracle.py`.
"""

from collections.abc import Iterable
from typing import Any

import pytest
from pyspark.sql import SparkSession

from lineage_merge import config
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

pytestmark = pytest.mark.jvm

Found = tuple[list[dict[str, Any]], list[dict[str, Any]], Report, list[tuple[str, ...]]]


def merged(engine: Engine, settings: config.Config, found: Iterable[Record]) -> Found:
    """Nodes, edges, report and names of records."""
    rows = engine.rows(found)
    graph = join.merge(rows, settings.environment, settings.dag_name, settings.merge)
    nodes, edges = (sorted(each.collect(), key=by_id) for each in (graph.nodes, graph.edges))
    known = sorted(map(tuple, identities(rows, graph.aliases).collect()))
    return nodes, edges, report(rows, graph), known


def by_id(row: dict[str, Any]) -> str:
    return str(row["id"])


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
