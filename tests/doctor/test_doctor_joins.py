"""The check of joins: merges small sources in this process, and never reads large ones."""

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

from lineage_merge.cli.sample import config_file
from lineage_merge.config import Config
from lineage_merge.orchestration.configuration import CONFIGURATION
from lineage_merge.orchestration.doctor import joins
from lineage_merge.orchestration.doctor.examination import CHECKS, SECONDS, examine
from lineage_merge.sources.diagnosis import Diagnosis, ok
from tests.merge.wrong_configurations import WAREHOUSE
from tests.spline_documents import SplineDatabase

WRONG = "redshift://tickit-wh.eu-west-1:5439"


def settings(namespace: str = WAREHOUSE, **merge: Any) -> dict[str, Any]:
    """The sample's settings with another namespace."""
    sample = config_file().parent
    return {
        "dag_name": "tickit_daily",
        "environment": "dev",
        "spline": {"export": str(sample / "spline")},
        "dbt": [{"manifest": str(sample / "dbt" / "manifest.json"), "namespace": namespace}],
        "merge": {"default_schemas": {WAREHOUSE: "dev.public"}, **merge},
    }


def examined(given: dict[str, Any] | Config) -> Diagnosis:
    config = given if isinstance(given, Config) else CONFIGURATION.parse(given)
    (found,) = joins.examine(config)
    return found


def test_joined_datasets_are_counted() -> None:
    assert examined(settings()) == Diagnosis("joins", "ok", "joined 2 datasets")


def test_a_wrong_region_is_a_warning_whose_fix_joins() -> None:
    found = examined(settings(WRONG))

    assert found.state == "warning"
    assert found.message == (
        "joined 0 datasets; 2 near misses:"
        f" written {WAREHOUSE}|dev.public.event, read {WRONG}|dev.public.event;"
        " written s3://aws-glue-assets-111122223333-us-east-1|temporary/redshift/public.sales,"
        f" read {WRONG}|dev.public.sales"
    )
    introduction, _, fix = found.fix.partition(":\n")
    assert introduction == "change the configuration"
    assert examined({**settings(WRONG), **yaml.safe_load(fix)}).message == "joined 2 datasets"


def test_a_dataset_that_two_rules_join_counts_once() -> None:
    """`sales` is joined by the rule of temporary directories and by its name."""
    schemas = {WRONG: "dev.public"}

    assert examined(settings(WRONG, default_schemas=schemas)).message.startswith("joined 1 dataset;")
    unmet = examined(settings(WRONG, default_schemas=schemas, expect={"joined_at_least": 2}))
    assert unmet.message == "merge.expect: 1 of at least 2 expected datasets are joined"
    assert examined(settings(expect={"joined_at_least": 2})).state == "ok"


def test_sources_that_have_nothing_in_common_are_a_warning() -> None:
    given = settings()
    given["spline"]["applications"] = ["tickit_sales_laod"]

    notice, unjoined = joins.examine(CONFIGURATION.parse(given))

    assert {notice.state, unjoined.state} == {"warning"}
    assert "tickit_sales_laod" in notice.message
    assert "tickit_sales_load" in notice.message
    assert unjoined.message.startswith("joined 0 datasets; nothing joins Spline and dbt")


def test_a_write_that_later_runs_did_not_report_is_a_warning(tmp_path: Path) -> None:
    spline = SplineDatabase()
    for hour, targets in enumerate((("a", "b"), ("a", "b"), ("a",))):
        for target in targets:
            spline.plan(
                "load", reads=["s3://in/raw"], writes=f"s3://lake/{target}", at=hour, run=f"app-{hour}"
            )
    spline.write(tmp_path)
    given = {"dag_name": "daily", "environment": "dev", "spline": {"export": str(tmp_path)}}

    silent, joined = joins.examine(CONFIGURATION.parse(given))

    assert (silent.state, joined.state) == ("warning", "ok")
    assert "spark load" in silent.message
    assert "s3://lake|b" in silent.message
    assert "no write since 2026-01-01 01:00:00 UTC" in silent.message
    assert "capture.install" in silent.fix


def test_files_of_another_kind_are_a_warning(tmp_path: Path) -> None:
    (tmp_path / "other.jsonl").write_text('{"a": 1}\n')
    given = {**settings(), "openlineage": {"events": str(tmp_path / "other.jsonl")}}
    del given["spline"]

    notice, unjoined = joins.examine(CONFIGURATION.parse(given))

    assert (notice.state, unjoined.state) == ("warning", "warning")
    assert notice.message == "OpenLineage: events: no event found in the configured files"


def test_sources_of_one_kind_of_job_need_no_common_dataset(tmp_path: Path) -> None:
    given = settings()
    (tmp_path / "report.sql").write_text("create table shop.mart.report as select a from shop.raw.orders;")
    entry = {"path": str(tmp_path), "dialect": "postgres", "namespace": "postgres://db:5432"}
    alone = {"dag_name": "daily", "environment": "dev", "sql": [entry]}

    assert examined(alone) == Diagnosis("joins", "ok", "joined 0 datasets")
    (found,) = joins.examine(CONFIGURATION.parse({**alone, "dbt": given["dbt"]}))
    assert found.state == "warning"
    assert found.message == "joined 0 datasets; nothing joins dbt and SQL files"


def test_two_sources_of_spark_jobs_need_no_common_dataset(data: Path, tmp_path: Path) -> None:
    """OpenLineage's events may be of any job, but are mostly Spark's."""
    (tmp_path / "report.sql").write_text("create table shop.mart.report as select a from shop.raw.orders;")
    entry = {"path": str(tmp_path), "dialect": "postgres", "namespace": "postgres://db:5432"}
    given = settings()
    del given["dbt"]
    given["openlineage"] = {"events": str(data / "openlineage" / "events" / "tickit_sales_load.jsonl.gz")}

    assert "nothing joins" not in examined(given).message
    del given["spline"]
    assert examined({**given, "sql": [entry]}).message.endswith("nothing joins OpenLineage and SQL files")


def test_an_unmet_expectation_fails_with_the_exit_code_of_a_run() -> None:
    found = examined(settings(WRONG, expect={"joined_at_least": 1}))

    assert (found.state, found.exit_code) == ("failed", 13)
    assert found.message == "merge.expect: 0 of at least 1 expected datasets are joined"
    assert f"namespace: {WAREHOUSE}" in found.fix


def test_large_or_unbounded_sources_are_skipped_with_the_reason(tmp_path: Path) -> None:
    large = {**settings(), "spark": {"distribute_above_mb": 1}}
    (tmp_path / "events.jsonl").write_text("x" * (2 << 20))
    kafka = {"servers": "broker:9092", "topic": "lineage", "landing": str(tmp_path)}

    found = [
        examined({**large, "openlineage": {"events": str(tmp_path / "events.jsonl")}}),
        examined({**settings(), "spark": {"distribute_above_mb": 0}}),
        examined({**settings(), "openlineage": {"kafka": kafka}}),
        examined({**settings(), "hive": {"log": str(tmp_path / "missing.log")}}),
    ]

    assert {each.state for each in found} == {"skipped"}
    assert [each.message.partition(";")[0] for each in found] == [
        "the input is larger than spark.distribute_above_mb (1 MB)",
        "spark.distribute_above_mb is 0",
        "a Kafka topic is not read by doctor",
        "a source cannot be read",
    ]


def test_slow_sources_are_skipped_in_time() -> None:
    def slow(_config: Config) -> Iterator[Diagnosis]:
        time.sleep(30)
        yield ok(joins.JOINS, "not read in time")

    (check,) = (check for check in CHECKS if check.area == joins.JOINS)
    started = time.monotonic()

    (found,) = examine(CONFIGURATION.parse(settings()), [check._replace(examine=slow, seconds=0.2)])

    assert time.monotonic() - started < 10
    assert (found.state, found.message.partition(";")[0]) == (
        "skipped",
        "reading the sources takes longer than 15 s",
    )
    assert check.seconds < SECONDS


def test_without_sources_there_is_no_check() -> None:
    config = CONFIGURATION.parse({"dag_name": "daily", "environment": "dev"}, needs_source=False)
    assert list(joins.examine(config)) == []
