"""A database in which every application has a history of its own, and what of it counts.

`HISTORIES` fill a database and say which flows, as (source, target), are left of the application
that bears their name. The newest write of the database is that of `NEWEST`, on day 100.
"""

from collections.abc import Callable, Mapping

from tests.spline_documents import DAY, SplineDatabase

NEWEST = 100 * DAY
LOOKBACK_DAYS = 30
WAREHOUSE = "redshift://tickit-wh.us-east-1:5439"

Flows = set[tuple[str, str]]
History = Callable[[SplineDatabase, str], Flows]

HISTORIES: dict[str, History] = {}


def everything() -> tuple[SplineDatabase, Mapping[str, Flows]]:
    """A database of all histories, and the flows that count by application."""
    spline = SplineDatabase("histories")
    # Not selected, but the newest write of the database.
    spline.plan("unwanted", reads=["s3://in/a"], writes="s3://out/unwanted", at=NEWEST)
    return spline, {name: history(spline, name) for name, history in HISTORIES.items()}


def _history(history: History) -> History:
    HISTORIES[history.__name__] = history
    return history


def _target(name: str) -> str:
    return f"s3://out/{name}"


def _flow(source: str, name: str) -> tuple[str, str]:
    return (f"s3://in|{source}", f"s3://out|{name}")


def _write(spline: SplineDatabase, name: str, source: str, at: float | None, run: str, **more: object) -> str:
    given: dict[str, object] = {"reads": [f"s3://in/{source}"], "writes": _target(name), "at": at, "run": run}
    return spline.plan(name, **{**given, **more})  # type: ignore[arg-type]


@_history
def only_the_newest_run_of_a_target_counts(spline: SplineDatabase, name: str) -> Flows:
    _write(spline, name, "new", 99 * DAY, "r2")
    _write(spline, name, "old", 98 * DAY, "r1")
    return {_flow("new", name)}


@_history
def one_plan_of_several_runs_counts_once(spline: SplineDatabase, name: str) -> Flows:
    plan = _write(spline, name, "a", 97 * DAY, "r1", rows=1)
    spline.ended(plan, 98 * DAY, run="r2", rows=2)
    spline.ended(plan, 99 * DAY, run="r3", rows=3)
    return {_flow("a", name)}


@_history
def a_failed_run_leaves_what_the_good_one_before_did(spline: SplineDatabase, name: str) -> Flows:
    _write(spline, name, "good", 98 * DAY, "r1", rows=5)
    _write(spline, name, "bad", 99 * DAY, "r2", error="java.lang.OutOfMemoryError")
    return {_flow("good", name)}


@_history
def a_job_that_only_failed_did_nothing(spline: SplineDatabase, name: str) -> Flows:
    _write(spline, name, "text", 98 * DAY, "r1", error="lost")
    _write(spline, name, "empty", 98 * DAY, "r2", error="")
    _write(spline, name, "structure", 98 * DAY, "r3", error={"class": "java.lang.Error"})
    return set()


@_history
def what_is_older_than_the_lookback_is_forgotten(spline: SplineDatabase, name: str) -> Flows:
    _write(spline, name, "a", NEWEST - (LOOKBACK_DAYS + 0.01) * DAY, "r1")
    return set()


@_history
def what_is_just_as_old_as_the_lookback_counts(spline: SplineDatabase, name: str) -> Flows:
    _write(spline, name, "a", NEWEST - LOOKBACK_DAYS * DAY, "r1")
    return {_flow("a", name)}


@_history
def forty_targets_by_parameter_all_count(spline: SplineDatabase, name: str) -> Flows:
    for number in range(40):
        _write(
            spline, name, f"p{number}", 90 * DAY + number, f"r{number}", writes=_target(f"{name}/p{number}")
        )
    return {_flow(f"p{number}", f"{name}/p{number}") for number in range(40)}


@_history
def two_runs_at_once_each_write_their_own_targets(spline: SplineDatabase, name: str) -> Flows:
    for at, run, source, target in (
        (1.0, "r1", "a1", "a"),
        (1.1, "r2", "b2", "b"),
        (1.2, "r1", "c1", "c"),
        (1.3, "r2", "c2", "c"),
        (1.4, "r1", "d1", "d"),
    ):
        _write(spline, name, source, 99 * DAY + at, run, writes=_target(f"{name}/{target}"), minutes=30)
    return {_flow(source, f"{name}/{source[0]}") for source in ("a1", "b2", "c2", "d1")}


@_history
def an_aborted_run_leaves_its_writes_and_the_rest_of_the_previous_run(
    spline: SplineDatabase, name: str
) -> Flows:
    """It reported no end of the write during which it died: only its plan is there."""
    for day, run in ((97, "r1"), (98, "r2")):
        for hour, target in enumerate("ab"):
            at = None if (run, target) == ("r2", "b") else day * DAY + hour
            _write(spline, name, f"{target}{run}", at, run, writes=_target(f"{name}/{target}"))
    return {_flow("ar2", f"{name}/a"), _flow("br1", f"{name}/b")}


@_history
def a_notebook_that_lives_for_days_wrote_what_it_wrote_last(spline: SplineDatabase, name: str) -> Flows:
    for day, source in ((90, "monday"), (91, "tuesday"), (92, "wednesday")):
        _write(spline, name, source, day * DAY, "notebook")
    return {_flow("wednesday", name)}


@_history
def appends_of_a_run_count_from_its_last_overwrite_on(spline: SplineDatabase, name: str) -> Flows:
    for at, source, append in (
        (1.0, "before", True),
        (2.0, "replaced", False),
        (3.0, "retained", False),
        (4.0, "more", True),
        (5.0, "still_more", True),
    ):
        _write(spline, name, source, 99 * DAY + at, "r1", append=append)
    return {_flow(source, name) for source in ("retained", "more", "still_more")}


@_history
def appends_alone_all_count_of_the_newest_run(spline: SplineDatabase, name: str) -> Flows:
    _write(spline, name, "yesterday", 98 * DAY, "r1", append=True)
    _write(spline, name, "one", 99 * DAY, "r2", append=True)
    _write(spline, name, "two", 99 * DAY + 1, "r2", append=True)
    return {_flow(source, name) for source in ("one", "two")}


@_history
def create_table_as_select_is_reported_twice(spline: SplineDatabase, name: str) -> Flows:
    """The inner insert ends while the outer command is running; the outer one names no source here."""
    _write(spline, name, "a", 99 * DAY + 1, "r1", minutes=2, rows=7)
    _write(
        spline,
        name,
        "unused",
        99 * DAY + 1 + 1 / 60,
        "r1",
        minutes=5,
        reads=[],
        command="CreateDataSourceTableAsSelectCommand",
    )
    return {_flow("a", name)}


_REDSHIFT = "s3://aws-glue-assets-1/temporary/redshift/public.sales"


@_history
def temporary_directories_of_several_runs_are_one_table(spline: SplineDatabase, name: str) -> Flows:
    for at, run, source, generated in (
        (1, "r1", "old", "0f7d3c1e-7f9b-4f0e-9c39-5f2f1a4be611"),
        (25, "r2", "first_half", "1f7d3c1e-7f9b-4f0e-9c39-5f2f1a4be612"),
        (26, "r2", "second_half", "2f7d3c1e-7f9b-4f0e-9c39-5f2f1a4be613"),
    ):
        _write(spline, name, source, 90 * DAY + at, run, writes=f"{_REDSHIFT}/{generated}", format="csv")
    return {
        (f"s3://in|{source}", f"{WAREHOUSE}|dev.public.sales") for source in ("first_half", "second_half")
    }


@_history
def generated_directories_are_the_folder_above(spline: SplineDatabase, name: str) -> Flows:
    for at, source in ((1, "old"), (2, "new")):
        generated = f"{at}f7d3c1e-7f9b-4f0e-9c39-5f2f1a4be611"
        _write(spline, name, source, 90 * DAY + at, f"r{at}", writes=_target(f"{name}/{generated}"))
    return {_flow("new", name)}


@_history
def partitions_do_not_replace_each_other(spline: SplineDatabase, name: str) -> Flows:
    for at, source, day in ((1, "a", "01"), (2, "b", "02"), (3, "c", "02")):
        _write(spline, name, source, 99 * DAY + at, "r1", writes=_target(f"{name}/saledate=2008-01-{day}"))
    return {_flow("a", name), _flow("c", name)}


@_history
def a_plan_that_is_not_committed_is_invisible(spline: SplineDatabase, name: str) -> Flows:
    uid = spline.begin()
    _write(spline, name, "committed", 98 * DAY, "r1")
    _write(spline, name, "open", 98 * DAY, "r2", writes=_target(f"{name}/open"), transaction=uid)
    plan = _write(spline, name, "half", 98 * DAY, "r3", writes=_target(f"{name}/half"))
    spline.part("operation", f"{plan}:op-1")["_txInfo"]["uid"] = uid
    return {_flow("committed", name)}


@_history
def an_execution_that_is_not_committed_is_invisible(spline: SplineDatabase, name: str) -> Flows:
    _write(spline, name, "committed", 97 * DAY, "r1")
    plan = _write(spline, name, "later", None, "r2")
    spline.ended(plan, 98 * DAY, run="r2", transaction=spline.begin())
    # Not even for the lookback: it would hide what is as old as the lookback allows.
    spline.ended(plan, NEWEST + 5 * DAY, run="r3", transaction=spline.begin())
    return {_flow("committed", name)}


@_history
def a_plan_that_began_after_the_snapshot_is_invisible(spline: SplineDatabase, name: str) -> Flows:
    _write(spline, name, "committed", 98 * DAY, "r1")
    plan = _write(spline, name, "later", None, "r2", transaction=spline.later())
    spline.ended(plan, 99 * DAY, run="r2", transaction=spline.later())
    return {_flow("committed", name)}


@_history
def an_execution_that_began_after_the_snapshot_is_invisible(spline: SplineDatabase, name: str) -> Flows:
    _write(spline, name, "committed", 97 * DAY, "r1")
    plan = _write(spline, name, "later", None, "r2")
    spline.ended(plan, NEWEST + 5 * DAY, run="r2", transaction=spline.later())
    return {_flow("committed", name)}


@_history
def simultaneous_ends_are_distinguished_by_the_run(spline: SplineDatabase, name: str) -> Flows:
    for run in ("r2", "r3", "r1"):
        _write(spline, name, run, 99 * DAY, run)
    return {_flow("r3", name)}


@_history
def writes_of_agents_that_name_no_run_are_runs_of_their_own(spline: SplineDatabase, name: str) -> Flows:
    for hour, source in ((1, "a"), (2, "b")):
        _write(spline, name, source, 99 * DAY + hour, "", append=True)
        del spline.contents["progress"][-1]["extra"]["appId"]
    return {_flow("b", name)}


@_history
def numbers_may_be_written_with_a_point(spline: SplineDatabase, name: str) -> Flows:
    _write(spline, name, "a", 99 * DAY, "r1")
    event = spline.contents["progress"][-1]
    event["timestamp"] = float(event["timestamp"])
    event["durationNs"] = 90e9
    event["extra"]["writeMetrics"] = {"numOutputRows": 12.0}
    return {_flow("a", name)}


@_history
def a_plan_without_its_own_document_has_the_name_of_its_execution(spline: SplineDatabase, name: str) -> Flows:
    _write(spline, name, "a", 99 * DAY, "r1")
    spline.contents["executionPlan"].pop()
    return {_flow("a", name)}
