"""Captured requests of Spline's agent, replayed byte for byte, and read from the stored files."""

import json
import signal
from pathlib import Path
from typing import Any

import pytest

from lineage_merge.infra.engine.local import LocalEngine
from lineage_merge.merge import dataset_resolver
from lineage_merge.model.records import Record
from lineage_merge.orchestration.configuration import CONFIGURATION
from lineage_merge.sources.spline.reader import read_spline
from tests.receiver import as_sent, exchange, receiver
from tests.record_reading import comparable, flows_of, problems_of, rows_of

pytestmark = pytest.mark.jvm

PLANS = ("c97b741d-f21f-5ffe-a6a4-19e7dc7da773", "dc49f8fd-985d-5c9a-a521-695b3049e46a")


def read(place: Path) -> list[Record]:
    settings: dict[str, Any] = {"agent": str(place), "operations": True}
    found = CONFIGURATION.parse({"dag_name": "daily", "environment": "dev", "spline": settings})
    return rows_of(read_spline(LocalEngine(), found, dataset_resolver.from_config(found)))


@pytest.mark.parametrize(("version", "killed"), [("1_0", False), ("1_2", True)])
def test_captured_requests_give_the_elements_of_the_captured_messages(
    data: Path, tmp_path: Path, version: str, killed: bool
) -> None:
    captured = data.joinpath(f"receive/spline_{version}.jsonl").read_text().splitlines()
    sent = [json.loads(line) for line in captured]
    out = tmp_path / "received"
    with receiver(out) as running:
        (status, headers, _), *answers = [exchange(running.port, as_sent(each)) for each in sent]
        running.stop(signal.SIGKILL if killed else signal.SIGTERM)
    if killed:
        with next((out / ".unfinished" / "spline").iterdir()).open("ab") as file:
            file.write(b'["plan", {"id":"0c')
        with receiver(out) as running:
            assert "18 bytes of a partial line cut off" in running.log
            running.stop()

    assert status == 200
    assert headers["absa-spline-api-version"] == ["1.2", "1.1", "1"]
    assert headers["absa-spline-api-lts-version"] == ["1.2", "1.1"]
    assert headers["absa-spline-accept-request-encoding"] == ["gzip"]
    assert [(status, json.loads(body)) for status, _, body in answers] == [
        (201, PLANS[0]),
        (201, [PLANS[0]]),
        (201, PLANS[1]),
        (201, [PLANS[1]]),
    ]
    stored = b"".join(file.read_bytes() for file in (out / "spline").iterdir())
    for each in sent[1:]:
        assert each["body"].removeprefix("[").removesuffix("]").encode() in stored
    found = read(out / "spline")
    assert comparable(found) == comparable(read(data / "agent" / f"http_probe_{version}.jsonl"))
    assert {(source, target) for _, source, target in flows_of(found)} == {
        ("file|/data/http_src", "file|/data/http_tgt")
    }
    assert problems_of(found) == set()
