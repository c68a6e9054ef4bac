"""A small input is merged by one task and the driver, to the graph and report of a distributed merge."""

import gzip
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from lineage_merge.cli import sample
from lineage_merge.config import Config
from lineage_merge.infra.engine.local import LocalEngine
from lineage_merge.infra.engine.rows import Rows
from lineage_merge.model.errors import LineageMergeError
from lineage_merge.orchestration import pipeline
from lineage_merge.orchestration.configuration import CONFIGURATION
from lineage_merge.orchestration.pipeline import Built
from tests.arango_fixtures import ArangoServer

pytestmark = pytest.mark.jvm

ROOT = Path(__file__).parent
DATA = ROOT / "data"
COMMON = {"dag_name": "daily", "environment": "dev"}
WAREHOUSE = "redshift://tickit-wh.us-east-1:5439"


def built(spark: SparkSession, settings: Mapping[str, Any], *, small: bool) -> Built:
    given = {**COMMON, **settings, "spark": {"distribute_above_mb": 64 if small else 0}}
    return pipeline.build(spark, CONFIGURATION.parse(given))


def facts(found: Built) -> dict[str, Any]:
    def by_id(rows: Rows[dict[str, Any]]) -> list[dict[str, Any]]:
        return sorted(rows.collect(), key=lambda each: str(each["id"]))

    assert found.identities is not None
    with found:
        return {
            "nodes": by_id(found.nodes),
            "edges": by_id(found.edges),
            "report": found.report.as_json(),
            "aliases": found.aliases,
            "runs": found.runs,
            "identities": sorted(found.identities.collect()),
            "coverage": found.coverage,
        }


def assert_same(spark: SparkSession, settings: Mapping[str, Any]) -> dict[str, Any]:
    """Build locally and distributed; return the local result."""
    small = built(spark, settings, small=True)
    assert isinstance(small.nodes.engine, LocalEngine)
    distributed = built(spark, settings, small=False)
    assert not distributed.nodes.engine.is_local
    found = facts(small)
    assert found == facts(distributed)
    return found


# Small sources, several a build: a distributed merge takes seconds, and longer with the size of its input.
SOURCES = {
    "export": {
        "spline": {"export": str(DATA / "spline" / "seed_queries"), "operations": True},
        "openlineage": {"events": [str(DATA / "openlineage" / "events")]},
        "hive": {"log": str(DATA / "hive"), "warehouse": "hdfs://nn:8020/user/hive/warehouse"},
    },
    "export of 0.7": {
        "spline": {"export": str(DATA / "spline_0_7")},
        "merge": {"collapse_run_local": True},
        "dbt": [
            {"manifest": str(DATA / "dbt" / name / "manifest.json"), "namespace": WAREHOUSE}
            for name in ("redshift_v12", "duckdb_v12")
        ],
    },
}


@pytest.mark.parametrize("settings", SOURCES.values(), ids=SOURCES.keys())
def test_sources_give_the_same_graph(spark: SparkSession, tmp_path: Path, settings: dict[str, Any]) -> None:
    (tmp_path / "a.sql").write_text("create table mart.b as select id, sum(x) total from raw.a group by id")
    (tmp_path / "c.sql").write_text("insert into mart.c select b.id from mart.b join raw.d on b.id = d.id")
    sql = [{"path": str(tmp_path), "namespace": WAREHOUSE, "dialect": "redshift"}]

    found = assert_same(spark, {**settings, "sql": sql})

    assert {f"dev|{WAREHOUSE}|mart.{name}" for name in "bc"} <= {row["id"] for row in found["nodes"]}
    assert len(found["edges"]) > 50


def test_a_live_database_gives_the_same_graph(
    spark: SparkSession, arango: ArangoServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Executors do not have the driver's environment.
    monkeypatch.setenv("PASSWORD_OF_THE_DRIVER", arango.password)
    settings = {
        "hosts": arango.url,
        "database": arango.database("tickit", DATA / "spline" / "tickit_sales_load"),
        "username": arango.username,
        "password_env": "PASSWORD_OF_THE_DRIVER",
    }

    assert len(assert_same(spark, {"spline": {"arango": settings}})["edges"]) > 5


def test_broken_documents_are_reported_alike(spark: SparkSession, tmp_path: Path) -> None:
    log = tmp_path / "hive.log"
    log.write_text((DATA / "hive" / "hive-lineage.log").read_text() + '{"version": "1.0", "queryText": 7}\n{')
    settings: dict[str, Any] = {"hive": {"log": str(log)}, "spline": {"agent": str(DATA / "agent")}}

    assert assert_same(spark, settings)["report"]["totals"]


def test_an_error_is_the_same(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "manifest.json").write_text("{}")
    settings = {"dbt": [{"manifest": str(tmp_path / "manifest.json"), "namespace": WAREHOUSE}]}
    errors = []
    for small in (True, False):
        with pytest.raises(LineageMergeError) as raised:
            facts(built(spark, settings, small=small))
        errors.append((type(raised.value), raised.value.message))
    assert errors[0] == errors[1]


@pytest.fixture
def packed(tmp_path: Path) -> Config:
    """Events that are small as they are listed, and larger than the limit when they are unpacked."""
    captured = gzip.decompress((DATA / "openlineage" / "events" / "tickit_sales_load.jsonl.gz").read_bytes())
    events = [line for line in captured.decode().splitlines() if '"eventTime"' in line]
    other = json.loads(events[0])
    with gzip.open(tmp_path / "events.jsonl.gz", "wt") as file:
        for number in range(1 + (2 << 20) // len(events[0])):
            other["run"]["runId"] = f"00000000-0000-4000-8000-{number:012}"
            file.write(json.dumps(other) + "\n")
    assert (tmp_path / "events.jsonl.gz").stat().st_size < 1 << 20
    return CONFIGURATION.parse(
        {
            **COMMON,
            "openlineage": {"events": [str(tmp_path)]},
            "spark": {"distribute_above_mb": 1},
        }
    )


def test_an_input_that_is_larger_than_listed_is_distributed(spark: SparkSession, packed: Config) -> None:
    said: list[str] = []

    with pipeline.build(spark, packed, said.append) as found:
        assert not found.nodes.engine.is_local
        assert found.report.read["OpenLineage events"] > 100

    assert "the input is larger than 1 MB unpacked: distributing it" in said


def test_a_small_input_is_read_by_one_job_of_spark(spark: SparkSession) -> None:
    settings = CONFIGURATION.load(sample.config_file(), environ={})
    count = jobs_of(spark)

    with pipeline.build(spark, settings) as found:
        found.edges.collect()

    assert count() == 1


def jobs_of(spark: SparkSession) -> Callable[[], int]:
    """How many jobs Spark has started since."""
    spark.sparkContext.setJobGroup("counted", "jobs of a test")
    tracker = spark.sparkContext.statusTracker()
    before = set(tracker.getJobIdsForGroup("counted"))
    return lambda: len(set(tracker.getJobIdsForGroup("counted")) - before)
