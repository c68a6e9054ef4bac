"""Usage by statements of a query log: counts, what is unused and what is unknown, on all backends."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from gremlin_python.process.graph_traversal import GraphTraversalSource

from lineage_merge.graph_format.elements import Vertex
from lineage_merge.load.gremlin.connection import Endpoint, open_client
from lineage_merge.model.elements import FIELD
from lineage_merge.model.errors import NotFound, QueryError
from lineage_merge.model.times import utc_date
from lineage_merge.query import Lineage
from lineage_merge.questions.graph import LineageGraph
from lineage_merge.questions.listing import VerticesResult
from lineage_merge.questions.traversal.usage import Usage
from lineage_merge.questions.usage import UsageResult
from tests.command_line import in_process
from tests.gremlin_text import answers_in_the_grammar
from tests.lineage_made import BACKENDS, MadeLineage, at, col
from tests.questions_page import FOUND
from tests.sample_graph import plain

DAY = 24 * 3_600_000
# 2026-11-26.
UNTIL = 20_783 * DAY
SHORT = "redshift://new:5439"
FIX = "Fix: set query_log[].lookback to 28d, with a log that is as long"


def days_ago(number: int) -> int:
    return UNTIL - number * DAY


def made() -> MadeLineage:
    """A warehouse that is observed for 200 days, one for 12 days, and files, which nothing observes.

    ::

        s3 raw/in -> orders -> daily (view) -> top (view), orders -> mart -> report!, old, stale, busy, shown
        new: fresh, new_read
    """
    lineage = MadeLineage().observed(days_ago(200), UNTIL).observed(days_ago(12), UNTIL, SHORT)
    lineage.observed(days_ago(200), UNTIL, environment="prod")
    lineage.dataset("s3://raw|in", "daily", label="file")
    for view in ("seen", "top"):
        lineage.dataset(view, "daily", label="view")
    lineage.flow("s3://raw|in > orders > mart > report!").flow("orders > seen > top", job="views")
    for target in ("old", "stale", "busy", "shown", f"{SHORT}|fresh", f"{SHORT}|new_read"):
        lineage.flow(f"s3://raw|in > {target}", job="other")
    lineage.flow("shown > shown_view", job="views").nodes[at("shown_view")]["label"] = "view"
    lineage.flow("old > old", job="compaction")
    lineage.columns("s3://raw|in.id > orders.id").columns("s3://raw|in.day > orders.day")
    lineage.columns("orders.id > seen.key", job="views").columns("seen.key > top.key", job="views")
    lineage.columns("orders.day > seen", job="views").columns("s3://raw|in.note > orders.note")
    lineage.columns("orders.id > mart.id").columns("s3://raw|in.at > orders.at/zone")
    lineage.read(at("orders"), 1204, days_ago(6), "etl", "bi").read(at("old"), 3, days_ago(150))
    lineage.read(at("stale"), 9, days_ago(300)).read(at("busy"), 40, days_ago(0))
    lineage.read(at("shown_view"), 7, days_ago(5)).read(at(f"{SHORT}|new_read"), 2, days_ago(3))
    lineage.read(at("top"), 5, days_ago(2)).read(col("top", "key"), 5, days_ago(2))
    lineage.read(col("orders", "at"), 4, days_ago(90)).read(col("orders", "id"), 2, days_ago(120))
    lineage.dataset("orders", "daily", "prod")
    return lineage


@pytest.fixture(params=BACKENDS)
def graph(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[LineageGraph]:
    yield from made().opened(request, tmp_path)


@pytest.fixture
def lineage(graph: LineageGraph) -> Lineage:
    return Lineage.of_graph(graph, environment="dev")


def rows(result: UsageResult) -> dict[str, tuple[int | None, int | None, str | None]]:
    """Reads, last read and status by id, in order."""
    found = [result.row(item) for item in result.items]
    return {row.element.id: (row.reads, row.last_read, row.status) for row in found}


def unused(result: VerticesResult | UsageResult) -> dict[str, tuple[str | None, str | None]]:
    assert isinstance(result, UsageResult)
    found = [result.row(item) for item in result.items]
    return {row.element.title: (row.status, row.reason) for row in found}


def test_the_datasets_of_observed_warehouses_are_listed_by_reads(lineage: Lineage) -> None:
    found = lineage.usage()

    assert [*rows(found).items()] == [
        (at("orders"), (1204, days_ago(2), None)),
        (at("busy"), (40, days_ago(0), None)),
        (at("shown_view"), (7, days_ago(5), None)),
        (at("top"), (5, days_ago(2), None)),
        (at("old"), (3, days_ago(150), None)),
        (at(f"{SHORT}|new_read"), (2, days_ago(3), None)),
        (at("seen"), (0, days_ago(2), None)),
        (at("shown"), (0, days_ago(5), None)),
        (at("stale"), (0, days_ago(300), None)),
        *((each, (0, None, None)) for each in sorted((at("mart"), at(f"{SHORT}|fresh")))),
    ]
    assert found.row(found.items[0]).readers == ("bi", "etl")
    assert found.counts == {}


def test_only_what_is_unused_is_listed_and_what_is_unknown_is_counted(lineage: Lineage) -> None:
    found = lineage.usage(unused_for="90d")

    assert {key: status for key, (_, _, status) in rows(found).items()} == dict.fromkeys(
        (at("old"), at("stale"), at("mart")), "unused"
    )
    assert found.counts == {"unused": 3, "unknown": 1, "used": 7}
    assert [*found.summary()] == [
        "in 90 d: 3 unused, 1 unknown, 7 used (observed for 12 d only)",
        "Fix: set query_log[].lookback to 90d, with a log that is as long",
    ]


def test_of_too_short_an_observed_time_nothing_is_said_to_be_unused() -> None:
    made_lineage = (
        MadeLineage().observed(days_ago(12), UNTIL).flow("a > b").flow("a > c").columns("a.x > b.x")
    )
    lineage = Lineage.of_graph(made_lineage.graph())

    found = lineage.usage(at("b"), unused_for="2w")
    assert found.note == "nothing is known to be unused"
    assert [*found.summary()][1:] == [
        "in 14 d: 1 unknown (observed for 12 d only)",
        "Fix: set query_log[].lookback to 14d, with a log that is as long",
    ]
    assert lineage.usage(at("c"), unused_for="2w").note == "c has no columns"


def test_without_a_duration_those_that_are_not_read_are_counted(lineage: Lineage) -> None:
    # old: its last read is in the observed time; stale's is before.
    assert [*lineage.usage().summary()] == ["not read in the observed time: 3 of 11 datasets"]


def test_the_default_lookback_is_enough_for_impact() -> None:
    lineage = MadeLineage().flow("a > b").observed(days_ago(29), UNTIL)

    usage = Lineage.of_graph(lineage.graph()).impact(at("b"), with_usage=True).usage
    assert usage is not None
    assert "no statement read it since" in usage


@pytest.mark.parametrize(
    ("duration", "status"),
    [("149d", "unused"), ("150d", "used"), ("151d", "used"), ("30d", "unused")],
)
def test_a_last_read_counts_up_to_the_duration(lineage: Lineage, duration: str, status: str) -> None:
    (found,) = (each for each in lineage.usage().usages if each.element.id == at("old"))

    assert found.verdict(int(duration[:-1]) * DAY).status == status


def test_the_columns_of_a_dataset_have_reads_of_their_own_through_views_and_of_fields(
    lineage: Lineage,
) -> None:
    found = lineage.usage(at("orders"), unused_for="60d")
    everything = lineage.usage(at("orders"))

    assert rows(everything) == {
        col("orders", "at"): (4, days_ago(90), None),
        col("orders", "id"): (2, days_ago(2), None),
        col("orders", "day"): (0, days_ago(2), None),
        col("orders", f"at{FIELD}zone"): (0, days_ago(90), None),
        col("orders", "note"): (0, None, None),
    }
    through = {each.element.name: each.read_through for each in everything.usages}
    assert {name: each.id for name, each in through.items() if each} == {
        "id": col("top", "key"),
        "day": at("top"),
        "zone": col("orders", "at"),
    }
    assert [*everything.summary()] == [
        f"orders: read 1,204 times, last on {utc_date(days_ago(2))} through top"
    ]
    assert {each.element.name for each in found.usages} == {"at", "zone", "note"}


def test_a_column_has_its_own_usage(lineage: Lineage) -> None:
    assert rows(lineage.usage(col("orders", "note"))) == {col("orders", "note"): (0, None, None)}
    assert rows(lineage.usage(col("orders", "note"), unused_for="90d")) == {
        col("orders", "note"): (0, None, "unused")
    }
    assert lineage.usage(col("orders", "id"), unused_for="90d").note == "nothing is unused"


def test_what_no_query_log_covers_is_unknown(lineage: Lineage) -> None:
    for found in (lineage.usage(at("s3://raw|in")), lineage.usage(at("s3://raw|in"), unused_for="1d")):
        assert found.note == "usage is unknown: no query log covers it. Fix: merge the source query_log"
    assert [*lineage.usage(at("s3://raw|in")).summary()] == ["s3://raw/in: not observed"]
    assert {reads for reads, _, _ in rows(lineage.usage(at("s3://raw|in"))).values()} == {None}


def test_each_environment_has_its_own_usage(graph: LineageGraph) -> None:
    assert rows(Lineage.of_graph(graph, environment="prod").usage()) == {
        at("orders", "prod"): (0, None, None)
    }
    assert at("orders", "prod") in rows(Lineage.of_graph(graph).usage())


def test_without_a_query_log_nothing_is_said_to_be_unused() -> None:
    graph = MadeLineage().flow("a > b").graph()
    lineage = Lineage.of_graph(graph)

    assert lineage.usage().note == "usage is unknown: no query log covers it. Fix: merge the source query_log"
    assert lineage.usage(unused_for="1d").items == ()
    assert unused(lineage.no_consumer(unused_for="1d")) == {"b": ("unknown", "not observed")}
    with pytest.raises(NotFound):
        Lineage.of_graph(graph, environment="nowhere").usage()


def test_datasets_without_a_consumer_are_unused_or_unknown(lineage: Lineage) -> None:
    found = lineage.no_consumer(unused_for="90d")

    assert unused(found) == {
        "old": ("unused", f"read 3 times, last on {utc_date(days_ago(150))}"),
        "stale": ("unused", f"not read since {utc_date(days_ago(200))} (observed)"),
        "fresh": ("unknown", "observed for 12 d only"),
    }
    assert [*unused(found)] == ["old", "stale", "fresh"]
    assert isinstance(lineage.no_consumer(), VerticesResult)
    with pytest.raises(QueryError, match="unused_for: expected minutes"):
        lineage.no_consumer(unused_for="soon")


@pytest.mark.parametrize(
    ("name", "usage"),
    [
        (
            col("orders", "note"),
            (
                f"Nothing depends on it and no statement read it since {utc_date(days_ago(200))} "
                f"(observed until {utc_date(UNTIL)})"
            ),
        ),
        (
            col("orders", "id"),
            (
                f"3 datasets, 1 exposure, 2 jobs, 3 columns depend on it; it was read 2 times, last on "
                f"{utc_date(days_ago(2))} through top#key"
            ),
        ),
        (at("busy"), f"Nothing depends on it, but it was read 40 times, last on {utc_date(UNTIL)}"),
        (
            at(f"{SHORT}|fresh"),
            f"Nothing depends on it; its usage is unknown: observed for 12 d only ({FIX})",
        ),
        (
            at("shown"),
            f"1 dataset, 1 job depend on it; it was read through shown_view, last on {utc_date(days_ago(5))}",
        ),
    ],
)
def test_impact_answers_whether_an_element_can_be_dropped(lineage: Lineage, name: str, usage: str) -> None:
    assert lineage.impact(name, with_usage=True).usage == usage


def test_affected_rows_have_usage_only_if_it_is_asked_for(lineage: Lineage) -> None:
    found = lineage.impact(at("orders"), with_usage=True)
    shown = {row["id"]: (row.get("reads"), row.get("last_read")) for row in found.to_dict()["affected"]}

    assert shown[at("top")] == (5, days_ago(2))
    assert shown[at("mart")] == (0, None)
    assert shown[at("seen")] == (0, days_ago(2))
    assert shown[col("top", "key")] == (5, days_ago(2))
    without = lineage.impact(at("orders")).to_dict()
    assert "usage" not in without
    assert not any("reads" in row or "last_read" in row for row in without["affected"])


def test_a_scope_of_one_dag_is_said(graph: LineageGraph) -> None:
    found = Lineage.of_graph(graph, dag="daily").impact(at("busy"), with_usage=True)

    assert str(found.usage).endswith("(only the lineage of the DAG daily was followed)")


def test_a_job_has_no_usage_itself(lineage: Lineage) -> None:
    found = lineage.impact("compaction", with_usage=True)

    assert found.usage is None
    assert found.usages[at("old")].reads == 3


def test_longer_than_since_1970_is_unknown() -> None:
    assert Usage(Vertex("dev|n|t", "table"), 0, None, (), days_ago(10), UNTIL).verdict(UNTIL + DAY) == (
        "unknown",
        "observed for 10 d only",
    )


@pytest.mark.parametrize("observed", [(None, None), (days_ago(100), UNTIL)])
def test_a_count_before_the_observed_time_is_none(observed: tuple[int | None, int | None]) -> None:
    usage = Usage(Vertex("dev|n|t", "table"), 9, days_ago(300), (), *observed)

    assert usage.reads == (None if observed[0] is None else 0)
    assert usage.last_read == days_ago(300)


def test_the_command_prints_the_answer(tmp_path: Path) -> None:
    folder = made().folder(tmp_path / "lineage")

    table = in_process("usage", "orders", "--environment", "dev", "--folder", folder)
    answer = in_process("usage", "--unused-for", "90d", "--environment", "dev", "--folder", folder, "--json")
    wrong = in_process("usage", "--unused-for", "often", "--folder", folder)
    dropped = in_process("impact", "busy", "--with-usage", "--environment", "dev", "--folder", folder)

    assert "orders#note" in table.out
    assert json.loads(answer.out)["counts"] == {"unused": 3, "unknown": 1, "used": 7}
    assert json.loads(answer.out)["unused_for_ms"] == 90 * DAY
    assert (wrong.code, "unused" in wrong.err) == (2, True)
    assert "Nothing depends on it, but it was read 40 times" in dropped.out


@pytest.mark.jvm
def test_the_query_of_the_documentation_finds_what_the_command_finds(
    gremlin_url: str, gremlin: GraphTraversalSource
) -> None:
    made().load(gremlin_url)
    with open_client(Endpoint(gremlin_url), 1) as client:
        found = plain(answers_in_the_grammar(client, FOUND["25"].gremlin))

    assert isinstance(found, list)
    assert [(row["of"], row["column"]) for row in found] == [
        *(("mart", "id"), ("orders", "day"), ("orders", "note"), ("seen", "key")),
    ]
