"""Waiting for Spline: which runs have reported, in a live database."""

from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from lineage_merge.model.errors import SourceUnreachable
from lineage_merge.sources.spline.run_availability import ExpectedRuns, MissingRun, missing_runs
from lineage_merge.sources.spline.settings import Arango
from tests.arango_fixtures import ArangoServer
from tests.arango_standin import ArangoStandin
from tests.spline_documents import DAY, SplineDatabase, time

RUN = "jr_0123456789abcdef"
OTHER_RUN = "jr_fedcba9876543210"

Asked = Callable[..., list[MissingRun]]


@pytest.fixture
def missing_of(arango: ArangoServer, monkeypatch: pytest.MonkeyPatch) -> Asked:
    """Load a database and return which of the expected runs are missing."""
    monkeypatch.setenv("ARANGO_PASSWORD", arango.password)

    def ask(spline: SplineDatabase, *expected: ExpectedRuns) -> list[MissingRun]:
        name = arango.database("spline", spline.collections)
        settings = Arango(arango.url, name, arango.username, password_env="ARANGO_PASSWORD")
        return missing_runs(settings, expected, timedelta(days=30))

    return ask


def reported(*applications: str, at: float = 2, **plan: Any) -> SplineDatabase:
    spline = SplineDatabase()
    for application in applications:
        spline.plan(application, reads=["s3://raw/x"], writes=f"s3://lake/{application}", at=at, **plan)
    return spline


def since_hour(hour: float, *applications: str) -> list[ExpectedRuns]:
    return [ExpectedRuns(application, since=time(hour)) for application in applications]


def test_an_application_that_wrote_since_then_is_there(missing_of: Asked) -> None:
    assert missing_of(reported("load"), *since_hour(1, "load")) == []


def test_a_run_of_yesterday_is_not_the_run_that_is_waited_for(missing_of: Asked) -> None:
    assert missing_of(reported("load", at=2), *since_hour(3, "load")) == [MissingRun("load")]


def test_a_late_report_ends_the_wait(missing_of: Asked) -> None:
    spline = reported("ingest")
    expected = since_hour(1, "ingest", "load")
    assert missing_of(spline, *expected) == [MissingRun("load")]

    spline.plan("load", reads=["s3://lake/ingest"], writes="s3://lake/late", at=2.5)

    assert missing_of(spline, *expected) == []


def test_failed_writes_are_distinguished_from_missing_reports(missing_of: Asked) -> None:
    spline = reported("load", error="lost its executors")

    assert missing_of(spline, *since_hour(1, "load", "never")) == [
        MissingRun("load", failed=True),
        MissingRun("never"),
    ]


def test_a_successful_write_is_enough_besides_a_failed_one(missing_of: Asked) -> None:
    spline = reported("load", error="lost its executors")
    spline.plan("load", reads=["s3://raw/x"], writes="s3://lake/other", at=2)

    assert missing_of(spline, *since_hour(1, "load")) == []


def test_a_run_on_glue_is_found_by_the_jobs_name(missing_of: Asked) -> None:
    assert missing_of(reported(f"nativespark-load-{RUN}"), *since_hour(1, "load")) == []


def test_a_run_whose_id_is_known_must_have_reported_itself(missing_of: Asked) -> None:
    spline = reported(f"nativespark-load-{OTHER_RUN}")

    assert missing_of(spline, ExpectedRuns("load", (RUN, OTHER_RUN), time(1))) == [MissingRun("load", RUN)]


def test_a_run_whose_id_is_known_may_have_ended_long_ago(missing_of: Asked) -> None:
    """A DAG run that was cleared: its Glue tasks succeeded yesterday and do not run again."""
    assert missing_of(reported(f"nativespark-load-{RUN}"), ExpectedRuns("load", (RUN,), time(30))) == []


def test_an_attempt_of_glues_own_is_the_same_run(missing_of: Asked) -> None:
    assert (
        missing_of(reported(f"nativespark-load-{RUN}_attempt_1"), ExpectedRuns("load", (RUN,), time(30)))
        == []
    )


def test_a_script_that_names_its_application_after_the_job_is_found_without_a_run_id(
    missing_of: Asked,
) -> None:
    assert missing_of(reported("load"), ExpectedRuns("load", (RUN,), time(1))) == []


def test_a_glob_expects_one_matching_application(missing_of: Asked) -> None:
    spline = reported("tickit_load")

    assert missing_of(spline, *since_hour(1, "tickit_*", "sales_*")) == [MissingRun("sales_*")]


def test_uncommitted_reports_are_missing(missing_of: Asked) -> None:
    spline = SplineDatabase()
    transaction = spline.begin()
    key = spline.plan("load", reads=["s3://raw/x"], writes="s3://lake/x", at=None)
    spline.ended(key, 2, transaction=transaction)

    assert missing_of(spline, *since_hour(1, "load")) == [MissingRun("load")]


def test_reports_after_the_snapshot_are_missing(missing_of: Asked) -> None:
    spline = SplineDatabase()
    key = spline.plan("load", reads=["s3://raw/x"], writes="s3://lake/x", at=None)
    spline.ended(key, 2, transaction=spline.later())

    assert missing_of(spline, *since_hour(1, "load")) == [MissingRun("load")]


def test_all_runs_are_missing_in_a_database_without_reports(missing_of: Asked) -> None:
    spline = SplineDatabase()
    spline.plan("load", reads=["s3://raw/x"], writes="s3://lake/x", at=None)

    assert missing_of(spline, *since_hour(1, "load")) == [MissingRun("load")]


def test_a_run_whose_id_is_known_and_that_the_merge_no_longer_reads_is_missing(missing_of: Asked) -> None:
    spline = reported(f"nativespark-load-{RUN}", at=2)

    assert missing_of(spline, ExpectedRuns("load", (RUN,), time(2 + 30 * 24))) == []
    assert missing_of(spline, ExpectedRuns("load", (RUN,), time(3 + 30 * 24))) == [MissingRun("load", RUN)]


def test_runs_are_found_by_their_time_where_the_name_has_no_index(monkeypatch: pytest.MonkeyPatch) -> None:
    """A database that began as Spline 0.7."""
    monkeypatch.setenv("ARANGO_PASSWORD", "secret")
    spline = reported(f"nativespark-load-{RUN}", *(f"other_{number}" for number in range(20)))
    spline.plan("old", reads=["s3://raw/x"], writes="s3://lake/old", at=-31 * DAY)
    indexes = {"progress": ("timestamp",)}
    with ArangoStandin({"spline": spline.collections}, password="secret", indexes=indexes) as standin:
        settings = Arango(standin.url, "spline", password_env="ARANGO_PASSWORD")
        found = missing_runs(
            settings, [ExpectedRuns("load", (RUN, OTHER_RUN), time(1.5))], timedelta(days=30)
        )
        questions = [each for each in standin.requests if each.path == "/_api/cursor"]

    assert found == [MissingRun("load", OTHER_RUN)]
    assert sum(each.scanned_full for each in questions) == 0


def test_runs_are_found_in_spline_0_7(
    arango: ArangoServer, data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ARANGO_PASSWORD", arango.password)
    name = arango.database("spline", data / "spline_0_7" / "tickit_sales_load")
    settings = Arango(arango.url, name, arango.username, password_env="ARANGO_PASSWORD")
    ended = 1_795_252_927_090

    found = missing_runs(
        settings,
        [ExpectedRuns("tickit_sales_load", since=ended), ExpectedRuns("tickit_sales_load", since=ended + 1)],
        timedelta(days=30),
    )

    assert found == [MissingRun("tickit_sales_load")]


def test_every_query_uses_an_index(missing_of: Asked, arango: ArangoServer) -> None:
    spline = reported("load", *(f"other_{number}" for number in range(20)))

    missing_of(spline, ExpectedRuns("load", (RUN,), time(2)), *since_hour(1.5, "load"))

    cursors = [each for each in arango.standin.requests if each.path == "/_api/cursor"]
    questions = [each for each in cursors if " progress " in each.body["query"]]
    assert len(questions) == 3
    assert sum(each.scanned_full for each in questions) == 0


def test_an_unreachable_server_is_reported_at_once() -> None:
    settings = Arango("http://127.0.0.1:9", "spline")

    with pytest.raises(SourceUnreachable, match="no connection to ArangoDB"):
        missing_runs(settings, since_hour(1, "load"), timedelta(days=30))


@pytest.mark.parametrize(
    ("one", "text"),
    [
        (MissingRun("load"), "load"),
        (MissingRun("load", RUN), f"load ({RUN})"),
        (MissingRun("load", RUN, failed=True), f"load ({RUN}): only writes that failed"),
    ],
)
def test_a_missing_run_is_printed_with_its_id(one: MissingRun, text: str) -> None:
    assert str(one) == text
