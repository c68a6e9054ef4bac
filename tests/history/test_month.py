"""A month of two DAGs that the pipeline merged (`month`): answers of the history, written by hand."""

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from lineage_merge.history.layout import DagScope
from lineage_merge.history.merge_record import MergeRecord
from lineage_merge.history.moments import parse_moment
from lineage_merge.history.timeline import merges_of
from lineage_merge.infra.embedded import EmbeddedServer
from lineage_merge.load.gremlin.connection import Endpoint
from lineage_merge.questions.backends.gremlin import open_gremlin
from lineage_merge.questions.graph import LineageGraph
from lineage_merge.questions.past import as_of
from tests.command_line import in_process
from tests.history.month import Month, at
from tests.history.test_recording import LABELS, texts

pytestmark = pytest.mark.jvm


@dataclass
class Played:
    """The history of the month, and the graph after each merge."""

    location: str
    graphs: list[tuple[MergeRecord, set[str]]] = field(default_factory=list)
    last: set[str] = field(default_factory=set)


@pytest.fixture(scope="module")
def month(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Played]:
    with EmbeddedServer(None) as server:
        month = Month(server.url, tmp_path_factory.mktemp("month"))
        played = Played(month.location)

        def graph() -> set[str]:
            with open_gremlin(Endpoint(server.url)) as opened:
                return texts(opened.everything("dev", labels=LABELS))

        def after_merge(_: DagScope, record: MergeRecord | None) -> None:
            assert record
            played.graphs.append((record, graph()))

        month.after_merge = after_merge
        month.play()
        played.last = graph()
        yield played


def picture(month: Played, moment: str) -> LineageGraph:
    return as_of(month.location, parse_moment(moment), "dev").graph


def short(identifier: str) -> str:
    """``lake/orders`` for a file, ``mart.stg`` for a table of the warehouse."""
    _, namespace, name = identifier.split("|")[:3]
    return f"{namespace.removeprefix('s3://')}/{name}" if "s3" in namespace else name.removeprefix("wh.")


def feeds(graph: LineageGraph) -> set[tuple[str, str]]:
    return {(short(start), short(end)) for start, end in graph.pairs(["feeds"])}


def columns(graph: LineageGraph) -> dict[str, str]:
    """The columns of lake/orders, with types."""
    found = graph.search("", ["column"])
    return {
        each.name: each.properties["data_type"]
        for each in found
        if each.id.startswith("dev|s3://lake|orders|")
    }


def label(graph: LineageGraph) -> str:
    """The label of stg; "" if it does not exist."""
    return "".join(each.label for each in graph.vertices(["dev|redshift://wh:5439|wh.mart.stg"]))


INGEST = {("raw/orders", "lake/orders"), ("raw/orders", "lake/ref"), ("raw/orders", "lake/rejects")}
MARTS = {("lake/orders", "mart.stg"), ("mart.stg", "mart.mart")}
READS_REF = ("raw.ref", "mart.mart")
SCORED = {("raw/orders", "lake/orders"), ("raw/orders", "lake/ref"), ("lake/orders", "lake/scores")}
MOVED = SCORED - {("raw/orders", "lake/ref")} | {("raw/orders", "raw.ref")}
AUDIT, PRICES = ("mart.stg", "mart.audit"), ("raw/prices", "lake/orders")
LAST = MOVED | MARTS | {READS_REF, PRICES, ("raw/returns", "lake/orders"), ("mart.mart", "mart.report")}
INTS, BIGINT = {"id": "int", "amount": "int"}, {"id": "int", "amount": "bigint"}
NOTE, COMMENT = {"note": "varchar"}, {"comment": "varchar"}


@pytest.mark.parametrize(
    ("moment", "expected_feeds", "orders", "stg"),
    [
        ("2026-01-01T04:30", INGEST, {}, ""),
        ("2026-01-01", INGEST | MARTS, INTS, "view"),
        ("2026-01-05T04:59", INGEST | MARTS, INTS, "view"),
        ("2026-01-05", INGEST | MARTS, INTS | NOTE, "view"),
        ("2026-01-11", INGEST | MARTS, BIGINT | NOTE, "table"),
        ("2026-01-12", INGEST | MARTS | {READS_REF}, BIGINT | NOTE, "table"),
        ("2026-01-13", SCORED | MARTS | {READS_REF}, BIGINT | NOTE, "table"),
        ("2026-01-17T04:00", MOVED | MARTS | {READS_REF}, BIGINT | COMMENT, "table"),
        # The graph had prices on the 20th, but the process was killed.
        ("2026-01-20", MOVED | MARTS | {READS_REF, AUDIT}, BIGINT | COMMENT, "table"),
        ("2026-01-21T04:00", MOVED | MARTS | {READS_REF, AUDIT, PRICES}, BIGINT | COMMENT, "table"),
        ("2026-01-26", MOVED | MARTS | {READS_REF, PRICES}, BIGINT | COMMENT, "table"),
        ("2026-01-27T04:00", LAST, BIGINT | COMMENT, "table"),
        ("2026-03-01", LAST, BIGINT | COMMENT, "table"),
    ],
)
def test_the_lineage_of_a_moment(
    month: Played, moment: str, expected_feeds: set[tuple[str, str]], orders: dict[str, str], stg: str
) -> None:
    found = picture(month, moment)
    assert feeds(found) == expected_feeds
    assert columns(found) == orders
    assert label(found) == stg


def test_each_picture_is_the_graph_that_was_loaded(month: Played) -> None:
    assert len(month.graphs) == 28  # all but the two at once
    for record, graph in month.graphs:
        assert texts(picture(month, record.id).everything("dev", labels=LABELS)) == graph, str(record.name)
    assert texts(picture(month, "2026-03-01").everything("dev", labels=LABELS)) == month.last


def test_what_is_stored_of_each_merge(month: Played) -> None:
    kinds: dict[str, dict[int, str]] = {"ingest": {}, "marts": {}}
    for each in merges_of(month.location):
        day = (each.record.name.time - int(at(1, 0).timestamp() * 1000)) // 86_400_000 + 1
        kinds[each.scope.dag_name][day] = each.record.kind
    changed = {"ingest": {1, 13, 17, 21, 27}, "marts": {1, 5, 7, 9, 12, 14, 18, 22, 24, 27}}
    assert {dag: {day for day, kind in found.items() if kind == "full"} for dag, found in kinds.items()} == (
        changed
    )
    assert {day for day, kind in kinds["ingest"].items() if kind == "unchanged"} == {25, 26}
    assert 20 not in kinds["ingest"]
    assert [len(found) for found in kinds.values()] == [18, 12]


def test_the_status_of_a_job_that_died(month: Played) -> None:
    status = {
        day: [each.properties["status"] for each in picture(month, day).find_named("score", ["job"])]
        for day in ("2026-01-12", "2026-01-22", "2026-01-24", "2026-01-30")
    }
    assert list(status.values()) == [[], ["succeeded"], ["failed"], ["failed"]]


def test_elements_were_first_seen_by_the_merge_that_created_them(month: Played) -> None:
    graph = picture(month, "2026-03-01")
    found = {
        each.name: each.properties["first_seen"]
        for each in graph.vertices(
            [
                "dev|s3://lake|orders",
                "dev|s3://lake|orders|comment",
                "dev|s3://lake|scores",
                "dev|redshift://wh:5439|wh.mart.report",
            ]
        )
    }
    moments = {"orders": at(1, 4), "comment": at(14, 5), "scores": at(13, 4), "report": at(27, 4)}
    assert found == {name: int(time.timestamp() * 1000) for name, time in moments.items()}


def asked(month: Played, *arguments: str) -> Any:
    outcome = in_process(*arguments, "--history", month.location, "--environment", "dev", "--json")
    assert outcome.code == 0, outcome
    return json.loads(outcome.out)


def events(month: Played, name: str) -> list[tuple[str, ...]]:
    """Day, DAG, what happened, and the value; oldest first."""
    return [
        (
            each["time"][8:10],
            each["dag"],
            " ".join(filter(None, (each["event"], each.get("what"), each.get("name")))),
            " > ".join(filter(None, (each.get("before"), each.get("after")))),
        )
        for each in reversed(asked(month, "history", name)["events"])
    ]


def test_history_of_a_dataset_of_both_dags(month: Played) -> None:
    assert events(month, "s3://lake/orders") == [
        ("01", "ingest", "appeared", "file, 1 job, 1 upstream"),
        ("01", "marts", "changed aliases", "redshift://wh:5439|wh.raw.orders (dbt-location)"),
        ("01", "marts", "added column amount", "int"),
        ("01", "marts", "added column id", "int"),
        ("01", "marts", "added downstream wh.mart.stg", "model.marts.stg"),
        ("01", "marts", "changed label", "file > table"),
        ("01", "marts", "changed location", "s3://lake/orders"),
        ("01", "marts", "changed qualified_name", "orders > wh.raw.orders"),
        ("05", "marts", "added column note", "varchar"),
        ("09", "marts", "changed column amount", "int > bigint"),
        ("13", "ingest", "added downstream s3://lake/scores", "score"),
        ("14", "marts", "added column comment", "varchar"),
        ("14", "marts", "dropped column note", "varchar"),
        ("21", "ingest", "added upstream s3://raw/prices", "load"),
        ("27", "ingest", "added upstream s3://raw/returns", "load"),
    ]


def test_history_of_a_view_that_became_a_table(month: Played) -> None:
    assert events(month, "wh.mart.stg") == [
        ("01", "marts", "appeared", "view, 2 columns, 1 downstream, 1 job, 1 upstream"),
        ("07", "marts", "changed label", "view > table"),
        ("07", "marts", "changed materialization", "view > table"),
        ("18", "marts", "added downstream wh.mart.audit", "model.marts.audit"),
        ("24", "marts", "dropped downstream wh.mart.audit", "model.marts.audit"),
    ]


def test_history_of_columns(month: Played) -> None:
    assert events(month, "wh.mart.mart#total") == [
        ("01", "marts", "appeared", "1 source"),
        (
            "14",
            "marts",
            "changed source wh.mart.stg#amount",
            "AGGREGATION sum(amount) > AGGREGATION sum(amount) / 100",
        ),
        ("27", "marts", "added target wh.mart.report#total", "IDENTITY"),
    ]
    assert events(month, "s3://lake/orders#note") == [
        ("05", "marts", "appeared", ""),
        ("14", "marts", "removed", ""),
    ]


def test_history_of_what_the_lineage_no_longer_has(month: Played) -> None:
    assert events(month, "wh.mart.audit") == [
        ("18", "marts", "appeared", "table, 1 column, 1 job, 1 upstream"),
        ("24", "marts", "removed", ""),
    ]
    assert events(month, "s3://lake/rejects") == [
        ("01", "ingest", "appeared", "file, 1 job, 1 upstream"),
        ("13", "ingest", "removed", ""),
    ]


def test_history_of_a_job_that_died(month: Played) -> None:
    assert events(month, "score") == [("13", "ingest", "appeared", "1 reads, 1 writes")]


def test_history_of_a_dataset_into_which_another_was_moved(month: Played) -> None:
    """The file of ingest was a dataset of its own before: its changes are not those of the table."""
    assert events(month, "wh.raw.ref") == [
        ("01", "marts", "appeared", "table, 1 column"),
        ("12", "marts", "added downstream wh.mart.mart", "model.marts.mart"),
        ("17", "ingest", "changed aliases", "s3://lake|ref (ref)"),
        ("17", "ingest", "added job load", ""),
        ("17", "ingest", "added upstream s3://raw/orders", "load"),
    ]


ORDERS_READ = "changed feed s3://raw/orders -> s3://lake/orders"  # its plan joins from the 20th on


@pytest.mark.parametrize(
    ("start", "end", "expected"),
    [
        ("01", "04", set()),
        ("04", "05", {"added column s3://lake/orders#note"}),
        ("05", "08", {"changed dataset wh.mart.stg"}),
        ("08", "09", {"changed column s3://lake/orders#amount"}),
        ("11", "12", {"added feed wh.raw.ref -> wh.mart.mart"}),
        (
            "12",
            "13",
            {
                "added dataset s3://lake/scores",
                "added job score",
                "added feed s3://lake/orders -> s3://lake/scores",
                "removed dataset s3://lake/rejects",
                "removed feed s3://raw/orders -> s3://lake/rejects",
            },
        ),
        (
            "13",
            "16",
            {
                "added column s3://lake/orders#comment",
                "removed column s3://lake/orders#note",
                "changed expression wh.mart.stg#amount -> wh.mart.mart#total",
            },
        ),
        (
            "16",
            "17",
            {
                "removed dataset s3://lake/ref",
                "removed feed s3://raw/orders -> s3://lake/ref",
                "added feed s3://raw/orders -> wh.raw.ref",
                "changed dataset wh.raw.ref",
            },
        ),
        (
            "19",
            "22",
            {
                "added dataset s3://raw/prices",
                "added feed s3://raw/prices -> s3://lake/orders",
                ORDERS_READ,
                "changed dataset wh.mart.mart",
            },
        ),
        (
            "22",
            "30",
            {
                "added dataset s3://raw/returns",
                "added feed s3://raw/returns -> s3://lake/orders",
                "added dataset wh.mart.report",
                "added job model.marts.report",
                "added feed wh.mart.mart -> wh.mart.report",
                "removed dataset wh.mart.audit",
                "removed job model.marts.audit",
                "removed feed wh.mart.stg -> wh.mart.audit",
            },
        ),
    ],
)
def test_the_changes_between_two_days(month: Played, start: str, end: str, expected: set[str]) -> None:
    found = asked(month, "diff", "--from", f"2026-01-{start}", "--to", f"2026-01-{end}")["changes"]
    assert {f"{each['action']} {each['kind']} {each['title']}" for each in found} == expected


def test_what_changed_upstream_of_a_mart(month: Played) -> None:
    scope = ("--from", "2026-01-19", "--to", "2026-01-30", "--upstream-of", "wh.mart.mart")
    found = asked(month, "diff", *scope)["changes"]
    assert {f"{each['action']} {each['kind']} {each['title']}" for each in found} == {
        "added dataset s3://raw/prices",
        "added dataset s3://raw/returns",
        "added feed s3://raw/prices -> s3://lake/orders",
        "added feed s3://raw/returns -> s3://lake/orders",
        ORDERS_READ,
        "changed dataset wh.mart.mart",
    }


def test_the_killed_load_left_files_that_do_not_count(month: Played) -> None:
    found = {
        kind: [*Path(month.location, kind).rglob("*20260120*")]
        for kind in ("nodes", "edges", "runs", "merges")
    }
    assert {kind for kind, files in found.items() if files} == {"nodes", "edges"}
