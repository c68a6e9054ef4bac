"""Selection of writes, and facts about their plans."""

from datetime import timedelta

import pytest

from lineage_merge.infra.engine.local import LocalEngine
from lineage_merge.infra.engine.rows import Engine
from lineage_merge.sources.runs import run_selection
from lineage_merge.sources.runs.events import EventRow
from lineage_merge.sources.runs.future_times import drop_future_times, future_problems
from lineage_merge.sources.runs.run_selection import PlanLabels, SelectedPlan, SelectedWrite
from lineage_merge.sources.settings import Runs
from tests.sources.runs.run_events import event

LATEST = Runs()
ALL = Runs("all")
NOW = 100


def selected(events: list[EventRow], runs: Runs = LATEST) -> set[tuple[str | None, int, int | None]]:
    """The plan, the place and the place in the newest run of each write that counts."""
    found = run_selection.select_writes(LocalEngine().rows(events), runs).collect()
    return {(each.event.plan, each.sequence, each.newest_sequence) for each in found}


def recent(events: list[EventRow], runs: Runs = LATEST, days: int = 1) -> set[str | None]:
    """The plans of recent events."""
    lookback = timedelta(milliseconds=days)
    found = run_selection.select_lookback(LocalEngine().rows(events), runs, lookback, NOW)
    return {each.plan for each in found.collect()}


# recent


def test_the_lookback_counts_from_the_newest_event_of_each_database_wanted_or_not() -> None:
    events = [
        event("a", 5),
        event("b", 6),
        event("newest", 7, wanted=False),
        event("of another database", 1, database="other"),
        EventRow("broken", problem="[]"),
        EventRow("", problem="[]"),
    ]

    assert recent(events) == {"b", "of another database"}


def test_a_time_ahead_of_the_clock_ends_no_lookback_and_orders_nothing() -> None:
    events = [event("old", 3, dataset="y"), event("a", 5), event("b", 6), event("ahead", NOW + 1)]
    of_other_target = event("alone", NOW + 900, dataset="z")

    assert recent(events) == {"a", "b", "ahead"}
    known = drop_future_times(LocalEngine().rows([*events[1:], of_other_target]), NOW).collect()
    assert {plan for plan, _, _ in selected(known)} == {"b", "alone"}


def test_writes_ahead_of_the_clock_are_counted() -> None:
    events = [event("a", 5), event("b", NOW + 2), event("c", NOW + 1), event("d", NOW + 1, wanted=False)]

    rows = LocalEngine().rows(events)
    (problem,) = future_problems(rows, NOW, "Spline", "timestamp").collect()

    assert (problem.kind, problem.document, problem.field) == ("notice", "Spline", "timestamp")
    assert problem.message == (
        "2 writes have times more than a day ahead of the clock (from 1970-01-01 00:00 UTC):"
        " counted as older than all others"
    )
    assert future_problems(rows, NOW + 2, "Spline", "timestamp").collect() == []


def test_a_configured_time_replaces_the_lookback() -> None:
    events = [event("a", 5), event("b", 6), event("c", 7, wanted=False), EventRow("", problem="[]")]

    assert recent(events, Runs("since", 6)) == {"b"}
    assert recent(events, Runs("since", 5)) == {"a", "b"}


def test_without_events_nothing_is_recent() -> None:
    assert recent([]) == set()
    assert recent([EventRow("", problem="[]")]) == set()


# labelled


def test_an_event_needs_the_labels_that_it_lacks_itself_from_its_plan(engine: Engine) -> None:
    events = [
        event("both", 1, unlabelled=["dag", "team"]),
        event("one", 2, unlabelled=["dag", "team"]),
        event("none", 3, unlabelled=["dag"]),
        event("labelled itself", 4),
        event("unwanted", 5, wanted=False),
        event(None, 6, unlabelled=["dag"]),
        event("both", 7, database="other", unlabelled=["dag"]),
        EventRow("", problem="[]"),
    ]
    plans = [
        PlanLabels("", "both", ["dag"]),
        PlanLabels("", "both", ["team", "dag"]),
        PlanLabels("", "one", ["dag"]),
        PlanLabels("", "without events", ["dag"]),
    ]

    found = run_selection.check_labels(engine.rows(events), engine.rows(plans)).collect()

    expected = [each._replace(wanted=each.plan in ("both", "labelled itself")) for each in events]
    expected[6] = events[6]._replace(wanted=False)
    expected[7] = events[7]
    assert sorted(map(repr, found)) == sorted(map(repr, expected))


# selected


def test_the_newest_run_of_each_job_and_dataset_is_selected() -> None:
    events = [
        event("old", 1, "r1"),
        event("other dataset", 1, "r1", dataset="y"),
        event("other job", 1, "r1", job="export"),
        event("other type", 1, "r1", job_type="python"),
        event("other database", 1, "r1", database="other"),
        event("new", 2, "r2"),
        event("failed", 3, "r3", failed=True),
        event("unknown", 3, "r3", failed=None),
        event(None, 4, "r4"),
    ]

    assert {plan for plan, _, _ in selected(events)} == {
        "other dataset",
        "other job",
        "other type",
        "other database",
        "new",
    }
    assert {plan for plan, _, _ in selected(events, ALL)} == {
        "old",
        "other dataset",
        "other job",
        "other type",
        "other database",
        "new",
    }


def test_of_simultaneous_runs_the_last_by_name_is_selected() -> None:
    assert {plan for plan, _, _ in selected([event("a", 1, "r1"), event("b", 1, "r2")])} == {"b"}


def test_each_statement_of_a_job_is_selected_independently() -> None:
    events = [
        event("a1", 1, "r1", statement="a"),
        event("b", 1, "r1", statement="b"),
        event("a2", 2, "r2", statement="a"),
    ]

    assert selected(events) == {("b", 2, 2), ("a2", 1, 1)}


def test_appends_are_selected_since_the_last_overwrite_of_the_same_target_began() -> None:
    def write(plan: str, at: int, minutes: int = 0, append: bool = True, target: str = "x") -> EventRow:
        return event(plan, at, duration_ms=minutes, append=append, target=target)

    events = [
        write("too early", 1),
        write("overwritten", 2, append=False),
        write("inside", 5),
        write("overwrite", 8, 4, append=False),
        write("at the same time", 8, 3, append=False),
        write("after", 9),
        write("other target", 1, target="x/part=1"),
    ]

    assert {plan for plan, _, _ in selected(events)} == {
        "inside",
        "overwrite",
        "at the same time",
        "after",
        "other target",
    }


def test_without_an_overwrite_all_appends_of_the_newest_run_are_selected() -> None:
    events = [event("old", 1, "r0", append=True)]
    events += [event(f"p{at}", at, append=True, duration_ms=None) for at in (2, 3, 4)]

    assert {plan for plan, _, _ in selected(events)} == {"p2", "p3", "p4"}


def test_an_overwrite_of_which_the_duration_is_unknown_began_when_it_ended() -> None:
    events = [event("a", 1, append=True), event("b", 2, duration_ms=None), event("c", 2, append=True)]

    assert {plan for plan, _, _ in selected(events)} == {"b", "c"}


def test_writes_are_numbered_in_their_run_a_repeated_document_once() -> None:
    events = [
        event("c", 3, dataset="c"),
        event("a", 1, dataset="a"),
        event("a", 1, dataset="a"),
        event("failed", 2, dataset="d", failed=True),
        event("b2", 2, dataset="b", key="2"),
        event("b1", 2, dataset="e", key="1"),
        event("other run", 9, "r2", dataset="f"),
        event("other database", 1, dataset="g", database="other"),
    ]

    # r2 is the newest run of the job.
    assert selected(events) == {
        ("a", 1, None),
        ("b1", 2, None),
        ("b2", 3, None),
        ("c", 4, None),
        ("other run", 1, 1),
        ("other database", 1, None),
    }


def test_the_newest_run_of_a_job_is_in_one_database() -> None:
    events = [event("a", 1), event("b", 1, database="other"), event("c", 0, dataset="y", database="other")]

    assert selected(events) == {("a", 1, None), ("b", 2, 2), ("c", 1, 1)}


# by_plan


def test_a_plan_that_several_runs_share_appears_once(engine: Engine) -> None:
    found = [
        SelectedWrite(event("a", 1, application="load-1"), 3, None),
        SelectedWrite(event("a", 2, application="load-2"), 2, 2),
        SelectedWrite(event("a", 2, application="load-2"), 4, 4),
        SelectedWrite(event("a", 3, database="other"), 5, None),
        SelectedWrite(event("b", 3), 6, None),
    ]

    assert dict(run_selection.group_by_plan(engine.rows(found)).collect()) == {
        ("", "a"): SelectedPlan("load-2", 2, 2),
        ("other", "a"): SelectedPlan("load", 5, None),
        ("", "b"): SelectedPlan("load", 6, None),
    }


@pytest.mark.parametrize("runs", [LATEST, ALL, Runs("since", 4)])
def test_both_engines_select_the_same_writes(engine: Engine, runs: Runs) -> None:
    events = [
        event(f"p{at}", at, f"r{at // 4}", dataset=f"d{at % 3}", append=at % 5 == 0, failed=at % 7 == 0)
        for at in range(40)
    ]
    lookback = timedelta(milliseconds=30)

    def chosen(each: Engine) -> list[SelectedWrite]:
        return sorted(
            run_selection.select_writes(
                run_selection.select_lookback(each.rows(events), runs, lookback, NOW), runs
            ).collect()
        )

    assert chosen(engine) == chosen(LocalEngine())
    assert chosen(engine)
