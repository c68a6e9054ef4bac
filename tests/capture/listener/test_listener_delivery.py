"""Deliveries: to a folder, local and in S3, to a receiver, and into a list."""

import json
from pathlib import Path
from typing import Any

import pytest

from lineage_merge.infra import storage
from lineage_merge.model.errors import SourceDenied, SourceMissing, SourceUnreachable
from lineage_merge.spark_capture.listener.delivery import delivery_of
from lineage_merge.spark_capture.listener.lines import Messages
from tests import receiver
from tests.s3_fixtures import S3


def messages(number: int) -> Messages:
    return Messages(json.dumps(receiver.plan(number)).encode(), json.dumps(receiver.event(number)).encode())


BATCH = [messages(1), messages(2)]
LINES = [
    [kind, of(number)]
    for number in (1, 2)
    for kind, of in (("plan", receiver.plan), ("event", receiver.event))
]


def test_a_folder_gets_a_file_per_batch(tmp_path: Path) -> None:
    folder = tmp_path / "lineage"
    deliver, other = delivery_of(folder, "app-1"), delivery_of(f"{folder}/", "app-1")
    deliver(BATCH)
    deliver([messages(3)])
    other(BATCH)

    files = sorted(folder.iterdir())
    assert len(files) == 3
    assert all(each.name.startswith("app-1-") and each.suffix == ".jsonl" for each in files)
    first = next(each for each in files if each.name.endswith("-000001.jsonl")).name.replace(
        "000001", "000000"
    )
    assert [*map(json.loads, (folder / first).read_text().splitlines())] == LINES


def test_a_batch_that_failed_is_written_under_its_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    names: list[str] = []

    def failing(location: str, _text: str) -> None:
        names.append(location)
        raise OSError("full")

    deliver = delivery_of(tmp_path, "app-1")
    monkeypatch.setattr(storage, "create_file", failing)
    for _ in range(2):
        with pytest.raises(OSError, match="full"):
            deliver(BATCH)

    assert len({*names}) == 1


def test_a_folder_in_s3(s3: S3) -> None:
    s3.client.create_bucket(Bucket="lake")
    delivery_of("s3://lake/lineage", "app-1")(BATCH)

    (file,) = storage.list_files("s3://lake/lineage")
    assert [*map(json.loads, storage.read_text(file.location).splitlines())] == LINES
    with pytest.raises(SourceMissing):
        delivery_of("s3://no-such-bucket/lineage", "app-1")(BATCH)


def test_a_receiver_gets_plans_and_events(tmp_path: Path) -> None:
    with receiver.receiver(tmp_path / "out", "--token-env", "T", T="t0ken") as running:
        delivery_of(f"{running.url}/producer/", "app-1", "t0ken")(BATCH)
        delivery_of(running.url, "app-1", "t0ken")([messages(3)])
        with pytest.raises(SourceDenied) as denied:
            delivery_of(running.url, "app-1", "wrong")(BATCH)
        running.stop()
        found = receiver.lines(tmp_path / "out")

    assert {(kind, body.get("id") or body["planId"]) for kind, body in found} == {
        (kind, receiver.plan(number)["id"]) for kind in ("plan", "event") for number in (1, 2, 3)
    }
    assert "wrong" not in denied.value.message


def test_a_receiver_that_is_unreachable() -> None:
    with pytest.raises(SourceUnreachable, match="127"):
        delivery_of("http://127.0.0.1:1", "app-1", "t0ken")(BATCH)


def test_a_list_gets_the_messages() -> None:
    found: list[Any] = []
    delivery_of(found, "app-1")(BATCH)

    assert found == LINES
