"""Which merges are due of what Spline saw, and whose applications they are."""

from pathlib import Path

import pytest
from gremlin_python.process.graph_traversal import GraphTraversalSource
from gremlin_python.statics import long

from lineage_merge.orchestration.unmanaged_jobs import PendingMerge, Plan, plan
from lineage_merge.questions.traversal.job_ownership import Owner, owners
from lineage_merge.sources.airflow_support import ObservedJob
from lineage_merge.sources.spline.observed_applications import list_observed_jobs
from lineage_merge.sources.spline.settings import Arango
from tests.arango_fixtures import ArangoServer
from tests.spline_documents import SplineDatabase, time

COLLECTOR = "lineage_unmanaged"
LABELS = ("airflow.dag_id", "dag")


def planned(
    applications: list[ObservedJob], known: list[Owner] | None = None, exclude: tuple[str, ...] = ()
) -> Plan:
    return plan(applications, known or [], collector=COLLECTOR, exclude=exclude, not_after=100)


def test_unmanaged_jobs_are_collected() -> None:
    assert planned([ObservedJob("b", 50), ObservedJob("a", 60)]).due == (PendingMerge(COLLECTOR, ("a", "b")),)


def test_a_label_names_the_dag() -> None:
    found = planned(
        [ObservedJob("a", 50, "nightly"), ObservedJob("b", 50, "hourly"), ObservedJob("c", 50, "nightly")]
    )

    assert found.due == (PendingMerge("hourly", ("b",)), PendingMerge("nightly", ("a", "c")))


def test_a_label_that_is_no_name_of_a_dag_counts_as_none() -> None:
    assert planned([ObservedJob("a", 50, "my dag!")]).due == (PendingMerge(COLLECTOR, ("a",)),)


def test_jobs_of_another_dag_in_the_graph_are_managed() -> None:
    known = [Owner("tickit_daily", "a", 10), Owner("tickit_daily", "b", 10)]

    assert planned([ObservedJob("a", 50), ObservedJob("b", 50, "nightly")], known) == Plan((), ())


@pytest.mark.parametrize(("dag_name", "label"), [("nightly", "nightly"), (COLLECTOR, "")])
def test_a_merge_is_due_again_when_a_newer_run_is_there(dag_name: str, label: str) -> None:
    one = ObservedJob("a", 50, label)

    assert planned([one], [Owner(dag_name, "a", 49)]).due == (PendingMerge(dag_name, ("a",)),)
    assert planned([one], [Owner(dag_name, "a", 50)]).due == ()


def test_recent_writes_are_not_due_yet() -> None:
    assert planned([ObservedJob("a", 101), ObservedJob("b", 100)]).due == (PendingMerge(COLLECTOR, ("b",)),)


def test_excluded_jobs_are_ignored() -> None:
    assert planned([ObservedJob("tmp_a", 50), ObservedJob("b", 50)], exclude=("tmp_*",)).due == (
        PendingMerge(COLLECTOR, ("b",)),
    )


def test_collected_jobs_are_deleted_when_a_dag_manages_them() -> None:
    known = [Owner(COLLECTOR, "a", 50), Owner("tickit_daily", "a", 60), Owner(COLLECTOR, "b", 50)]

    assert planned([ObservedJob("a", 70), ObservedJob("b", 50)], known) == Plan((), ("a",))


def test_collected_jobs_are_deleted_when_a_label_names_their_dag() -> None:
    found = planned([ObservedJob("a", 70, "nightly")], [Owner(COLLECTOR, "a", 50)])

    assert found == Plan((PendingMerge("nightly", ("a",)),), ("a",))


def seen_of(arango: ArangoServer, spline: SplineDatabase, since: float = 0) -> list[ObservedJob]:
    name = arango.database("spline", spline.collections)
    settings = Arango(arango.url, name, arango.username, password_env="ARANGO_PASSWORD")
    return list_observed_jobs(settings, time(since), LABELS)


@pytest.fixture(autouse=True)
def _password(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    if "arango" in request.fixturenames:
        monkeypatch.setenv("ARANGO_PASSWORD", request.getfixturevalue("arango").password)


def written(spline: SplineDatabase, application: str, at: float, error: str | None = None) -> str:
    return spline.plan(
        application, reads=["s3://raw/x"], writes=f"s3://lake/{application}/{at}", at=at, error=error
    )


def test_spline_reports_jobs_and_their_last_successful_write(arango: ArangoServer) -> None:
    spline = SplineDatabase()
    for application, at, error in (
        ("before", 0, None),
        ("a", 2, None),
        ("a", 3, None),
        ("a", 4, "failed"),
        ("failed", 4, "failed"),
        ("nativespark-b-jr_0123456789ab", 5, None),
        ("nativespark-b-jr_ba9876543210", 6, None),
    ):
        written(spline, application, at, error)

    assert seen_of(arango, spline, since=1) == [ObservedJob("a", time(3)), ObservedJob("b", time(6))]


def test_what_is_not_committed_or_began_after_the_snapshot_is_not_seen(arango: ArangoServer) -> None:
    spline = SplineDatabase()
    for name, transaction in (("open", spline.begin()), ("later", spline.later()), ("done", None)):
        key = written(spline, name, 1)
        spline.ended(key, 2, transaction=transaction)
        spline.part("executionPlan", key)["labels"] = {"dag": ["nightly"]}
    hidden = spline.plan(
        "hidden", reads=["s3://raw/x"], writes="s3://lake/h", at=3, transaction=spline.later()
    )
    spline.part("executionPlan", hidden)["labels"] = {"dag": ["nightly"]}

    assert seen_of(arango, spline) == [
        ObservedJob("done", time(2), "nightly"),
        ObservedJob("hidden", time(3), ""),
        ObservedJob("later", time(1), "nightly"),
        ObservedJob("open", time(1), "nightly"),
    ]


def test_jobs_of_spline_0_7_are_seen(arango: ArangoServer, data: Path) -> None:
    name = arango.database("spline", data / "spline_0_7" / "tickit_sales_load")
    settings = Arango(arango.url, name, arango.username, password_env="ARANGO_PASSWORD")

    assert list_observed_jobs(settings, 0, LABELS) == [ObservedJob("tickit_sales_load", 1_795_252_927_090)]


def test_the_label_of_a_run_or_of_its_plan_counts(arango: ArangoServer) -> None:
    spline = SplineDatabase()
    keys = {name: written(spline, name, 1) for name in ("on_run", "copied", "on_plan", "in_extra", "none")}
    spline.part("progress", keys["on_run"])["labels"] = {"airflow.dag_id": ["of_run"], "dag": ["second"]}
    details = spline.part("progress", keys["copied"])["execPlanDetails"]
    details["labels"] = {"dag": ["of_copy"]}
    spline.part("executionPlan", keys["on_plan"])["labels"] = {"airflow.dag_id": ["of_plan"]}
    spline.part("executionPlan", keys["in_extra"])["extra"] = {"airflow": {"dag_id": "of_extra"}}

    assert {each.job: each.dag_name for each in seen_of(arango, spline)} == {
        "on_run": "of_run",
        "copied": "of_copy",
        "on_plan": "of_plan",
        "in_extra": "of_extra",
        "none": "",
    }


def test_of_a_job_whose_label_changed_the_newest_counts(arango: ArangoServer) -> None:
    spline = SplineDatabase()
    for at, dag_name in ((1, "old"), (3, "new"), (2, "older")):
        key = written(spline, "a", at)
        spline.part("executionPlan", key)["labels"] = {"dag": [dag_name]}

    assert seen_of(arango, spline) == [ObservedJob("a", time(3), "new")]


def test_nothing_is_scanned(arango: ArangoServer) -> None:
    spline = SplineDatabase()
    for number in range(30):
        written(spline, f"job_{number}", number)

    assert len(seen_of(arango, spline, since=28)) == 2
    assert sum(each.scanned_full for each in arango.standin.requests) == 0


def test_a_database_without_runs_reports_no_jobs(arango: ArangoServer) -> None:
    assert seen_of(arango, SplineDatabase()) == []


@pytest.mark.jvm
def test_the_graph_contains_the_owner_of_each_job(gremlin: GraphTraversalSource) -> None:
    for environment, dag_name, job_type, name, at in (
        ("dev", "d1", "spark", "a", 5_000_000_000),
        ("dev", "d2", "spark", "a", None),
        ("prod", "d1", "spark", "b", 1),
        ("dev", "d1", "dbt", "c", 1),
    ):
        job = gremlin.add_v("job").property("environment", environment).property("dag_name", dag_name)
        job = job.property("job_type", job_type).property("name", name)
        (job.property("last_run_at", long(at)) if at else job).to_list()

    assert owners(gremlin, "dev") == [Owner("d1", "a", 5_000_000_000), Owner("d2", "a", 0)]
