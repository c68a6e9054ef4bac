"""Causes of late or wrong data in small graphs."""

import json
from typing import Any

import pytest

from lineage_merge.merge.report import Report
from lineage_merge.model.elements import Problem
from lineage_merge.questions.traversal.causes import RULES, Diagnosis, diagnose
from lineage_merge.questions.traversal.staleness import Expectations
from tests.lineage_made import at, col
from tests.runs_made import HOUR, MadeRuns, short, vertex

NOW = 100 * HOUR

Row = tuple[int, str, str, str]


def why(made: MadeRuns, name: str, hours: int | None = None, **options: Any) -> Diagnosis:
    graph = made.graph()
    identifier = at(name) if at(name) in made.nodes else col(*name.split("."))
    limit = None if hours is None else hours * HOUR
    return diagnose(graph, vertex(graph, identifier), Expectations(NOW, limit), **options)


def rows(found: Diagnosis) -> set[Row]:
    """Return distance, kind, dataset, and the job, test or dataset that shows it."""
    return {
        (each.distance, each.kind, short(each.dataset), each.finding.element.name) for each in found.causes
    }


def evidence(found: Diagnosis) -> list[str]:
    return [each.finding.evidence for each in found.causes]


def test_a_pipeline_that_ran_in_order_has_no_causes_and_what_was_checked_is_counted() -> None:
    made = MadeRuns().chain("raw > a > b", 70, 80).check("unique_a", "a", "passed", 90).check("never", "b")
    made.loaded("raw", 60)
    found = why(made, "b")
    assert rows(found) == set()
    assert found.counts == {
        "datasets": 3,
        "datasets_without_known_update": 0,
        "jobs": 2,
        "jobs_without_known_run": 0,
        "tests": 2,
        "freshness_checks": 1,
        "assertions_without_result": 1,
        "max_distance": 2,
    }


def test_failed_runs_upstream_and_at_the_dataset_itself() -> None:
    made = MadeRuns().chain("raw > a > b > c", 70, 80, 85).ran("to_a", 90, "failed").ran("to_c", 91, "failed")
    found = why(made, "c")
    assert rows(found) == {(0, "failed_run", "c", "to_c"), (2, "failed_run", "a", "to_a")}
    assert [each.distance for each in found.causes] == [0, 2]
    assert evidence(found)[1] == "to_a failed at 1970-01-04 18:00:00 UTC"
    first, second = found.causes
    assert first.finding.next == ("jobs", "--failed", "--search", "to_c")
    assert [short(each) for each in second.path] == ["a", "b", "c"]


def test_a_job_that_did_not_run_since_its_input_changed() -> None:
    made = MadeRuns().chain("raw > a > b > c", 80, 70, 90)
    found = why(made, "c")
    assert rows(found) == {(1, "missing_run", "b", "to_b")}
    (cause,) = found.causes
    assert (cause.finding.other, cause.finding.other_at) == (at("a"), 80 * HOUR)
    assert cause.finding.evidence == (
        "to_b last ran at 1970-01-03 22:00:00 UTC; input a was updated at 1970-01-04 08:00:00 UTC"
    )
    # Of b itself it is a late write of its input.
    assert rows(why(made, "b")) == {(1, "late_write", "a", "a")}


def test_a_job_that_was_skipped_since_its_last_run_is_a_cause_and_no_missing_run() -> None:
    made = MadeRuns().chain("raw > a > b > c", 80, 70, 90).ran("to_b", 70, skipped_at=85 * HOUR)
    found = why(made, "c")
    assert rows(found) == {(1, "skipped_run", "b", "to_b")}
    assert evidence(found) == [
        "to_b was skipped at 1970-01-04 13:00:00 UTC; its last run was at 1970-01-03 22:00:00 UTC"
    ]
    assert (found.causes[0].finding.at, found.causes[0].finding.status) == (85 * HOUR, "skipped")
    # It ran again since then.
    assert rows(why(made.ran("to_b", 86, skipped_at=85 * HOUR), "c")) == set()


def test_a_job_that_was_skipped_and_never_ran_is_a_cause() -> None:
    made = MadeRuns().chain("raw > a > b", None, 90).ran("to_a", 50, skipped_at=85 * HOUR)
    del made.nodes["dev|daily|spark|to_a"]["last_run_at"]
    assert evidence(why(made, "b")) == ["to_a was skipped at 1970-01-04 13:00:00 UTC; no run is known"]


def test_a_failed_run_is_no_missing_run() -> None:
    made = MadeRuns().chain("raw > a > b > c", 80, 70, 90).ran("to_b", 70, "failed")
    assert rows(why(made, "c")) == {(1, "failed_run", "b", "to_b")}


def test_a_job_that_did_not_run_with_the_others_of_its_dag() -> None:
    made = MadeRuns().chain("raw > a > b", 50, 90).chain("x > y > z", 89, 91)
    found = why(made, "b")
    assert rows(found) == {(1, "missing_run", "a", "to_a")}
    # Two of the other three ran at 90 or later.
    assert found.causes[0].finding.other_at == 90 * HOUR
    assert rows(why(made, "a")) == {(0, "missing_run", "a", "to_a")}
    # A single job that ran much later is none of most.
    assert rows(why(MadeRuns().chain("a > b > c > d", 50, 51, 52).ran("to_d", 90), "c")) == set()
    # Nor do jobs of other DAGs count.
    other = MadeRuns().chain("raw > a", 50)
    other.flow("x > y", job="to_y", dag="nightly").ran("to_y", 90, dag="nightly")
    assert rows(why(other, "a")) == set()


def test_late_writes_are_the_inputs_that_were_updated_after_the_dataset() -> None:
    made = MadeRuns().chain("raw > a > b", 70, 80).chain("other > b", 80).chain("third > b", 80)
    made.loaded("other", 85).loaded("third", 75)
    found = why(made, "b")
    assert rows(found) == {(1, "late_write", "other", "other")}
    assert evidence(found) == [
        "updated at 1970-01-04 13:00:00 UTC; b was last updated at 1970-01-04 08:00:00 UTC"
    ]
    failed = why(made.ran("to_b", 80, "failed"), "b")
    assert rows(failed) == {(0, "failed_run", "b", "to_b"), (1, "late_write", "other", "other")}
    assert evidence(failed)[1].endswith("b was last updated before the failed run at 1970-01-04 08:00:00 UTC")


def test_an_exposure_is_late_because_of_the_job_before_it() -> None:
    made = MadeRuns().chain("raw > a > b", 90, 80).flow("b > report!")
    assert rows(why(made, "report!")) == {(1, "missing_run", "b", "to_b")}


def test_stale_sources_are_found_by_their_checks_and_by_age() -> None:
    made = MadeRuns().chain("raw > a > b", 90, 95).chain("old > b", 95)
    made.loaded("raw", 20, "failed").loaded("old", 30)
    # A job without a known run, such as a seed of dbt.
    made.flow("file > old", job="seed")
    assert rows(why(made, "b")) == {(2, "stale_source", "raw", "freshness.raw")}
    by_age = why(made, "b", 24)
    assert rows(by_age) == {
        (1, "stale_source", "old", "old"),
        (2, "stale_source", "raw", "freshness.raw"),
    }
    assert evidence(by_age)[0] == "newest row at 1970-01-02 06:00:00 UTC, 2 d 22 h ago"


def test_with_a_limit_of_age_an_old_run_is_a_missing_one() -> None:
    made = MadeRuns().chain("raw > a > b", 40, 45)
    assert rows(why(made, "b")) == set()
    assert rows(why(made, "b", 58)) == {(1, "missing_run", "a", "to_a")}
    assert evidence(why(made, "b", 58)) == ["to_a last ran at 1970-01-02 16:00:00 UTC, 2 d 12 h ago"]


def test_failed_tests_are_listed_once_at_the_nearest_dataset() -> None:
    made = MadeRuns().chain("raw > a > b", 70, 80).columns("a.x > b.x", job="to_b")
    made.check("of_both", "a", "failed", 90, failures=1).check("of_both", "b", "failed", 90, failures=1)
    made.check("of_x", "a.x", "warned", 90, failures=1200).check("passed", "b.x", "passed", 90)
    made.check("broken", "raw", "error", 90)
    found = why(made, "b")
    assert rows(found) == {
        (0, "failed_test", "b", "of_both"),
        (1, "failed_test", "a", "of_x"),
        (2, "failed_test", "raw", "broken"),
    }
    assert evidence(found) == [
        "of_both failed at 1970-01-04 18:00:00 UTC, 1 failing row",
        "of_x warned at 1970-01-04 18:00:00 UTC, 1,200 failing rows",
        "broken error at 1970-01-04 18:00:00 UTC",
    ]
    assert found.causes[1].finding.failures == 1200


def test_causes_of_a_column_are_at_the_datasets_it_is_computed_from() -> None:
    made = MadeRuns().chain("left > mart", 80).chain("right > mart", 80)
    made.columns("left.x > mart.x", job="to_mart").columns("right.y > mart.y", job="to_mart")
    made.loaded("left", 90).loaded("right", 10, "failed")
    made.check("unique_x", "left.x", "failed", 95).check("rows", "mart", "failed", 95)
    assert rows(why(made, "mart.x")) == {
        (0, "failed_test", "mart", "rows"),
        (1, "late_write", "left", "left"),
        (1, "failed_test", "left", "unique_x"),
    }
    assert rows(why(made, "mart.y")) == {
        (0, "failed_test", "mart", "rows"),
        (1, "stale_source", "right", "freshness.right"),
    }


def test_causes_within_a_depth() -> None:
    made = MadeRuns().chain("raw > a > b > c", 70, 80, 85).ran("to_a", 90, "failed")
    made.check("rows", "b", "failed", 95)
    assert rows(why(made, "c", depth=1)) == {(1, "failed_test", "b", "rows")}


def test_a_job_whose_later_runs_did_not_report_the_dataset() -> None:
    made = MadeRuns().chain("raw > a > b", 90, 91).flow("raw > other", job="to_a")
    message = "no write since 1970-01-02 00:00:00 UTC, although a later successful run did not report it"
    problems = [
        Problem("silent", at("a"), "spark to_a", message),
        Problem("silent", at("a"), "spark another", "of no job that writes it"),
        Problem("notice", at("other"), "spark to_a", "something else"),
    ]
    report = Report({}, {}, {}, (), tuple(problems), {"silent": 2, "notice": 1})
    made.nodes["dev|daily|merge_run"] = {
        "id": "dev|daily|merge_run",
        "label": "merge_run",
        "environment": "dev",
        "dag_name": "daily",
        "name": "daily",
        "report": json.dumps(report.as_json()),
    }

    found = why(made, "b")

    assert rows(found) == {(1, "silent_write", "a", "to_a")}
    assert evidence(found) == [f"to_a: {message}"]
    assert rows(why(made, "other")) == set()


def test_causes_with_the_same_distance_are_in_the_order_of_the_rules() -> None:
    made = MadeRuns().chain("raw > a > b > c", 95, 90, 97).flow("raw > b", job="second")
    made.ran("second", 80, "failed").check("rows", "b", "failed", 95)
    made.loaded("b", 10, "failed")
    kinds = [each.kind for each in why(made, "c").causes]
    assert kinds == ["failed_run", "missing_run", "stale_source", "failed_test"]
    assert list(RULES) == [
        "failed_run",
        "skipped_run",
        "missing_run",
        "silent_write",
        "stale_source",
        "late_write",
        "failed_test",
        "recent_change",
    ]


@pytest.mark.parametrize("start", ["x", "y"])
def test_a_cycle_is_no_cause(start: str) -> None:
    made = MadeRuns().chain("raw > x > y", 80, 85).flow("y > x", job="to_x")
    assert rows(why(made, start)) == set()
