"""Plans and events in log lines of all loggers and collectors."""

import json
from typing import Any

import pytest

from lineage_merge.model.elements import Problem
from lineage_merge.sources.spline.agent.messages import Message, check_message, messages, record_line

ID = "0f7d3c1e-7f9b-4f0e-9c39-5f2f1a4be611"
PLAN: dict[str, Any] = {
    "id": ID,
    "name": "sales [daily] {x}",
    "operations": {"write": {"id": "op-0", "outputSource": "s3://out/x", "append": False, "childIds": []}},
    "systemInfo": {"name": "spark", "version": "3.5.9"},
}
EVENT: dict[str, Any] = {"planId": ID, "timestamp": 1_795_252_896_204, "error": '["plan", {'}
PREFIX = "2026-11-21 10:11:12,345 [main] INFO  {s=1} LoggingLineageDispatcher: "


def found(*lines: str) -> list[tuple[str, Any]]:
    numbered = ((str(number), line.encode()) for number, line in enumerate(lines, 1))
    return [
        (each.kind, each.body) if isinstance(each, Message) else ("broken", each.document)
        for each in messages(numbered)
    ]


def text(value: object) -> str:
    return json.dumps(value)


BOTH = [("plan", PLAN), ("event", EVENT)]


@pytest.mark.parametrize(
    "lines",
    [
        (text(["plan", PLAN]), text(["event", EVENT])),
        (PREFIX + text(["plan", PLAN]), "", PREFIX + text(["event", EVENT]) + " | took 3 ms\r"),
        (text(["plan", PLAN]) + text(["event", EVENT]),),
        (json.dumps(["plan", PLAN], separators=(",", ":")), text(["event", [EVENT]])),
        (
            f"{PREFIX}ExecutionPlan (apiVersion: 1.2):",
            text(PLAN),
            f"{PREFIX}ExecutionEvent (apiVersion: 1.2):",
            text(EVENT),
        ),
        (
            f"10:11 ExecutionPlan (apiVersion: 1.1): {text(PLAN)}",
            f"10:11 ExecutionEvent (apiVersion: 1.1): {text(EVENT)}",
        ),
        (f"2026-11-21T10:11:12Z stdout F {text(PLAN)}", f"2026-11-21T10:11:12Z stdout F {text(EVENT)}"),
        (text(PLAN), text([EVENT])),
        (text({"executionPlan": PLAN, "executionEvent": EVENT}),),
        (
            text({"log": text(["plan", PLAN]) + "\n", "stream": "stdout"}),
            text({"message": f"ExecutionEvent (apiVersion: 1.2):\n{text(EVENT)}", "level": "INFO"}),
        ),
        (
            text(dict(reversed(PLAN.items()))),
            text(dict(reversed(EVENT.items()))),
        ),
    ],
    ids=[
        "old arrays",
        "with prefixes",
        "on one line",
        "without spaces",
        "announced on the line before",
        "announced on the same line",
        "collected from a container",
        "bodies of requests",
        "both in one object",
        "wrapped by a collector",
        "in another order",
    ],
)
def test_plans_and_events_are_found_however_they_are_written(lines: tuple[str, ...]) -> None:
    assert found(*lines) == BOTH


def test_lines_of_other_loggers_are_ignored() -> None:
    assert (
        found(
            "java.lang.IllegalStateException: send(event) must be called strictly after send(plan)",
            '\tat org.example.Plan.<init>(Plan.scala:1) "plan"',
            '{"planId": 7, "level": "INFO"}',
            '{"operations": 12}',
            '["planner", {"a": 1}]',
            '{"message": "the \\"event\\" was sent"}',
            "[plan] {event}",
            "ExecutionPlan (apiVersion: 1.2):",
            "",
        )
        == []
    )


def test_truncated_messages_are_named_and_later_ones_read() -> None:
    plan, event = text(["plan", PLAN]), text(["event", EVENT])

    assert found(
        plan[:-20],
        event,
        PREFIX + plan[:40] + event,
        text(PLAN)[:-5],
        f"ExecutionEvent (apiVersion: 1.2): {text(EVENT)[:-1]}",
        '["plan", ',
        event,
    ) == [
        ("broken", "1"),
        ("event", EVENT),
        ("broken", "3"),
        ("event", EVENT),
        ("broken", "4"),
        ("broken", "5"),
        ("broken", "6"),
        ("event", EVENT),
    ]


def test_invalid_utf8_is_reported_only_in_plans_and_events() -> None:
    lines = [("1", b"caf\xe9 opened"), ("2", b'["plan", {"id": "caf\xe9"}]')]

    assert [*messages(lines)] == [Problem("rejected", "2", "", "not UTF-8 text (byte 20 of the line)")]


def problem(*lines: str) -> list[tuple[str, str] | None]:
    numbered = ((str(number), line.encode()) for number, line in enumerate(lines, 1))
    problems = [each if isinstance(each, Problem) else check_message(each) for each in messages(numbered)]
    return [(each.field, each.message) if each else None for each in problems]


def without(name: str) -> dict[str, Any]:
    return {key: value for key, value in PLAN.items() if key != name}


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        (text(["plan", 5]), ("", "must be an object, not an integer")),
        (text(["plan", without("id")]), ("id", "is missing")),
        (text(["plan", {**PLAN, "id": "7"}]), ("id", "must be a UUID, not '7'")),
        (text(["plan", without("operations")]), ("operations", "is missing")),
        (text(["plan", {**PLAN, "operations": {"reads": []}}]), ("operations.write", "is missing")),
        (
            text(["plan", {**PLAN, "operations": {"write": {"id": "op-0"}}}]),
            ("operations.write.outputSource", "is missing"),
        ),
        (
            text(["event", {**EVENT, "timestamp": "now"}]),
            ("timestamp", "must be an integer, not a string"),
        ),
        (text(["event", {"timestamp": 1}]), ("planId", "is missing")),
        (
            text(["plan", PLAN, "2.0"]),
            ("", "version 2.0 of the producer API is unknown; 1.0, 1.1 and 1.2 are"),
        ),
    ],
)
def test_what_does_not_fit_the_schema_is_reported_by_its_field(line: str, expected: tuple[str, str]) -> None:
    assert problem(line) == [expected]


def test_an_unknown_announced_version_is_rejected() -> None:
    first, second = problem(
        "ExecutionPlan (apiVersion: 3):", text(PLAN), "ExecutionPlan (apiVersion: 1.2):", text(PLAN)
    )

    assert first == ("", "version 3 of the producer API is unknown; 1.0, 1.1 and 1.2 are")
    assert second is None


def test_a_record_of_kafka_is_the_line_that_its_headers_make_it() -> None:
    def line(value: object, entity: str, version: str) -> bytes:
        headers = {
            "ABSA-Spline-Entity-Type": entity.encode(),
            "ABSA-Spline-API-Version": version.encode(),
            "__TypeId__": b"x",
        }
        return record_line(text(value).encode(), headers)

    lines = [
        line(PLAN, "ExecutionPlan", "1.2"),
        line(EVENT, "ExecutionEvent", "1"),
        line(PLAN, "ExecutionPlan", "2.0"),
        record_line(json.dumps(PLAN, indent=1).encode(), {}),
    ]

    assert lines[0] == b'["plan", ' + text(PLAN).encode() + b"]"
    assert found(*(each.decode() for each in lines)) == [
        ("plan", PLAN),
        ("event", EVENT),
        ("plan", PLAN),
        ("plan", PLAN),
    ]
    assert [each is None for each in problem(*(each.decode() for each in lines))] == [True, True, False, True]
