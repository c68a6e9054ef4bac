"""Freshness of datasets in small graphs: last updates, and which upstream dataset makes which one stale."""

from typing import Any

from lineage_merge.config import Policy
from lineage_merge.config.policies import UpdateRule
from lineage_merge.graph_format.schema import DATASET_LABELS
from lineage_merge.questions.traversal.last_updates import last_updates
from lineage_merge.questions.traversal.staleness import Expectations, Freshness, freshness
from tests.lineage_made import at, col
from tests.runs_made import HOUR, MadeRuns, short, vertex

NOW = 100 * HOUR

Row = tuple[str, str, tuple[str, ...], str]


def rows(found: list[Freshness]) -> set[Row]:
    """Return dataset, status, reasons, and ``distance dataset`` of the nearest upstream cause."""
    return {
        (
            short(each.dataset.id),
            each.status,
            each.reasons,
            f"{each.because_of.distance} {short(each.because_of.dataset)}" if each.because_of else "",
        )
        for each in found
    }


def ask(made: MadeRuns, hours: int | None = None, **options: Any) -> set[Row]:
    limit = None if hours is None else hours * HOUR
    return rows(freshness(made.graph(), Expectations(NOW, limit), **options))


def test_a_chain_that_ran_in_order_is_as_new_as_its_inputs_and_its_source_unknown() -> None:
    made = MadeRuns().chain("raw > a > b > c", 10, 20, 30)
    assert ask(made) == {
        ("raw", "unknown", ("no_known_update",), ""),
        ("a", "current", (), ""),
        ("b", "current", (), ""),
        ("c", "current", (), ""),
    }


def test_datasets_are_in_order_of_their_last_update_and_unknown_ones_last() -> None:
    made = MadeRuns().chain("raw > c > a > b", 30, 10, 20)
    found = freshness(made.graph(), Expectations(NOW))
    assert [(short(each.dataset.id), each.age_ms) for each in found] == [
        ("a", 90 * HOUR),
        ("b", 80 * HOUR),
        ("c", 70 * HOUR),
        ("raw", None),
    ]


def test_an_input_that_was_updated_later_makes_everything_downstream_stale() -> None:
    made = MadeRuns().chain("raw > a > b > c > d", 10, 40, 30, 50)
    assert ask(made) - {("raw", "unknown", ("no_known_update",), "")} == {
        ("a", "current", (), ""),
        ("b", "current", (), ""),
        ("c", "stale", ("newer_input",), "1 b"),
        ("d", "stale", ("stale_upstream",), "1 c"),
    }


def test_an_input_behind_a_stale_one_makes_no_difference() -> None:
    # b has not seen a, and c has seen b: c is stale because of b.
    made = MadeRuns().chain("raw > a > b > c", 30, 10, 20)
    assert ask(made) - {("raw", "unknown", ("no_known_update",), "")} == {
        ("a", "current", (), ""),
        ("b", "stale", ("newer_input",), "1 a"),
        ("c", "stale", ("stale_upstream",), "1 b"),
    }


def test_an_update_at_the_same_time_is_not_newer() -> None:
    # One run of one job writes both.
    made = MadeRuns().chain("raw > a > b", 20, 20)
    assert {(name, status) for name, status, *_ in ask(made)} == {
        ("raw", "unknown"),
        ("a", "current"),
        ("b", "current"),
    }


def test_a_limit_of_age_names_the_nearest_old_dataset_upstream() -> None:
    made = MadeRuns().chain("raw > a > b > c > d", 10, 20, 90, 95).loaded("raw", 5)
    assert ask(made, 24) == {
        ("raw", "stale", ("age",), ""),
        ("a", "stale", ("age", "stale_upstream"), "1 raw"),
        ("b", "stale", ("age", "stale_upstream"), "1 a"),
        ("c", "stale", ("stale_upstream",), "1 b"),
        ("d", "stale", ("stale_upstream",), "2 b"),
    }
    assert {status for _, status, *_ in ask(made, 96)} == {"fresh"}
    assert {row[:2] for row in ask(made)} == {("raw", "fresh"), *((each, "current") for each in "abcd")}


def test_of_two_upstream_datasets_the_nearest_is_named() -> None:
    made = MadeRuns().chain("far > middle > mart", 80, 90).chain("near > mart", 90)
    made.loaded("far", 1, "failed").loaded("near", 1, "warned")
    assert {row for row in ask(made) if row[0] in ("mart", "middle")} == {
        ("middle", "stale", ("stale_upstream",), "1 far"),
        ("mart", "stale", ("stale_upstream",), "1 near"),
    }


def test_a_freshness_check_gives_the_newest_row_and_makes_fresh_or_stale() -> None:
    made = MadeRuns().loaded("good", 60).loaded("late", 40, "warned").loaded("bad", 20, "failed")
    made.loaded("broken", 30, "error").dataset("unchecked", "daily")
    made.check("freshness.never", "unchecked", assertion_type="freshness")
    assert ask(made) == {
        ("good", "fresh", (), ""),
        ("late", "stale", ("freshness_check",), ""),
        ("bad", "stale", ("freshness_check",), ""),
        ("broken", "current", (), ""),
        ("unchecked", "unknown", ("no_known_update",), ""),
    }
    ages = {short(each.dataset.id): each.age_ms for each in freshness(made.graph(), Expectations(NOW))}
    assert ages == {
        "good": 40 * HOUR,
        "late": 60 * HOUR,
        "bad": 80 * HOUR,
        "broken": 70 * HOUR,
        "unchecked": None,
    }


def test_a_newest_row_in_the_future_of_its_check_is_no_update() -> None:
    made = MadeRuns().chain("raw > a", 80).loaded("raw", 500, checked=90)
    assert ask(made) == {("raw", "unknown", ("no_known_update",), ""), ("a", "current", (), "")}


def test_of_several_freshness_checks_the_newest_counts() -> None:
    made = MadeRuns().loaded("raw", 40, "failed", checked=50)
    made.check("again", "raw", "passed", 60, assertion_type="freshness", max_loaded_at=55 * HOUR)
    assert ask(made) == {("raw", "fresh", (), "")}


def test_a_failed_newest_run_leaves_the_last_write_unknown() -> None:
    made = MadeRuns().chain("raw > a", 80).ran("to_a", 80, "failed")
    assert {row for row in ask(made) if row[0] == "a"} == {("a", "unknown", ("failed_run",), "")}
    # It was written before the failed run, so it is at least that old.
    assert {row for row in ask(made, 10) if row[0] == "a"} == {("a", "stale", ("age", "failed_run"), "")}
    # And it has not seen what was loaded after that.
    made.loaded("raw", 90)
    assert {row for row in ask(made) if row[0] == "a"} == {
        ("a", "stale", ("newer_input", "failed_run"), "1 raw")
    }
    (update,) = last_updates(made.graph(), [vertex(made.graph(), at("a"))]).values()
    assert (update.written_at, update.failed_at, update.updated_at) == (None, 80 * HOUR, None)


def test_of_several_jobs_the_newest_successful_run_counts() -> None:
    made = MadeRuns().flow("raw > a", job="first").flow("raw > a", job="second").flow("raw > a", job="third")
    made.ran("first", 10).ran("second", 20).ran("third", 15, "failed")
    (update,) = last_updates(made.graph(), [vertex(made.graph(), at("a"))]).values()
    assert (update.written_at, update.failed_at, update.not_after) == (20 * HOUR, None, 20 * HOUR)


def test_a_failed_run_after_a_successful_one_of_another_job_leaves_the_last_write_unknown() -> None:
    # `hourly` may have written a at any time before its failed run.
    made = MadeRuns().flow("raw > a", job="monthly").flow("raw > a", job="hourly", dag="other")
    made.ran("monthly", 20).ran("hourly", 95, "failed", dag="other").loaded("raw", 30)
    unknown = ("a", "unknown", ("failed_run",), "")
    assert {row for row in ask(made) if row[0] == "a"} == {unknown}
    (found,) = [each for each in freshness(made.graph(), Expectations(NOW)) if short(each.dataset.id) == "a"]
    assert (found.age_ms, found.update.updated_at, found.update.not_after) == (None, 20 * HOUR, 95 * HOUR)
    # Neither that it is older than 24 hours, nor that it has not seen what was loaded at 30, is known.
    assert ("a", "stale", ("stale_upstream", "failed_run"), "1 raw") in ask(made, 24)
    made.loaded("raw", 96)
    assert ("a", "stale", ("newer_input", "failed_run"), "1 raw") in ask(made)


def test_a_view_shows_its_inputs_and_has_no_age() -> None:
    made = MadeRuns().chain("raw > view > mart", 1, 50).loaded("raw", 60)
    made.dataset("view", "daily", label="view")
    made.nodes[at("view")]["label"] = "view"
    # The view was created long ago, and shows the newest rows; the table behind it has not seen them.
    assert ask(made, 45) == {
        ("raw", "fresh", (), ""),
        ("view", "fresh", (), ""),
        ("mart", "stale", ("age", "newer_input"), "2 raw"),
    }
    made.nodes[at("view")]["materialization"] = "materialized_view"
    assert {row for row in ask(made) if row[0] == "view"} == {("view", "stale", ("newer_input",), "1 raw")}


def test_an_exposure_is_as_fresh_as_its_inputs() -> None:
    made = MadeRuns().chain("raw > a", 50).flow("a > report!").flow("other > unknown!")
    assert {row[:2] for row in ask(made) if row[0] in ("report!", "unknown!")} == {
        ("report!", "current"),
        ("unknown!", "unknown"),
    }
    assert ("report!", "fresh", (), "") in ask(made, 60)
    assert {row for row in ask(made, 10) if row[0] in ("report!", "unknown!")} == {
        ("report!", "stale", ("stale_upstream",), "1 a"),
        ("unknown!", "unknown", ("no_known_update",), ""),
    }


def test_datasets_of_a_cycle_do_not_make_each_other_stale() -> None:
    made = MadeRuns().chain("raw > x > y", 10, 20).flow("y > x", job="to_x").flow("log > log", job="log")
    made.ran("log", 5).loaded("raw", 15)
    assert ask(made) == {
        ("raw", "fresh", (), ""),
        ("x", "stale", ("newer_input",), "1 raw"),
        ("y", "stale", ("stale_upstream",), "1 x"),
        ("log", "current", (), ""),
    }


def test_the_freshness_of_one_dataset_is_that_of_its_upstream() -> None:
    made = MadeRuns().chain("raw > a > b", 30, 10).chain("b > c", 50).chain("other > d", 60)
    graph = made.graph()
    found = freshness(graph, Expectations(NOW), vertex(graph, at("b")))
    assert rows(found) == {row for row in ask(made) if row[0] in ("raw", "a", "b")}


def test_the_freshness_of_a_column_is_that_of_the_datasets_it_is_computed_from() -> None:
    made = MadeRuns().chain("left > mart", 50).chain("right > mart", 50)
    made.columns("left.x > mart.x", job="to_mart").columns("right.y > mart.y", job="to_mart")
    made.loaded("left", 60).loaded("right", 10, "failed")
    graph = made.graph()
    assert rows(freshness(graph, Expectations(NOW), vertex(graph, col("mart", "x")))) == {
        ("left", "fresh", (), ""),
        ("mart", "stale", ("newer_input",), "1 left"),
    }
    assert rows(freshness(graph, Expectations(NOW), vertex(graph, col("mart", "y")))) == {
        ("right", "stale", ("freshness_check",), ""),
        ("mart", "stale", ("stale_upstream",), "1 right"),
    }


def test_lineage_of_a_dag_counts_the_runs_of_all_dags() -> None:
    made = MadeRuns().chain("raw > a", 30)
    made.flow("a > b", job="to_b", dag="nightly").ran("to_b", 20, dag="nightly")
    found = freshness(made.graph(), Expectations(NOW), environment="dev", dag="nightly")
    assert rows(found) == {("a", "current", (), ""), ("b", "stale", ("newer_input",), "1 a")}
    assert freshness(made.graph(), Expectations(NOW), environment="prod") == []


def test_a_test_with_a_result_is_no_freshness_check() -> None:
    made = MadeRuns().chain("raw > a", 30).check("unique", "a", "failed", 40)
    updates = last_updates(made.graph(), made.graph().search("", DATASET_LABELS))
    assert {update.check for update in updates.values()} == {None}


def test_views_behind_views_show_the_newest_of_their_inputs() -> None:
    made = MadeRuns().chain("old > inner > outer > mart", 1, 1, 50).chain("new > inner", 1)
    for view in ("inner", "outer"):
        made.nodes[at(view)]["label"] = "view"
    made.loaded("old", 40).loaded("new", 45)
    assert {row[:2] for row in ask(made)} == {
        *((each, "fresh") for each in ("old", "new", "inner", "outer")),
        ("mart", "current"),
    }
    made.loaded("new", 60, checked=101)
    made.check("freshness.again", "new", "passed", 102, assertion_type="freshness", max_loaded_at=60 * HOUR)
    assert {row for row in ask(made) if row[1] == "stale"} == {("mart", "stale", ("newer_input",), "3 new")}


def test_a_newer_input_is_found_through_a_cycle() -> None:
    # x has seen raw, y has not: it reads x, and x reads y.
    made = MadeRuns().chain("raw > x > y", 80, 60).flow("y > x", job="to_x").loaded("raw", 70)
    assert ask(made) == {
        ("raw", "fresh", (), ""),
        ("x", "stale", ("stale_upstream",), "1 y"),
        ("y", "stale", ("newer_input",), "2 raw"),
    }


def test_data_of_any_age_is_fresh_only_with_an_expectation() -> None:
    made = MadeRuns().chain("raw > a", 52)
    assert ("a", "current", (), "") in ask(made)
    assert ("a", "fresh", (), "") in ask(made, 48)
    assert ("a", "stale", ("age",), "") in ask(made, 47)


def test_a_check_that_passed_is_an_expectation_within_its_limit() -> None:
    def loaded(status: str, **limits: int) -> set[Row]:
        made = MadeRuns()
        made.dataset("raw", "daily")
        limits_ms = {key: hours * HOUR for key, hours in limits.items()}
        made.check(
            "recent", "raw", status, 61, assertion_type="freshness", max_loaded_at=60 * HOUR, **limits_ms
        )
        return ask(made)

    fresh, old = {("raw", "fresh", (), "")}, {("raw", "stale", ("age",), "")}
    assert loaded("passed") == fresh
    assert loaded("passed", warn_after_ms=40, error_after_ms=80) == fresh
    assert loaded("passed", warn_after_ms=39, error_after_ms=80) == old
    assert loaded("passed", error_after_ms=39) == old
    # Its limit is an expectation, also if the check could not run. The result names the reason once.
    assert loaded("error", error_after_ms=40) == fresh
    assert loaded("error") == {("raw", "current", (), "")}
    assert loaded("warned", warn_after_ms=12) == {("raw", "stale", ("freshness_check",), "")}


def test_all_expectations_of_a_dataset_have_to_hold() -> None:
    made = MadeRuns().chain("raw > wh.marts.a", 60).chain("raw > wh.marts.b", 60)
    made.check("recent", "wh.marts.a", "passed", 90, assertion_type="freshness", warn_after_ms=50 * HOUR)
    policies = tuple(
        Policy(name, UpdateRule(("wh.marts.*",), hours * HOUR), exceptions=but)
        for name, hours, but in (("wide", 60, ()), ("narrow", 30, ("*.b",)))
    )

    def found(limit: int | None = None) -> dict[str, tuple[str, list[tuple[str, bool]]]]:
        return {
            short(row.dataset.id): (
                row.status,
                [(each.policy or each.source, each.unmet is None) for each in row.expectations],
            )
            for row in freshness(made.graph(), Expectations(NOW, limit, policies))
            if row.update.updated_at is not None
        }

    check, wide, narrow = ("freshness_check", True), ("wide", True), ("narrow", False)
    assert found() == {"wh.marts.a": ("stale", [check, wide, narrow]), "wh.marts.b": ("fresh", [wide])}
    assert found(39 * HOUR)["wh.marts.b"] == ("stale", [("older_than", False), wide])


def test_a_view_is_fresh_if_all_of_its_inputs_are() -> None:
    made = MadeRuns().chain("checked > a", 90).chain("unchecked > b", 90).loaded("checked", 80)
    made.flow("checked > inner > outer").flow("b > mixed").flow("checked > mixed").flow("mixed > behind")
    for view in ("inner", "outer", "mixed", "behind"):
        made.nodes[at(view)]["label"] = "view"
    assert {row[:2] for row in ask(made)} == {
        ("unchecked", "unknown"),
        *((each, "fresh") for each in ("checked", "inner", "outer")),
        *((each, "current") for each in ("a", "b", "mixed", "behind")),
    }


def test_a_view_without_known_inputs_has_the_status_of_its_check() -> None:
    made = MadeRuns().loaded("shared", 90)
    made.nodes[at("shared")]["label"] = "view"
    assert ask(made) == {("shared", "fresh", (), "")}


def test_a_view_is_stale_once_its_newest_row_exceeds_the_limit_of_a_check_that_passed() -> None:
    def shared(limit: int, status: str = "passed") -> set[Row]:
        made = MadeRuns()
        made.dataset("shared", "daily")
        made.nodes[at("shared")]["label"] = "view"
        limits = {"assertion_type": "freshness", "max_loaded_at": 60 * HOUR, "warn_after_ms": limit * HOUR}
        return ask(made.check("recent", "shared", status, 61, **limits))

    assert shared(40) == shared(40, "error") == {("shared", "fresh", (), "")}
    assert shared(39) == shared(39, "error") == {("shared", "stale", ("age",), "")}
