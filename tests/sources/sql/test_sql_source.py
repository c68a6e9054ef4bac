"""Configured SQL folders: merged with other sources, and retired with their files."""

import json
from pathlib import Path
from typing import Any

import pytest
from gremlin_python.process.graph_traversal import GraphTraversalSource
from pyspark.sql import SparkSession

from lineage_merge.infra.engine.rows import Engine
from lineage_merge.merge import dataset_resolver, join
from lineage_merge.model.elements import Writes
from lineage_merge.model.errors import ConfigError, SourceError
from lineage_merge.orchestration import pipeline
from lineage_merge.orchestration.configuration import CONFIGURATION
from lineage_merge.orchestration.preflight import check_sources
from lineage_merge.sources.sql.reader import elements, read_sql
from lineage_merge.sources.sql.settings import SqlFiles
from tests.record_reading import records_of


def settings(folder: Path, **more: Any) -> dict[str, Any]:
    return {
        "dag_name": "d",
        "environment": "dev",
        "sql": [{"path": str(folder), "dialect": "hive"}],
        **more,
    }


def written(folder: Path, **files: str) -> Path:
    folder.mkdir(exist_ok=True)
    for name, text in files.items():
        (folder / f"{name}.sql").write_text(text)
    return folder


@pytest.mark.jvm
def test_a_table_that_is_also_in_hives_log_is_one_dataset(
    spark: SparkSession, data: Path, tmp_path: Path
) -> None:
    etl = written(tmp_path / "etl", report="create table mart.r as select u.total from dw.user_orders u")
    hive = {"log": str(data / "hive" / "hive-lineage.log"), "warehouse": "hdfs://nn:8020/wh"}

    built = pipeline.build(spark, CONFIGURATION.parse(settings(etl, hive=hive)))

    feeds = {
        (row["from"], row["to"], row["job_name"]) for row in built.edges.collect() if row["label"] == "feeds"
    }
    table = "dev|hdfs://nn:8020|/wh/dw.db/user_orders"
    assert (table, "dev|spark_catalog|mart.r", "etl/report.sql") in feeds
    assert any(target == table and job == "dw.user_orders" for _, target, job in feeds)
    assert built.coverage.projects["sql"]
    assert built.report.read["SQL files"] == 1


def test_each_folder_is_read_by_itself(engine: Engine, tmp_path: Path) -> None:
    one = written(
        tmp_path / "one", load="insert into a.t select id from raw.s", ddl="create table a.t (x int)"
    )
    two = written(tmp_path / "two", load="insert into a.u select id from raw.s", bad="selec")
    folders = [{"path": str(each), "dialect": "hive"} for each in (one, two)]
    parsed = CONFIGURATION.parse({"dag_name": "d", "environment": "dev", "sql": folders})
    known = dataset_resolver.from_config(parsed)

    found = read_sql(engine, parsed, known).collect()

    expected = [each for folder in parsed.sources["sql"] for each in known.records(elements(folder, known))]
    assert sorted(map(repr, found)) == sorted(map(repr, expected))
    assert {(each.job.name, each.target) for each in records_of(Writes, found)} == {
        ("one/load.sql", "dev|spark_catalog|a.t"),
        ("two/load.sql", "dev|spark_catalog|a.u"),
    }


@pytest.mark.jvm
def test_spark_and_memory_merge_the_same_of_files(spark: SparkSession, tmp_path: Path) -> None:
    etl = written(
        tmp_path / "etl",
        ddl="create external table a.t (x int, y string) location 's3a://lake/t/'",
        load="insert overwrite table a.t select id, upper(n) from raw.s where ok;"
        " create view v as select * from a.t",
        bad="selec",
    )
    parsed = CONFIGURATION.parse(settings(etl))
    built = pipeline.build(spark, parsed)
    known = dataset_resolver.from_config(parsed)
    (folder,) = parsed.sources["sql"]

    merged = join.merge_locally(known.records(elements(folder, known)), "dev", "d")

    def plain(rows: Any) -> list[dict[str, Any]]:
        return sorted(rows.collect(), key=lambda each: str(each["id"]))

    assert (merged.nodes, merged.edges) == (plain(built.nodes), plain(built.edges))
    assert "dev|s3://lake|t" in {each["id"] for each in merged.nodes}
    assert not built.coverage.projects["sql"]  # a statement that is not read may write what is missing


@pytest.mark.jvm
def test_removed_statements_and_files_are_retired(
    spark: SparkSession, gremlin: GraphTraversalSource, gremlin_url: str, tmp_path: Path
) -> None:
    etl = written(
        tmp_path / "etl",
        keep="create table a.x as select id, n from raw.s; create table a.y as select id from raw.s",
        deleted="create table a.z as select id from raw.s",
    )
    written_graph = {"gremlin": {"endpoint": gremlin_url}}
    pipeline.run(spark, CONFIGURATION.parse(settings(etl, **written_graph)))
    (etl / "deleted.sql").unlink()
    written(etl, keep="create table a.x as select id, n from raw.s")

    pipeline.run(spark, CONFIGURATION.parse(settings(etl, **written_graph, load={"allow_retire": True})))

    vertices = {each for each in gremlin.V().id_().to_list() if "|merge_" not in each}
    assert vertices == {
        "dev|d|sql|etl/keep.sql",
        "dev|spark_catalog|a.x",
        "dev|spark_catalog|a.x|id",
        "dev|spark_catalog|a.x|n",
        "dev|spark_catalog|raw.s",
        "dev|spark_catalog|raw.s|id",
        "dev|spark_catalog|raw.s|n",
    }


def test_invalid_settings_are_named(tmp_path: Path) -> None:
    etl = written(tmp_path / "etl", a="select 1")
    twice = {"sql": [{"path": str(etl), "dialect": "hive"}, {"path": str(etl), "dialect": "spark"}]}
    without = {"sql": [{"path": str(etl), "dialect": "redshift"}]}
    for given, key in ((twice, "sql[1].project"), (without, "sql[0].namespace")):
        with pytest.raises(ConfigError) as error:
            CONFIGURATION.parse({"dag_name": "d", "environment": "dev", **given})
        assert error.value.key == key
    with pytest.raises(ConfigError, match=r"sql\[0\].dialect: unknown dialect klingon"):
        check_sources(
            CONFIGURATION.parse(
                {**settings(etl), "sql": [{"path": str(etl), "dialect": "klingon", "namespace": "x"}]}
            )
        )
    with pytest.raises(SourceError, match="nowhere: no such folder"):
        check_sources(CONFIGURATION.parse(settings(tmp_path / "nowhere")))


def test_a_project_is_called_by_its_folder(tmp_path: Path) -> None:
    etl = written(tmp_path / "etl", a="select 1")

    (found,) = CONFIGURATION.parse(settings(etl)).sources["sql"]

    assert found == SqlFiles(str(etl), "hive", "spark_catalog", "etl")
    assert json.dumps(found.variables) == "{}"
