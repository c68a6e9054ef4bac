"""Files of Amazon Data Firehose: records joined without line feeds, with gzip or without."""

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from lineage_merge.infra.engine.local import LocalEngine
from lineage_merge.infra.storage import Slice
from lineage_merge.merge import dataset_resolver
from lineage_merge.model.elements import Problem
from lineage_merge.model.records import Record
from lineage_merge.orchestration.configuration import CONFIGURATION
from lineage_merge.sources.openlineage import files
from lineage_merge.sources.openlineage.reader import read_openlineage
from lineage_merge.sources.spline.agent.messages import Message, messages
from lineage_merge.sources.spline.reader import read_spline
from tests.record_reading import comparable, flows_of, problems_of, rows_of
from tests.s3_fixtures import S3

NAME = "2026/11/21/22/received-1-2026-11-21-22-15-00-0d3b7c1e-6a51-4e1f-9a39-5b6c8a4f2d10"
PLAN = {"id": "00000000-0000-0000-0000-000000000001", "operations": {"write": {}}}
EVENT = {"planId": PLAN["id"], "timestamp": 1}


def read(section: dict[str, Any]) -> list[Record]:
    config = CONFIGURATION.parse({"dag_name": "daily", "environment": "dev", **section})
    resolver = dataset_resolver.from_config(config)
    reader = read_spline if "spline" in section else read_openlineage
    return rows_of(reader(LocalEngine(), config, resolver))


def stored(s3: S3, records: list[str], packed: bool) -> str:
    """The prefix of a file with records."""
    content = "".join(records).encode()
    s3.put("lineage", f"{NAME}.gz" if packed else NAME, gzip.compress(content) if packed else content)
    return "s3://lineage"


@pytest.mark.parametrize("packed", [False, True])
def test_requests_of_an_agent_are_read(s3: S3, data: Path, packed: bool) -> None:
    captured = data / "agent" / "http_probe_1_2.jsonl"
    bodies = [json.loads(line)[:2] for line in captured.read_text().splitlines()]
    # An event is sent in an array.
    records = [json.dumps(body if kind == "plan" else [body]) for kind, body in bodies]

    found = read({"spline": {"agent": stored(s3, records, packed)}})

    assert comparable(found) == comparable(read({"spline": {"agent": str(captured)}}))
    assert flows_of(found)
    assert problems_of(found) == set()


@pytest.mark.parametrize("packed", [False, True])
def test_openlineage_events_are_read(s3: S3, data: Path, packed: bool) -> None:
    captured = data / "openlineage" / "airflow" / "airflow_3_0.jsonl.gz"
    records = gzip.decompress(captured.read_bytes()).decode().splitlines()

    found = read({"openlineage": {"events": stored(s3, records, packed)}})

    assert comparable(found) == comparable(read({"openlineage": {"events": str(captured)}}))
    assert flows_of(found)
    assert problems_of(found) == set()


def test_a_line_of_many_documents_gives_all_of_them() -> None:
    line = "".join(json.dumps(each) for each in [PLAN, [EVENT], EVENT] * 100).encode()

    found = [each.kind for each in messages([("line 1", line)]) if isinstance(each, Message)]

    assert found == ["plan", "event", "event"] * 100


@pytest.mark.parametrize(
    ("line", "kinds"),
    [
        (
            json.dumps(PLAN) + json.dumps(EVENT)[:20],
            ["plan", "not JSON: Unterminated string starting at: line 1 column 87 (char 86)"],
        ),
        # Of a logger, after the document.
        (json.dumps(EVENT) + " [main] {", ["event"]),
    ],
)
def test_what_follows_a_document_is_one_or_not(line: str, kinds: list[str]) -> None:
    found = list(messages([("line 1", line.encode())]))

    assert [each.kind if isinstance(each, Message) else each.message for each in found] == kinds


def test_thousands_of_events_in_one_line_are_decoded_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    event = {
        "eventTime": "2026-11-01T06:00:00Z",
        "eventType": "COMPLETE",
        "producer": "https://example.com",
        "run": {"runId": "01a1fd70-0000-7000-8000-000000000001"},
        "job": {"namespace": "tests", "name": "job"},
    }
    file = tmp_path / "events"
    file.write_text(json.dumps(event) * 2000)
    calls = 0
    decoder = json.JSONDecoder()

    class Counting:
        def raw_decode(self, text: str, start: int) -> tuple[Any, int]:
            nonlocal calls
            calls += 1
            return decoder.raw_decode(text, start)

    monkeypatch.setattr(files, "_DECODER", Counting())

    found = list(files.events(Slice(str(file), 0, file.stat().st_size)))

    assert len(found) == calls == 2000
    assert not any(isinstance(each, Problem) for each in found)
