"""Selected writes and facts of each job's newest run: histories read by each engine."""

from collections.abc import Mapping
from pathlib import Path

import pytest

from lineage_merge.merge import dataset_resolver
from lineage_merge.model.elements import Count
from lineage_merge.model.records import Record
from lineage_merge.orchestration.configuration import CONFIGURATION
from lineage_merge.sources.spline.reader import read_spline
from tests.engine_fixtures import ENGINES, engine_of
from tests.record_reading import flows_of, jobs_of, problems_of, records_of, rows_of, writes_of
from tests.spline_documents import DAY, SplineDatabase, time
from tests.spline_histories import HISTORIES, LOOKBACK_DAYS, WAREHOUSE, Flows, everything

LOST = "00000000-0000-0000-0000-00000000dead"


@pytest.fixture(scope="module")
def histories() -> tuple[SplineDatabase, Mapping[str, Flows]]:
    """All histories, and beside them what the facts of jobs are asked of."""
    spline, expected = everything()
    spline.ended(LOST, 99 * DAY, run="r1", execPlanDetails=_details(LOST, "names_a_lost_plan"))
    for day, hour, target, rows in (
        (97, 1, "x", 1000),
        (98, 1, "x", 10),
        (98, 3, "y", 5),
        (98, 2, "z", None),
    ):
        spline.plan(
            "facts",
            writes=f"s3://out/facts/{target}",
            at=day * DAY + hour,
            run=f"r{day}",
            rows=rows,
            minutes=2,
        )
    for number, hour in (("0123456789ab", 1), ("abcdef012345", 2)):
        glue = f"nativespark-glue-etl-jr_{number}"
        spline.plan(
            glue, reads=[f"s3://in/{hour}"], writes="s3://out/glue", at=99 * DAY + hour, run="spark-1"
        )
    return spline, expected


def _details(plan: str, name: str) -> dict[str, object]:
    return {
        "executionPlanKey": plan,
        "applicationName": name,
        "dataSourceUri": "s3://out/lost",
        "append": False,
    }


@pytest.fixture(scope="module", params=ENGINES)
def rows(
    request: pytest.FixtureRequest,
    histories: tuple[SplineDatabase, Mapping[str, Flows]],
    tmp_path_factory: pytest.TempPathFactory,
) -> list[Record]:
    folder = tmp_path_factory.mktemp("histories")
    histories[0].write(folder / "main")
    beside(folder)
    settings = CONFIGURATION.parse(
        {
            "dag_name": "daily",
            "environment": "dev",
            "spline": {"export": str(folder), "lookback": LOOKBACK_DAYS, "applications": ["[!u]*"]},
            "merge": {"default_schemas": {WAREHOUSE: "dev.public"}},
        }
    )
    with engine_of(request) as engine:
        return rows_of(read_spline(engine, settings, dataset_resolver.from_config(settings)))


def beside(folder: Path) -> None:
    """More databases of one export, in which keys are those of the first one."""
    quiet = SplineDatabase("histories")
    quiet.plan("quiet", reads=["s3://in/a"], writes="s3://out/quiet", at=10 * DAY, run="r1")
    quiet.plan("quiet_since", reads=["s3://in/a"], writes="s3://out/quiet_since", at=-30 * DAY, run="r1")
    quiet.write(folder / "quiet")

    unrecorded = SplineDatabase("histories")
    for application, source, target, created in (
        ("before_progress", "old", "x", 1),
        ("before_progress", "new", "x", 3),
        ("before_progress", "other", "y", 2),
        ("unwanted", "a", "z", 4),
    ):
        unrecorded.plan(
            application, reads=[f"s3://in/{source}"], writes=f"s3://out/{target}", at=None, created=created
        )
    unrecorded.write(folder / "unrecorded", "json")

    failures = SplineDatabase("histories")
    failures.plan("always_fails", reads=["s3://in/a"], writes="s3://out/fails", at=1, error="lost")
    failures.write(folder / "failures", "json.gz")


@pytest.mark.parametrize("name", HISTORIES)
def test_selected_writes(
    rows: list[Record], histories: tuple[SplineDatabase, Mapping[str, Flows]], name: str
) -> None:
    assert {(source, target) for _, source, target in flows_of(rows, name)} == histories[1][name]


def test_nothing_else_is_written(
    rows: list[Record], histories: tuple[SplineDatabase, Mapping[str, Flows]]
) -> None:
    expected = {(name, target) for name, flows in histories[1].items() for _, target in flows}
    expected |= {("facts", f"s3://out|facts/{target}") for target in "xyz"}
    expected |= {("glue-etl", "s3://out|glue"), ("quiet", "s3://out|quiet")}
    expected |= {("before_progress", "s3://out|x"), ("before_progress", "s3://out|y")}

    assert writes_of(rows) == expected


def test_a_progress_of_a_missing_plan_is_reported_and_the_rest_is_read(rows: list[Record]) -> None:
    assert {problem for problem in problems_of(rows) if problem[0] != "not-joined"} == {
        ("rejected", f"main: executionPlan/{LOST}", "", "missing, but referenced by progress"),
        (
            "notice",
            "Spline database unrecorded",
            "progress",
            "no run is recorded: using the newest plan of each application and target",
        ),
    }


def test_the_facts_of_a_job_are_those_of_its_newest_run_summed_over_its_writes(rows: list[Record]) -> None:
    assert jobs_of(rows)["facts"] == {
        "framework": "spark 3.5.9",
        "last_run_id": "r98",
        "last_run_at": str(time(98 * DAY + 3)),
        "duration_ms": str(3 * 2 * 60_000),
        "rows_written": "15",
        "status": "succeeded",
    }


def test_a_failed_newest_run_is_reported_though_an_older_one_is_used(rows: list[Record]) -> None:
    facts = jobs_of(rows)["a_failed_run_leaves_what_the_good_one_before_did"]

    assert (facts["last_run_id"], facts["status"]) == ("r2", "failed")
    assert "rows_written" not in facts


def test_on_glue_the_run_is_glues_own(rows: list[Record]) -> None:
    facts = jobs_of(rows)["glue-etl"]

    assert facts["last_run_id"] == "jr_abcdef012345"
    assert flows_of(rows, "glue-etl") == {("glue-etl", "s3://in|2", "s3://out|glue")}


def test_numbers_with_a_point_are_read_as_whole_ones(rows: list[Record]) -> None:
    facts = jobs_of(rows)["numbers_may_be_written_with_a_point"]

    assert (facts["rows_written"], facts["duration_ms"]) == ("12", "90000")
    assert facts["last_run_at"] == str(time(99 * DAY))


def test_the_lookback_counts_from_the_newest_write_of_each_database(rows: list[Record]) -> None:
    assert flows_of(rows, "quiet") == {("quiet", "s3://in|a", "s3://out|quiet")}


def test_without_progress_the_newest_plan_of_each_application_and_target_counts(rows: list[Record]) -> None:
    assert flows_of(rows, "before_progress") == {
        ("before_progress", "s3://in|new", "s3://out|x"),
        ("before_progress", "s3://in|other", "s3://out|y"),
    }
    assert jobs_of(rows)["before_progress"] == {"framework": "spark 3.5.9"}


def test_exactly_the_jobs_that_write_are_vertices(rows: list[Record]) -> None:
    """`names_a_lost_plan` ran, though what it wrote is unknown."""
    assert set(jobs_of(rows)) == {job for job, _ in writes_of(rows)} | {"names_a_lost_plan"}


def test_the_plans_that_were_read_are_counted(rows: list[Record]) -> None:
    plans = sum(row.number for row in records_of(Count, rows) if row.what == "execution plans")

    # One or more for each flow, the outer plan of CREATE TABLE AS SELECT, and those of constants.
    flows = {(job, source, target) for job, source, target in flows_of(rows)}
    assert plans == len(flows) + 1 + 3
