"""The live database: the records of an export, read in slices."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from lineage_merge.config import Config
from lineage_merge.infra.engine.local import LocalEngine
from lineage_merge.infra.engine.rows import Engine
from lineage_merge.merge import dataset_resolver
from lineage_merge.model.errors import SourceDenied, SourceError, SourceMissing
from lineage_merge.model.records import Record
from lineage_merge.orchestration import pipeline
from lineage_merge.orchestration.configuration import CONFIGURATION
from lineage_merge.sources.spline import arango_queries
from lineage_merge.sources.spline.reader import read_spline
from tests.arango_fixtures import ArangoServer, Contents
from tests.record_reading import comparable, flows_of, jobs_of, problems_of, rows_of
from tests.spline_documents import DAY, SplineDatabase
from tests.spline_histories import everything

CAPTURES = ("seed_queries", "tickit_sales_ingest", "tickit_sales_load", "tpch")

SNAPSHOT = ("FOR c IN counter FILTER c._key == @key RETURN c", "FOR t IN txInfo RETURN t._key")

Settings = Callable[..., Config]


@pytest.fixture
def settings(arango: ArangoServer, monkeypatch: pytest.MonkeyPatch) -> Settings:
    """Load documents into ArangoDB, and return the settings for reading them."""
    # Set only now, as workers that run already do not see: the driver must pass it on.
    monkeypatch.setenv("SPLINE_TEST_PASSWORD", arango.password)

    def load(contents: Path | Contents, more: Mapping[str, Any] | None = None, **changed: Any) -> Config:
        name = contents.name if isinstance(contents, Path) else "spline"
        server = {
            "hosts": arango.url,
            "database": arango.database(name, contents),
            "username": arango.username,
            "password_env": "SPLINE_TEST_PASSWORD",
        }
        return parsed({"arango": {**server, **changed}, **(more or {})})

    return load


def parsed(spline: Mapping[str, Any]) -> Config:
    return CONFIGURATION.parse({"dag_name": "daily", "environment": "dev", "spline": spline})


def read(found: Config, engine: Engine | None = None) -> list[Record]:
    return rows_of(read_spline(engine or LocalEngine(), found, dataset_resolver.from_config(found)))


def test_the_captures_give_the_records_of_their_exports(
    engine: Engine, settings: Settings, data: Path
) -> None:
    rows = [row for capture in CAPTURES for row in read(settings(data / "spline" / capture), engine)]

    assert comparable(rows) == comparable(read(parsed({"export": str(data / "spline")}), engine))
    assert set(jobs_of(rows)) == {"seed_queries", "tickit_sales_ingest", "tickit_sales_load", "tpch_queries"}


def test_spline_0_7_gives_the_records_of_1_0_live_and_exported(settings: Settings, data: Path) -> None:
    captures = ("seed_queries", "tickit_sales_ingest", "tickit_sales_load")
    folder = data / "spline_0_7"
    live = [row for capture in captures for row in read(settings(folder / capture))]
    newer = [row for capture in captures for row in read(parsed({"export": str(data / "spline" / capture)}))]

    expected = comparable(newer)

    assert expected
    assert comparable(live) == expected
    assert comparable(read(parsed({"export": str(folder)}))) == expected


def test_labels_that_match_nothing_are_reported_with_a_hint(settings: Settings, data: Path) -> None:
    wanted = {"labels": {"airflow.dag_id": "tickit_daily"}}
    folder = data / "spline_0_7" / "tickit_sales_load"

    for found in (settings(folder, wanted), parsed({"export": str(folder), **wanted})):
        rows = read(found)

        assert flows_of(rows) == set()
        [(kind, location, field, message)] = problems_of(rows)
        assert (kind, location, field) == ("notice", "Spline", "labels")
        assert "no write has the label airflow.dag_id=tickit_daily; found: no labels at all" in message
        assert "Spline 0.7" in message


def test_labels_that_match_need_no_hint(settings: Settings, tmp_path: Path) -> None:
    spline = SplineDatabase()
    key = spline.plan("load", reads=["s3://in/a"], writes="s3://out/x", at=1)
    spline.part("executionPlan", key)["labels"] = {"airflow.dag_id": ["tickit_daily"]}
    wanted = {"labels": {"airflow.dag_id": "tickit_daily"}}
    for found in (
        settings(spline.collections, wanted),
        parsed({"export": str(spline.write(tmp_path)), **wanted}),
    ):
        rows = read(found)

        assert flows_of(rows) == {("load", "s3://in|a", "s3://out|x")}
        assert problems_of(rows) == set()


def test_spline_0_5_is_rejected_by_its_version(settings: Settings, tmp_path: Path) -> None:
    spline = SplineDatabase()
    spline.plan("load", reads=["s3://in/a"], writes="s3://out/x")
    spline.contents["dbVersion"].append({"_key": "1", "version": "0.5.3", "status": "current"})

    for found in (settings(spline.collections), parsed({"export": str(spline.write(tmp_path))})):
        with pytest.raises(SourceError, match=r"version 0\.5\.3: 0\.5 and older use other documents"):
            read(found)


def test_a_duration_that_only_extra_has_is_that_of_the_run(settings: Settings) -> None:
    """Producer API 1."""
    spline = SplineDatabase()
    for number, duration in enumerate((90_000_000_000, "90000000000", "soon", None)):
        spline.plan(f"load_{number}", reads=["s3://in/a"], writes=f"s3://out/{number}", at=1)
        event = spline.contents["progress"][-1]
        event["durationNs"] = None
        event["extra"]["durationNs"] = duration

    facts = jobs_of(read(settings(spline.collections)))

    assert [facts[f"load_{number}"]["duration_ms"] for number in range(4)] == ["90000", "90000", "0", "0"]


def test_histories_give_the_records_of_their_export_without_full_scans(
    engine: Engine, settings: Settings, arango: ArangoServer, tmp_path: Path
) -> None:
    spline, _ = everything()
    # Nothing of this plan counts: it must not be fetched.
    forgotten = spline.plan("forgotten", reads=["s3://in/a"], writes="s3://out/forgotten", at=DAY)

    rows = read(settings(spline.collections, batch_size=3), engine)

    assert comparable(rows) == comparable(read(parsed({"export": str(spline.write(tmp_path))})))
    asked = [
        request.body
        for request in arango.standin.requests
        if request.method == "POST" and request.path == "/_api/cursor"
    ]
    bound = [query["bindVars"] for query in asked if "@collection" in query["bindVars"]]
    for variables in bound:
        assert len(variables["values"]) <= arango_queries.IDS_PER_REQUEST
        assert not any(forgotten in each for each in variables["values"])
    assert {variables["@collection"] for variables in bound} == {"executionPlan", "operation", "follows"}
    # What else was asked: the overview, open transactions, and spans of `progress`.
    others = [query["query"] for query in asked if "@collection" not in query["bindVars"]]
    assert all("p.timestamp" in query or query in SNAPSHOT for query in others)
    # Which transactions are committed is found once, by the driver.
    assert [query for query in others if query in SNAPSHOT] == [*SNAPSHOT]
    # Whole are read only the few open transactions, and the newest and oldest time along an index.
    whole = {request.body["query"] for request in arango.standin.requests if request.scanned_full}
    assert whole <= {query for query in others if query in SNAPSHOT or "LIMIT 1" in query}
    assert max(request.returned for request in arango.standin.requests) == 3
    assert arango.standin.open_cursors == 0


def test_globs_select_applications_and_malformed_times_are_reported(settings: Settings) -> None:
    spline = SplineDatabase()
    for name in ("tickit_a", "tickit_b", "other", "nativespark-tickit_c-jr_0123456789ab"):
        key = spline.plan(name, reads=["s3://in/a"], writes=f"s3://out/{name[-3:]}", at=1)
    malformed = spline.ended(key, 2, timestamp="2026-01-01T00:00:00Z")

    rows = read(settings(spline.collections, {"applications": ["tickit_*"]}))

    assert {job for job, _, _ in flows_of(rows)} == {"tickit_a", "tickit_b", "tickit_c"}
    assert set(jobs_of(rows)) == {"tickit_a", "tickit_b", "tickit_c"}
    assert {(kind, document, field) for kind, document, field, _ in problems_of(rows)} == {
        ("rejected", f"progress/{malformed['_key']}", "timestamp")
    }


def test_without_progress_the_newest_plans_are_used_with_a_notice(engine: Engine, settings: Settings) -> None:
    spline = SplineDatabase()
    for created, source, target in ((1, "old", "x"), (3, "new", "x"), (2, "a", "y")):
        spline.plan(
            "load", reads=[f"s3://in/{source}"], writes=f"s3://out/{target}", at=None, created=created
        )
    spline.plan("unwanted", reads=["s3://in/a"], writes="s3://out/z", at=None)

    rows = read(settings(spline.collections, {"applications": ["load"]}, batch_size=1), engine)

    assert flows_of(rows) == {("load", "s3://in|new", "s3://out|x"), ("load", "s3://in|a", "s3://out|y")}
    assert jobs_of(rows) == {"load": {"framework": "spark 3.5.9"}}
    assert {(kind, field) for kind, _, field, _ in problems_of(rows)} == {("notice", "progress")}


@pytest.mark.jvm
def test_what_fails_in_a_worker_is_the_packages_own_error(
    spark: SparkSession, settings: Settings, arango: ArangoServer, data: Path
) -> None:
    found = settings(data / "spline" / "tickit_sales_load", batch_size=1)
    # The driver's queries are small; the second batch of one is asked for by a worker.
    arango.standin.refuse_next(403, 11, times=8, method="POST", path="/_api/cursor/")

    with pytest.raises(SourceDenied, match="rejects user 'root'") as caught:
        pipeline.build(spark, found)

    assert "\n" not in str(caught.value)
    assert arango.password not in str(caught.value)


@pytest.mark.jvm
def test_what_fails_on_the_driver_stops_before_spark_works(
    spark: SparkSession, settings: Settings, data: Path
) -> None:
    found = settings(data / "spline" / "tickit_sales_load")
    spline = found.sources["spline"]
    assert spline is not None
    assert spline.arango is not None
    elsewhere = {**{name: getattr(spline.arango, name) for name in ("hosts", "username", "password_env")}}

    with pytest.raises(SourceMissing, match="missing database 'other'"):
        pipeline.build(spark, parsed({"arango": {**elsewhere, "database": "other"}}))
    with pytest.raises(SourceError, match="no connection"):
        pipeline.build(spark, parsed({"arango": {"hosts": "http://127.0.0.1:9", "database": "spline"}}))
