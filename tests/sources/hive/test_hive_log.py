"""Lineage documents in log lines of any layout, with other lines and damage."""

import json
from pathlib import Path

import pytest

from lineage_merge.model.elements import Problem
from lineage_merge.sources.hive.log import Found, documents
from tests.sources.hive.hive_lines import PREFIX, copy, document, found_in, line

MADE = document("insert into dw.a select c from ods.b", copy("dw.a", "ods.b"))

STACK = """2026-11-21T10:24:31,006 ERROR [main] ql.Driver: FAILED: SemanticException {"a": 1}
org.apache.hadoop.hive.ql.parse.SemanticException: Line 1:14 Table not found 'edges'
\tat org.apache.hadoop.hive.ql.hooks.LineageLogger.run(LineageLogger.java:170)
Failed to log lineage graph, query is not affected
2026-11-21T10:24:32,000  INFO [main] hooks.PreExecutePrinter: {"query":"x"}
2026-11-21T10:24:33,000  INFO [main] c.acme.Status: {"version":"2.3","state":"ok"}
2026-11-21T10:24:33,000  INFO [main] c.acme.Status: {"version":"1.0","state":"ok"}"""


def good(found: list[Found | Problem]) -> list[tuple[str, object]]:
    assert all(isinstance(each, Found) for each in found), found
    return [(each.location, each.document) for each in found if isinstance(each, Found)]


def damaged(found: list[Found | Problem]) -> list[tuple[str, str]]:
    assert all(isinstance(each, Problem) and each.kind == "rejected" for each in found), found
    return [(each.document, each.message) for each in found if isinstance(each, Problem)]


@pytest.mark.parametrize(
    "prefix",
    [
        PREFIX,
        "2015-04-01 10:00:00,123 INFO  [main]: hooks.LineageLogger (LineageLogger.java:run(193)) - ",
        "2026-11-21T10:24:30,967  INFO [8db2e432 main] hooks.CustomHook: ",
        "26/11/21 10:24:30 INFO lineage.MyOwnHook: ",
        "POSTHOOK: LINEAGE: ",
        "",
    ],
)
def test_every_layout_of_a_log_is_read(prefix: str) -> None:
    assert good(found_in(line(MADE, prefix))) == [("log, line 1", MADE)]


def test_other_loggers_and_stack_traces_are_passed_over() -> None:
    text = f"{STACK}\n{line(MADE)}\n{STACK}"

    assert good(found_in(text)) == [("log, line 8", MADE)]


def test_two_lines_that_were_written_as_one_are_two() -> None:
    assert good(found_in(line(MADE) + line(MADE) + STACK)) == [("log, line 1", MADE)] * 2


def test_a_log_of_json_has_the_line_as_its_message() -> None:
    shipped = json.dumps({"@timestamp": "2026-11-21T10:24:30Z", "message": line(MADE)})

    assert good(found_in(shipped)) == [("log, line 1", MADE)]


def test_a_document_over_several_lines_is_one() -> None:
    pretty = "2015-03-27 10:00:00,123 INFO  [main]: hooks.LineageLogger (LineageLogger.java:run(136)) - "
    text = f"{STACK}\n{pretty}POSTHOOK: LINEAGE: {json.dumps(MADE, indent=2)}\n{line(MADE)}"

    assert good(found_in(text))[0] == ("log, line 8", MADE)
    assert len(found_in(text)) == 2


def test_a_document_over_several_lines_may_end_behind_its_slice() -> None:
    lines = f"{PREFIX}{json.dumps(MADE, indent=2)}\n".encode().splitlines(keepends=True)
    for cut in range(1, len(lines)):
        numbered = [(f"log, line {number}", each) for number, each in enumerate(lines, 1)]

        assert good([*documents(numbered[:cut], lines[cut:]), *documents(numbered[cut:])]) == [
            ("log, line 1", MADE)
        ], cut


@pytest.mark.parametrize("prefix", [PREFIX, PREFIX.replace("LineageLogger", "CustomHook"), ""])
def test_a_truncated_line_is_named_and_affects_no_other(prefix: str) -> None:
    whole = line(MADE, prefix)
    # The first characters of a plain JSON line do not identify it yet.
    first = len(prefix) + 1 if prefix else len('{"version":"1.0"')
    for end in range(first, len(whole)):
        found = found_in(f"{whole[:end]}\n{whole}")

        assert [each[0] for each in damaged(found[:1])] == ["log, line 1"], whole[:end]
        assert good(found[1:]) == [("log, line 2", MADE)]


def test_the_end_of_a_line_without_its_beginning_is_named() -> None:
    rest = line(MADE).partition('{"sources"')[2]

    assert damaged(found_in(f"{rest}\n{line(MADE)}")[:1]) == [
        ("log, line 1", "damaged lineage line: its beginning is missing")
    ]


def test_invalid_utf8_is_reported_only_in_lineage_lines() -> None:
    binary = line(MADE).encode().replace(b"dw.a", b"dw.\xff")
    first = binary.index(b"\xff")

    assert damaged(list(documents([("log, line 1", b"\xff\xfe {binary}"), ("log, line 2", binary)]))) == [
        ("log, line 2", f"damaged lineage line: not UTF-8 text (byte {first} of the line)")
    ]


def test_no_secret_of_a_damaged_line_is_repeated() -> None:
    made = document("insert into dw.a select 'hunter2' from ods.b", copy("dw.a", "ods.b"))

    for _, message in damaged(found_in(line(made)[:-40])):
        assert "hunter2" not in message


def test_the_lines_of_a_real_log_are_its_six_queries(data: Path) -> None:
    for name in ("hive-lineage.log", "hive-lineage-names.log"):
        text = (data / "hive" / name).read_text(encoding="utf-8")

        assert len(good(found_in(text))) == 6
