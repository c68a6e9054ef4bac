"""Tests of a dataset or column and of everything upstream, with their newest results."""

from lineage_merge.questions.traversal.checks import Check, Checks, all_checks, checks_upstream
from tests.lineage_made import at, col
from tests.runs_made import MadeRuns, short, vertex

Row = tuple[str, str, str, str, int | None]


def rows(checks: tuple[Check, ...]) -> set[Row]:
    """Return test, dataset, column, status and distance."""
    return {
        (each.assertion.name, short(each.dataset), each.column, each.status, each.distance) for each in checks
    }


def made() -> MadeRuns:
    """A chain with tests of datasets and of columns, and one aside."""
    found = MadeRuns().chain("raw > a > b", 10, 20).flow("b > report!").chain("aside > c", 30)
    found.columns("raw.x > a.x", job="to_a").columns("a.x > b.x", job="to_b")
    found.columns("raw.y > a.y", job="to_a").columns("a.y > b.y", job="to_b")
    found.check("unique_raw_x", "raw.x", "passed", 50, failures=0)
    found.check("unique_b_x", "b.x", "failed", 50, failures=7)
    found.check("unique_b_y", "b.y", "warned", 50, failures=1)
    found.check("rows_of_b", "b", "error", 50)
    found.check("never", "raw", column_name="x + y")
    return found.check("elsewhere", "aside", "failed", 50)


RAW = {("unique_raw_x", "raw", "x", "passed"), ("never", "raw", "x + y", "")}
B = {
    ("unique_b_x", "b", "x", "failed"),
    ("unique_b_y", "b", "y", "warned"),
    ("rows_of_b", "b", "", "error"),
}


def of(name: str, depth: int | None = None) -> Checks:
    graph = made().graph()
    return checks_upstream(graph, vertex(graph, at(name)), depth=depth)


def test_tests_of_a_dataset_and_its_upstream_have_their_distances() -> None:
    found = of("b")
    assert rows(found.checks) == {(*row, 2) for row in RAW} | {(*row, 0) for row in B}
    assert [short(each.id) for each in found.unchecked] == ["a"]
    # In order of distance, then of severity.
    assert [each.assertion.name for each in found.checks][:3] == ["unique_b_x", "rows_of_b", "unique_b_y"]


def test_tests_within_a_depth() -> None:
    found = of("b", depth=1)
    assert rows(found.checks) == {(*row, 0) for row in B}
    assert [short(each.id) for each in found.unchecked] == ["a"]


def test_an_exposure_is_no_dataset_without_tests() -> None:
    found = of("report!")
    assert rows(found.checks) == {(*row, 3) for row in RAW} | {(*row, 1) for row in B}
    assert [short(each.id) for each in found.unchecked] == ["a"]


def test_tests_of_a_column_are_those_of_its_upstream_columns_and_of_whole_datasets() -> None:
    graph = made().graph()
    found = checks_upstream(graph, vertex(graph, col("b", "y")))
    assert rows(found.checks) == {
        ("unique_b_y", "b", "y", "warned", 0),
        ("rows_of_b", "b", "", "error", 0),
        ("never", "raw", "x + y", "", 2),
    }


def test_failed_tests_are_failed_warned_or_could_not_run() -> None:
    assert {each.assertion.name for each in of("b").list_failed()} == {
        "unique_b_x",
        "unique_b_y",
        "rows_of_b",
    }


def test_without_a_name_all_tests_are_listed() -> None:
    graph = made().graph()
    expected = {(*row, None) for row in RAW | B} | {("elsewhere", "aside", "", "failed", None)}
    assert rows(all_checks(graph, "dev").checks) == rows(all_checks(graph, "dev", "daily").checks) == expected
    assert all_checks(graph, "dev", "nightly").checks == all_checks(graph, "prod").checks == ()


def test_a_test_of_two_datasets_is_listed_at_both() -> None:
    found = made().check("rows_of_b", "a", "error", 50)
    graph = found.graph()
    checks = checks_upstream(graph, vertex(graph, at("b"))).checks
    assert {row for row in rows(checks) if row[0] == "rows_of_b"} == {
        ("rows_of_b", "b", "", "error", 0),
        ("rows_of_b", "a", "", "error", 1),
    }
