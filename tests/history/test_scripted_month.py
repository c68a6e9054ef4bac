"""A scripted month: lineage at twelve moments, the history of six elements, the changes of eight pairs."""

import csv
import json
from pathlib import Path
from typing import Any

import pytest

from lineage_merge.history.moments import parse_moment
from lineage_merge.questions.graph import LineageGraph
from lineage_merge.questions.past import as_of
from lineage_merge.questions.traversal.lineage_changes import compare_pictures
from tests.command_line import in_process
from tests.history.scripted_month import scripted_month
from tests.s3_fixtures import S3


@pytest.fixture(scope="module")
def location(tmp_path_factory: pytest.TempPathFactory) -> str:
    return scripted_month(str(tmp_path_factory.mktemp("month"))).location


def picture(location: str, moment: str) -> LineageGraph:
    return as_of(location, parse_moment(moment), "dev").graph


def feeds(graph: LineageGraph) -> str:
    """``raw>orders``, ordered."""
    names = ((start.rpartition("|")[2], end.rpartition("|")[2]) for start, end in graph.pairs(["feeds"]))
    return " ".join(sorted(f"{start}>{end}" for start, end in names))


def columns(graph: LineageGraph, of: str) -> str:
    """``amount:int``, ordered."""
    found = [each for each in graph.search("", ["column"]) if each.id.rpartition("|")[0].endswith(f"|{of}")]
    return " ".join(sorted(f"{each.name}:{each.properties['data_type']}" for each in found))


FIRST = "orders>mart raw>orders raw>ref"
RULE = "orders>mart raw>orders raw>ref ref>mart"
AUDITED = "orders>audit_log orders>mart raw>orders raw>ref ref>mart"
LAST = "orders>mart raw2>orders raw>orders raw>ref ref>mart"


@pytest.mark.parametrize(
    ("moment", "expected_feeds", "orders"),
    [
        ("2026-01-01T04:30", "raw>orders raw>ref", "amount:int id:int"),
        ("2026-01-01", FIRST, "amount:int id:int"),
        ("2026-01-05T04:00", FIRST, "amount:int id:int note:string"),
        ("2026-01-09T03:59:59", FIRST, "amount:int id:int note:string"),
        ("2026-01-11", FIRST, "amount:bigint id:int note:string"),
        ("2026-01-14", FIRST, "amount:bigint comment:string id:int"),
        ("2026-01-16T05:00", RULE, "amount:bigint comment:string id:int"),
        ("2026-01-18", AUDITED, "amount:bigint comment:string id:int"),
        ("2026-01-20", AUDITED, "amount:bigint comment:string id:int"),
        ("2026-01-24T04:00", RULE, "amount:bigint comment:string id:int"),
        ("2026-01-27T04:00", LAST, "amount:bigint comment:string id:int"),
        ("2026-03-01", LAST, "amount:bigint comment:string id:int"),
    ],
)
def test_the_lineage_of_a_moment(location: str, moment: str, expected_feeds: str, orders: str) -> None:
    found = picture(location, moment)
    assert (feeds(found), columns(found, "orders")) == (expected_feeds, orders)


def test_a_moved_dataset_has_one_vertex(location: str) -> None:
    before, after = picture(location, "2026-01-15"), picture(location, "2026-01-16")
    assert {each.id for each in before.find_named("ref", ["table"])} == {"dev|s3://lake|ref"}
    assert {each.id for each in after.find_named("ref", ["table"])} == {"dev|wh|ref"}


def asked(location: str, *arguments: str) -> Any:
    outcome = in_process(*arguments, "--history", location, "--environment", "dev", "--json")
    assert outcome.code == 0, outcome
    return json.loads(outcome.out)


def events(location: str, name: str) -> list[tuple[str, ...]]:
    """Day, DAG and what happened, oldest first."""
    found = asked(location, "history", name)["events"]
    return [
        (
            each["time"][8:10],
            each["dag"],
            " ".join(filter(None, (each["event"], each.get("what"), each.get("name")))),
            " > ".join(filter(None, (each.get("before"), each.get("after")))),
        )
        for each in reversed(found)
    ]


def test_history_of_a_job_that_was_removed(location: str) -> None:
    assert events(location, "audit") == [
        ("18", "daily", "appeared", "1 reads, 1 writes"),
        ("24", "daily", "removed", ""),
    ]


def test_history_lists_merges(location: str) -> None:
    found = asked(location, "history")["merges"]
    assert len(found) == 30
    assert [each["kind"] for each in found if each["dag"] == "marts"] == ["full"] * 6
    of_dag = asked(location, "history", "--dag", "daily", "--limit", "3")["merges"]
    assert [(each["time"][:10], each["kind"]) for each in of_dag] == [
        ("2026-01-27", "full"),
        ("2026-01-26", "unchanged"),
        ("2026-01-25", "unchanged"),
    ]


def changes(location: str, start: str, end: str, *more: str) -> set[str]:
    found = asked(location, "diff", "--from", start, "--to", end, *more)["changes"]
    return {f"{each['action']} {each['kind']} {each['title']}" for each in found}


@pytest.mark.parametrize(
    ("start", "end", "expected"),
    [
        ("2026-01-01", "2026-01-04", set()),
        ("now", "now", set()),
        ("2026-01-04", "2026-01-05", {"added column orders#note"}),
        ("2026-01-05", "2026-01-09", {"changed dataset mart", "changed column orders#amount"}),
        ("2026-01-09", "2026-01-12", {"changed expression orders#amount -> mart#total"}),
        ("2026-01-13", "2026-01-14", {"removed column orders#note", "added column orders#comment"}),
        (
            "2026-01-17",
            "2026-01-18",
            {"added dataset audit_log", "added job audit", "added feed orders -> audit_log"},
        ),
        (
            "2026-01-18",
            "2026-01-24",
            {
                "removed dataset audit_log",
                "removed job audit",
                "removed feed orders -> audit_log",
                "changed dataset mart",
            },
        ),
        ("2026-01-24", "2026-01-30", {"added dataset raw2", "added feed raw2 -> orders"}),
    ],
)
def test_the_changes_between_two_moments(location: str, start: str, end: str, expected: set[str]) -> None:
    assert changes(location, start, end) == expected
    reverse = {"added": "removed", "removed": "added", "changed": "changed"}
    mirrored = {f"{reverse[each.partition(' ')[0]]} {each.partition(' ')[2]}" for each in expected}
    before, after = (picture(location, moment) for moment in (end, start))
    assert {
        f"{each.action} {each.kind} {each.title}" for each in compare_pictures(before, after, "dev")
    } == mirrored


def test_changes_as_markdown(location: str, tmp_path: Path) -> None:
    arguments = ("--from", "2026-01-09", "--to", "2026-01-14", "--history", location, "--environment", "dev")
    outcome = in_process("diff", *arguments, "--format", "markdown")
    assert outcome.code == 0, outcome
    assert outcome.out == (
        "## Lineage changes from 2026-01-09 23:59:59 UTC to 2026-01-14 23:59:59 UTC\n"
        "\n"
        "| | added | removed | changed |\n"
        "| --- | ---: | ---: | ---: |\n"
        "| datasets | 0 | 0 | 0 |\n"
        "| jobs | 0 | 0 | 0 |\n"
        "| feeds | 0 | 0 | 0 |\n"
        "| columns | 1 | 1 | 0 |\n"
        "| column lineage | 0 | 0 | 1 |\n"
        "\n"
        "### Columns\n"
        "\n"
        "- added `orders#comment`\n"
        "- removed `orders#note`\n"
        "\n"
        "### Column lineage\n"
        "\n"
        "- changed `orders#amount -> mart#total`\n"
        "    - expression: `sum(amount)` → `sum(amount) / 100`\n"
    )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("diff --to 1d", "Missing option '--from'"),
        ("diff dev prod --from 1d", "omit --as-of and ENVIRONMENT"),
        ("diff dev", "expected two environments, or --from TIME"),
        ("diff dev prod --format markdown", "need --from"),
        ("diff --from soon", "--from: not a time: soon"),
        ("diff --from 1d --upstream-of a --downstream-of b", "mutually exclusive"),
        ("history --dry-run", "--dry-run is an option of compact"),
        ("history --folder x", "--folder has no history"),
    ],
)
def test_wrong_options(location: str, arguments: str, message: str) -> None:
    outcome = in_process(*arguments.split(), "--history", location)
    assert (outcome.code, outcome.out) == (2, "")
    assert message in outcome.err


def test_an_unknown_name_and_an_unknown_dag(location: str) -> None:
    missing = in_process("history", "nothing", "--history", location)
    assert (missing.code, missing.err) == (9, "error: not found: nothing\n")
    unknown = in_process("history", "--dag", "x", "--history", location)
    assert unknown.code == 9
    assert "no history of x" in unknown.err


@pytest.mark.parametrize(
    ("some", "none"),
    [
        (("history",), None),
        (("history", "mart"), None),
        (
            ("diff", "--from", "2026-01-01", "--to", "2026-01-09"),
            ("diff", "--from", "2026-01-02", "--to", "2026-01-03"),
        ),
    ],
)
def test_csv_has_the_same_header_for_every_answer(
    location: str, some: tuple[str, ...], none: tuple[str, ...] | None
) -> None:
    options = ("--history", location, "--environment", "dev", "--format", "csv")
    full = in_process(*some, *options)
    assert full.code == 0, full
    header, *rows = full.out.splitlines()
    assert rows
    assert header.split(",")[0] in {"time", "kind"}
    if none:
        empty = in_process(*none, *options)
        assert (empty.code, empty.out.splitlines()) == (0, [header])
        assert empty.err.startswith("no changes from 2026-01-02")


def test_history_and_changes_as_csv(location: str) -> None:
    options = ("--history", location, "--environment", "dev", "--format", "csv")
    listed = list(csv.DictReader(in_process("history", "mart", *options).out.splitlines()))
    assert [(each["time"][:10], each["event"], each["what"], each["after"]) for each in listed] == [
        ("2026-01-22", "changed", "owners", "ana"),
        ("2026-01-16", "added", "upstream", "model"),
        ("2026-01-07", "changed", "label", "table"),
        ("2026-01-01", "appeared", "", "view, 1 column, 1 job, 1 upstream"),
    ]
    changed = in_process("diff", "--from", "2026-01-05", "--to", "2026-01-09", *options).out
    assert list(csv.reader(changed.splitlines()))[1:] == [
        ["dataset", "changed", "mart", "label", "view", "table", "", "dev|wh|mart"],
        ["column", "changed", "orders#amount", "data_type", "int", "bigint", "", "dev|wh|orders|amount"],
    ]
    merges = list(csv.DictReader(in_process("history", "--dag", "marts", *options).out.splitlines()))
    assert [(each["DAG"], each["kind"]) for each in merges] == [("marts", "full")] * 6


def test_compact_has_no_csv(location: str) -> None:
    outcome = in_process("history", "compact", "--dry-run", "--history", location, "--format", "csv")
    assert (outcome.code, outcome.out) == (2, "")
    assert "compact has no CSV" in outcome.err


def test_a_history_in_s3_gives_the_same_answers(location: str, s3: S3) -> None:
    for file in Path(location).rglob("*"):
        if file.is_file():
            s3.put("lake", f"history/{file.relative_to(location)}", file)
    remote = "s3://lake/history"
    assert feeds(picture(remote, "2026-01-20")) == AUDITED
    assert events(remote, "mart") == events(location, "mart")
    assert events(remote, "wh|orders#note") == events(location, "wh|orders#note")
    assert changes(remote, "2026-01-05", "2026-01-09") == changes(location, "2026-01-05", "2026-01-09")
    assert asked(remote, "history") == asked(location, "history")
    dry = asked(remote, "history", "compact", "--dry-run")
    assert dry["dags"] == asked(location, "history", "compact", "--dry-run")["dags"]
