"""Selection of writes by run, label and time, and their order.

Everything is read twice, from an export and from ArangoDB, with identical results.
"""

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest

from lineage_merge.infra.engine.local import LocalEngine
from lineage_merge.merge import dataset_resolver
from lineage_merge.model.elements import Feeds, Follows, Operation
from lineage_merge.model.records import Record
from lineage_merge.orchestration.configuration import CONFIGURATION
from lineage_merge.sources.settings import Runs
from lineage_merge.sources.spline.reader import read_spline
from tests.arango_fixtures import ArangoServer
from tests.record_reading import comparable, flows_of, jobs_of, problems_of, records_of, rows_of, runs_of
from tests.spline_documents import DAY, START, Document, SplineDatabase

Reading = Callable[..., list[Record]]


@pytest.fixture
def read(arango: ArangoServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Reading:
    """Read a database with settings of `spline` (and of `merge`), exported and live."""
    monkeypatch.setenv("SPLINE_TEST_PASSWORD", arango.password)

    def both(spline: SplineDatabase, merge: dict[str, Any] | None = None, **settings: Any) -> list[Record]:
        server = {
            "hosts": arango.url,
            "database": arango.database("spline", spline.collections),
            "username": arango.username,
            "password_env": "SPLINE_TEST_PASSWORD",
        }
        inputs = ({"export": str(spline.write(tmp_path / "export"))}, {"arango": server})
        exported, live = (
            _read({**settings_of_input, **settings}, merge or {}) for settings_of_input in inputs
        )
        assert comparable(live) == comparable(exported)
        return live

    return both


def _read(spline: dict[str, Any], merge: dict[str, Any]) -> list[Record]:
    settings = {"dag_name": "daily", "environment": "dev", "spline": spline, "merge": merge}
    found = CONFIGURATION.parse(settings)
    return rows_of(read_spline(LocalEngine(), found, dataset_resolver.from_config(found)))


def sources(rows: Iterable[Record], job: str | None = None) -> set[str]:
    """Return the last segments of the inputs."""
    return {source.rpartition("|")[2] for _, source, _ in flows_of(rows, job)}


def sequences(rows: Iterable[Record], job: str) -> dict[str, str | int]:
    """Return the position of the write, by the target's last segment."""
    return {
        row.target.rpartition("|")[2]: row.properties["sequence"]
        for row in records_of(Feeds, rows)
        if row.job.name == job
    }


# Runs


def daily() -> SplineDatabase:
    """One job, days 1 to 6, a new plan each day; the write of day 4 failed."""
    spline = SplineDatabase()
    for day in range(1, 7):
        spline.plan(
            "load",
            reads=[f"s3://in/day{day}"],
            writes="s3://out/x",
            at=day * DAY,
            run=f"r{day}",
            error="lost" if day == 4 else None,
        )
    return spline


def test_writes_ahead_of_the_clock_count_as_older_than_all_others(read: Reading) -> None:
    spline = daily()
    spline.plan("load", reads=["s3://in/ahead"], writes="s3://out/x", at=400_000 * DAY, run="ahead")
    spline.plan("alone", reads=["s3://in/alone"], writes="s3://out/y", at=400_001 * DAY, run="alone")

    rows = read(spline)

    assert (sources(rows, "load"), sources(rows, "alone")) == ({"day6"}, {"alone"})
    (notice,) = problems_of(rows)
    assert notice[3].startswith("2 writes have times more than a day ahead of the clock (from 3121-")


@pytest.mark.parametrize(
    ("settings", "days", "runs"),
    [
        ({}, {"day6"}, 5),
        ({"lookback": "48h"}, {"day6"}, 2),
        ({"runs": "all"}, {"day1", "day2", "day3", "day5", "day6"}, 5),
        ({"runs": "all", "lookback": 3}, {"day3", "day5", "day6"}, 3),
        # The start is 2026-01-01; a time of its own replaces the lookback.
        ({"runs": {"since": "2026-01-03"}, "lookback": "1h"}, {"day2", "day3", "day5", "day6"}, 4),
        ({"runs": "since 2026-01-03T00:00:00.001Z"}, {"day3", "day5", "day6"}, 3),
        ({"runs": "since 2027-01-01"}, set(), None),
    ],
)
def test_runs_select_successful_writes(
    read: Reading, settings: dict[str, Any], days: set[str], runs: int | None
) -> None:
    rows = read(daily(), **settings)

    assert sources(rows) == days
    assert runs_of(rows) == ({"load": runs} if runs else {})


def test_the_start_of_the_documents_is_the_day_that_these_tests_name() -> None:
    assert CONFIGURATION.parse(
        {"dag_name": "d", "environment": "e", "spline": {"export": "x", "runs": "since 2026-01-01"}}
    ).sources["spline"].runs == Runs("since", START)


def test_a_successful_run_is_one_without_failed_writes(read: Reading) -> None:
    spline = SplineDatabase()
    for run, job, error in (
        ("r1", "a", None),
        ("r1", "a", "lost"),
        ("r2", "a", None),
        ("r2", "a", None),
        ("r3", "a", None),
        ("r1", "b", "lost"),
        ("jr1", "nativespark-c-jr_0123456789ab", None),
        ("jr2", "nativespark-c-jr_abcdef012345", None),
    ):
        target = f"s3://out/{len(spline.contents['progress'])}"
        spline.plan(job, reads=["s3://in/a"], writes=target, at=1, run=run, error=error)

    assert runs_of(read(spline)) == {"a": 2, "c": 2}


# Order


@pytest.mark.parametrize("command", ["MergeIntoCommand", "UpdateCommand", "DeleteCommand"])
def test_a_row_level_operation_leaves_the_rows_of_earlier_writes(read: Reading, command: str) -> None:
    spline = SplineDatabase()
    for minute, (name, write) in enumerate(
        (
            ("old", "SaveIntoDataSourceCommand"),
            ("load", "SaveIntoDataSourceCommand"),
            ("change", command),
        )
    ):
        reads = [f"s3://in/{name}"]
        spline.plan(
            "job",
            reads=reads,
            writes="s3://out/x",
            at=DAY + 10 * minute,
            run="r",
            format="delta",
            command=write,
        )

    assert sources(read(spline)) == {"load", "change"}


def test_writes_are_numbered_in_their_run_by_the_time_they_ended(read: Reading) -> None:
    spline = SplineDatabase()
    for hour, run, target, error in (
        (5, "r1", "third", None),
        (2, "r1", "first", None),
        (3, "r1", "failed", "lost"),
        (4, "r1", "second", None),
        (4, "r2", "other", None),
    ):
        spline.plan("load", reads=["s3://in/a"], writes=f"s3://out/{target}", at=hour, run=run, error=error)

    assert sequences(read(spline), "load") == {"first": "1", "second": "2", "third": "3", "other": "1"}


def test_writes_that_ended_at_one_moment_are_numbered_by_their_key(read: Reading) -> None:
    spline = SplineDatabase()
    for target in "ab":
        spline.plan("load", reads=["s3://in/a"], writes=f"s3://out/{target}", at=1, run="r1")
    spline.contents["progress"][0]["_key"] = "z"
    spline.contents["progress"][1]["_key"] = "a"

    assert sequences(read(spline), "load") == {"a": "2", "b": "1"}


def test_a_plan_that_a_run_executed_often_appears_once_with_its_first_position(read: Reading) -> None:
    spline = SplineDatabase()
    spline.plan("load", reads=["s3://in/a"], writes="s3://out/before", at=1, run="r1")
    plan = spline.plan("load", reads=["s3://in/a"], writes="s3://out/x", at=2, run="r1", append=True)
    for hour in (3, 4):
        spline.ended(plan, hour, run="r1")

    rows = read(spline)

    assert sequences(rows, "load") == {"before": "1", "x": "2"}
    assert len(records_of(Feeds, rows)) == 2


def test_a_plan_that_many_runs_share_is_queried_once(read: Reading, arango: ArangoServer) -> None:
    spline = SplineDatabase()
    plan = spline.plan("load", reads=["s3://in/a"], writes="s3://out/x", at=0, run="r0")
    for number in range(1, 200):
        spline.ended(plan, number, run=f"r{number}")

    rows = read(spline, runs="all", operations=True)

    asked = [
        request.body["bindVars"]
        for request in arango.standin.requests
        if request.method == "POST" and request.path == "/_api/cursor"
    ]
    by_collection = {each["@collection"]: each for each in asked if "@collection" in each}
    assert len([each for each in asked if "@collection" in each]) == len(by_collection) == 3
    assert by_collection["executionPlan"]["values"] == [plan]
    assert len(records_of(Feeds, rows)) == 1
    assert runs_of(rows) == {"load": 200}


# Labels

DAG = {"airflow.dag_id": "tickit_daily"}


def _labelled() -> SplineDatabase:
    """An application for each place that a label may stand at."""
    spline = SplineDatabase()

    def write(name: str) -> tuple[Document, Document]:
        spline.plan(name, reads=[f"s3://in/{name}"], writes=f"s3://out/{name}", at=1, run=name)
        return spline.contents["executionPlan"][-1], spline.contents["progress"][-1]

    plan, progress = write("on_plan")
    plan["labels"] = progress["execPlanDetails"]["labels"] = {"airflow.dag_id": ["other", "tickit_daily"]}
    plan, _ = write("on_plan_only")
    plan["labels"] = {"airflow.dag_id": ["tickit_daily"]}
    _, progress = write("on_progress")
    progress["labels"] = {"airflow.dag_id": ["tickit_daily"]}
    _, progress = write("in_extra")
    progress["extra"]["airflow.dag_id"] = "tickit_daily"
    _, progress = write("nested_in_extra")
    progress["extra"]["airflow"] = {"dag_id": ["tickit_daily"]}
    plan, _ = write("nested_in_extra_of_the_plan")
    plan["extra"]["airflow"] = {"dag_id": "tickit_daily", "tier": 1}
    plan, progress = write("another_value")
    progress["labels"] = {"airflow.dag_id": ["tickit_daily_2"], "airflow": ["dag_id"]}
    plan["labels"] = {"dag_id": ["tickit_daily"]}
    write("without")
    return spline


LABELLED = {
    "on_plan",
    "on_plan_only",
    "on_progress",
    "in_extra",
    "nested_in_extra",
    "nested_in_extra_of_the_plan",
}


def test_a_label_selects_writes_wherever_it_is_stored(read: Reading, arango: ArangoServer) -> None:
    spline = _labelled()

    rows = read(spline, labels=DAG)

    assert sources(rows) == set(jobs_of(rows)) == set(runs_of(rows)) == LABELLED
    # Of others no more is asked than what their labels are.
    unwanted = {each["_key"] for each in spline.contents["executionPlan"] if each["name"] not in LABELLED}
    for request in arango.standin.requests:
        if request.body and "@collection" in request.body.get("bindVars", {}):
            asked = request.body["bindVars"].get("keys") or request.body["bindVars"].get("plans")
            assert not unwanted & {each.rpartition("/")[2] for each in asked or ()}


def test_all_labels_are_needed_and_of_several_values_one(read: Reading) -> None:
    rows = read(_labelled(), labels={**DAG, "airflow.tier": [1, 2]})

    assert sources(rows) == {"nested_in_extra_of_the_plan"}


def test_labels_and_names_together_select_writes_with_both(read: Reading) -> None:
    assert sources(read(_labelled(), labels=DAG, applications=["on_*", "without"])) == {
        "on_plan",
        "on_plan_only",
        "on_progress",
    }


def test_without_progress_the_labels_of_plans_select(read: Reading) -> None:
    spline = _labelled()
    spline.contents["progress"].clear()
    del spline.contents["progress"]

    assert sources(read(spline, labels=DAG)) == {"on_plan", "on_plan_only", "nested_in_extra_of_the_plan"}


# Operations


def test_operations_are_those_of_the_newest_run_and_their_keys_last(read: Reading) -> None:
    spline = SplineDatabase()
    for run, hour in (("r1", 1), ("r2", 25)):
        for number, target in enumerate(("a", "b" if run == "r2" else "c")):
            spline.plan(
                "load",
                reads=[f"s3://in/{run}", "s3://in/y"] if target == "a" else ["s3://in/z"],
                writes=f"s3://out/{target}",
                at=hour + number,
                run=run,
            )

    rows = read(spline, operations=True)

    assert {(row.key, row.properties["name"], row.properties["operation_type"])
            for row in records_of(Operation, rows)} == {
        ("1:op-0", "InsertIntoHadoopFsRelationCommand", "Write"),
        ("1:op-1", "Join", "Transformation"),
        ("1:op-2", "LogicalRelation", "Read"),
        ("1:op-3", "LogicalRelation", "Read"),
        ("2:op-0", "InsertIntoHadoopFsRelationCommand", "Write"),
        ("2:op-1", "LogicalRelation", "Read"),
    }  # fmt: skip
    assert {(row.operation, row.consumed) for row in records_of(Follows, rows)} == {
        ("1:op-0", "1:op-1"),
        ("1:op-1", "1:op-2"),
        ("1:op-1", "1:op-3"),
        ("2:op-0", "2:op-1"),
    }
    assert sequences(rows, "load") == {"a": "1", "b": "2", "c": "2"}


def test_operations_are_left_out_by_default(read: Reading) -> None:
    assert not {type(row) for row in read(daily())} & {Operation, Follows}


# Marks for what only one run knows


def test_a_source_is_marked_that_each_run_wrote_before_it_read_it(read: Reading) -> None:
    spline = SplineDatabase()
    for run, day in (("r1", 1), ("r2", 2)):
        for hour, source, target in (
            (0, "state", "early"),  # what the run before left
            (1, "raw", "tmp"),
            (2, "tmp", "out"),
            (3, "tmp", "state"),
        ):
            spline.plan(
                "load", reads=[f"s3://b/{source}"], writes=f"s3://b/{target}", at=day * DAY + hour, run=run
            )

    rows = read(spline, merge={"collapse_run_local": True})

    marked = {
        (row.source.rpartition("|")[2], row.target.rpartition("|")[2])
        for row in records_of(Feeds, rows)
        if row.is_run_local
    }
    assert marked == {("tmp", "out"), ("tmp", "state")}
