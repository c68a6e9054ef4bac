"""OpenLineage files and logs, without Spark: events found, and malformed ones reported."""

import gzip
import json
from pathlib import Path

import pytest

from lineage_merge.model.elements import Problem
from lineage_merge.model.errors import SourceMissing
from lineage_merge.sources import line_files as sliced
from lineage_merge.sources.openlineage import files
from lineage_merge.sources.openlineage.documents import cut_down, moment
from tests.s3_fixtures import S3
from tests.sources.openlineage.made_events import Event, event

START = event("START", "06:00", run="r1", inputs=["s3://lake|a"])
END = event("COMPLETE", "06:01", run="r1", outputs=["s3://lake|b"])


def found(*locations: object) -> tuple[list[str], list[tuple[str, str, str, str]]]:
    """Of each event its kind, and each problem: kind, place without folders, field, message."""
    kinds: list[str] = []
    problems: list[tuple[str, str, str, str]] = []
    for part in files.find(map(str, locations)):
        for each in files.events(part):
            if isinstance(each, Problem):
                location = each.document.rpartition("/")[2]
                problems.append((each.kind, location, each.field, each.message))
            else:
                kinds.append(str(each.document.get("eventType")))
    return kinds, problems


def lines(*events: Event) -> str:
    return "".join(json.dumps(each) + "\n" for each in events)


def test_files_and_folders_give_their_events_once(tmp_path: Path) -> None:
    tmp_path.joinpath("a").mkdir()
    plain = tmp_path / "a" / "events.jsonl"
    plain.write_text(lines(START, END))
    tmp_path.joinpath("a", "packed.jsonl.gz").write_bytes(gzip.compress(lines(START).encode()))
    tmp_path.joinpath("array.json").write_text(json.dumps([START, END], indent=2))
    tmp_path.joinpath("one.json").write_text(json.dumps(END, indent=2))
    tmp_path.joinpath("a", "_SUCCESS").write_text("")

    assert found(tmp_path) == (["START", "COMPLETE", "START", "START", "COMPLETE", "COMPLETE"], [])
    assert found(plain) == (["START", "COMPLETE"], [])
    assert found(plain, tmp_path / "a") == (["START", "COMPLETE", "START"], [])


def test_objects_in_s3_are_found_by_key_and_by_prefix(s3: S3) -> None:
    key = s3.put("events", "openlineage/2026/a.jsonl", lines(START))
    s3.put("events", "openlineage/2026/a.jsonl.old/b.jsonl", lines(END))
    s3.put("events", "other/c.jsonl", lines(END, END))

    assert found(key) == (["START"], [])
    assert found("s3://events/openlineage") == (["START", "COMPLETE"], [])


def test_a_location_without_files_is_named(tmp_path: Path) -> None:
    for missing in (tmp_path / "nowhere", tmp_path):
        with pytest.raises(SourceMissing, match=f"^{missing}: no "):
            files.find([str(missing)])


@pytest.mark.parametrize(
    "line",
    [
        f"26/11/01 06:00:00 INFO ConsoleTransport: {json.dumps(START)}",
        f"[2026-11-01 06:00:00] {{airflow.task}} {{console.py:29}} INFO - {json.dumps(START)} [dag=x]",
        json.dumps({"level": "INFO", "message": json.dumps(START)}),
        json.dumps({"@timestamp": "2026-11-01", "log": {"message": f"INFO: {json.dumps(START)}"}}),
        json.dumps([START]),
        f"\ufeff{json.dumps(START)}  ",
    ],
    ids=["spark", "airflow", "json log", "nested json log", "array", "byte order mark"],
)
def test_an_event_is_found_in_what_loggers_put_around_it(tmp_path: Path, line: str) -> None:
    log = tmp_path / "driver.log"
    log.write_text(f"26/11/01 05:59:59 WARN Utils: {{}}\n{line}\n\tat org.Thing.run(Thing.java:1) {{x}}\n")

    assert found(log) == (["START"], [])


def test_two_events_in_one_line_are_both_found(tmp_path: Path) -> None:
    log = tmp_path / "out.log"
    log.write_text(f"out: {json.dumps(START)}{json.dumps(END)}\n")

    assert found(log) == (["START", "COMPLETE"], [])


def test_malformed_events_are_named_with_line_and_field_and_the_rest_is_read(tmp_path: Path) -> None:
    file = tmp_path / "events.jsonl"
    bad_lineage = {"columnLineage": {"fields": {"a": {"inputFields": [{"namespace": "x", "name": "y"}]}}}}
    bad_count = {"outputStatistics": {"rowCount": 1e308}}
    broken = [
        json.dumps(START)[:100] + "\n",
        json.dumps(END)[:-20] + "\n",
        lines({**START, "run": {}}),
        lines({**START, "eventTime": "yesterday"}),
        lines({**START, "eventTime": "2026-02-31T00:00:00Z"}),
        lines({**START, "eventType": "DONE"}),
        lines({**END, "outputs": [{"namespace": "s3://lake", "name": "b", "facets": bad_lineage}]}),
        lines({**END, "outputs": [{"namespace": "s3://lake", "name": "b", "outputFacets": bad_count}]}),
        lines({key: value for key, value in START.items() if key != "eventTime"}),
        lines({"hello": 1}),
        "{ not json\n",
    ]
    file.write_text(lines(START) + "".join(broken) + lines(END))

    kinds, problems = found(file)

    assert kinds == ["START", "COMPLETE"]
    cut = "incomplete JSON of an event: truncated or damaged line"
    times = "must be a time such as 2026-11-01T06:00:00.000Z, not 'yesterday'"
    kind = "must be START or RUNNING or COMPLETE or ABORT or FAIL or OTHER or null, not 'DONE'"
    count = "must be at most 9007199254740991, not 1e+308"
    lineage = "outputs[0].facets.columnLineage.fields.a.inputFields[0].field"
    assert problems == [
        ("rejected", "events.jsonl, line 2", "", cut),
        ("rejected", "events.jsonl, line 3", "", cut),
        ("rejected", "events.jsonl, line 4", "run.runId", "is missing"),
        ("rejected", "events.jsonl, line 5", "eventTime", times),
        ("rejected", "events.jsonl, line 6", "eventTime", "not a valid time"),
        ("rejected", "events.jsonl, line 7", "eventType", kind),
        ("rejected", "events.jsonl, line 8", lineage, "is missing"),
        ("rejected", "events.jsonl, line 9", "outputs[0].outputFacets.outputStatistics.rowCount", count),
        ("rejected", "events.jsonl, line 10", "eventTime", "is missing"),
        ("skipped", "events.jsonl, line 11", "", "not an OpenLineage event"),
        ("rejected", "events.jsonl, line 12", "", "not JSON"),
    ]


def test_damaged_files_are_named_and_read_up_to_the_damage(tmp_path: Path) -> None:
    tmp_path.joinpath("cut.json").write_text(json.dumps([START, END])[:-30])
    tmp_path.joinpath("cut.jsonl.gz").write_bytes(gzip.compress(lines(START).encode())[:-9])
    tmp_path.joinpath("half.log").write_bytes(b"\xff\xfe caf\xe9\n" + lines(END).encode())

    assert found(tmp_path) == (
        ["START", "START", "COMPLETE"],
        [
            ("rejected", "cut.json, element 2", "", "not JSON; nothing after it can be read"),
            ("rejected", "cut.jsonl.gz", "", "not a valid gzip file"),
        ],
    )


@pytest.mark.parametrize("size", [1, 100, 333])
def test_slices_of_a_large_file_hold_every_line_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, size: int
) -> None:
    file = tmp_path / "events.jsonl"
    file.write_text(lines(*[START, END] * 10))
    monkeypatch.setattr(sliced, "SLICE_BYTES", size)

    assert found(file) == (["START", "COMPLETE"] * 10, [])


def test_unused_parts_of_an_event_are_dropped() -> None:
    large = {"plan": [1] * 1000}
    full = event(
        "START",
        "06:00",
        run_facets={"spark.logicalPlan": large, "environment-properties": {"secret": "x"}, "parent": None},
        outputs=[
            {"namespace": "s3://lake", "name": "b", "facets": {"schema": {"fields": [], "_deleted": True}}}
        ],
    )

    assert cut_down(full) == {
        "eventTime": "2026-11-01T06:00:00.000Z",
        "eventType": "START",
        "producer": "https://example.com/producer",
        "run": {"runId": "01a1fd70-0000-7000-8000-000000000001"},
        "job": {"namespace": "tests", "name": "job"},
        "outputs": [{"namespace": "s3://lake", "name": "b"}],
    }


@pytest.mark.parametrize(
    "text",
    [
        "2026-11-01T06:00:00.5Z",
        "2026-11-01T06:00:00.500000000Z",
        "2026-11-01t07:00:00.5+01:00",
        "2026-11-01T06:00:00.500",
    ],
)
def test_times_are_read_in_every_spelling_that_producers_use(text: str) -> None:
    assert moment({"eventTime": text}) == 1793512800500
