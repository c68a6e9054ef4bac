"""The command line of the receiver."""

import json
import socket
import sys
from pathlib import Path

import pytest

from tests.command_line import as_process, in_process
from tests.receiver import plan, receiver


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "10.1.2.3", "receiver.example.com"])
def test_an_address_that_others_reach_needs_a_token(tmp_path: Path, host: str) -> None:
    found = in_process("receive", "--out", tmp_path, "--host", host)

    assert found.code == 2
    assert f"--host: {host} is not a local address: set --token-env or --no-token" in found.err


def test_a_token_that_is_not_set_is_reported(tmp_path: Path) -> None:
    found = in_process("receive", "--out", tmp_path, "--token-env", "NOT_SET_VARIABLE")

    assert found.code == 2
    assert "the environment variable NOT_SET_VARIABLE is not set" in found.err


def test_a_port_in_use_is_reported(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        found = in_process("receive", "--out", tmp_path, "--port", str(port))

    assert found.code == 2
    assert f"cannot listen on 127.0.0.1:{port}: Address already in use" in found.err


@pytest.mark.jvm
def test_a_folder_that_cannot_be_created_is_reported(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")

    found = as_process("receive", "--out", tmp_path / "file" / "folder", "--port", "0")

    assert found.code == 3
    assert "Traceback" not in found.err


def test_a_missing_package_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "uvicorn", None)

    found = in_process("receive", "--out", tmp_path)

    assert found.code == 2
    assert "a package is missing: install lineage-merge[receive]" in found.err


def test_an_upload_goes_to_s3_only(tmp_path: Path) -> None:
    found = in_process("receive", "--out", tmp_path, "--upload", "gs://bucket")

    assert found.code == 2
    assert "--upload: must be s3://BUCKET/PREFIX" in found.err


@pytest.mark.jvm
def test_the_summary_is_available_as_json(tmp_path: Path) -> None:
    with receiver(tmp_path / "received", "--json", "--host", "0.0.0.0", "--no-token") as running:
        running.url = running.url.replace("0.0.0.0", "127.0.0.1")
        running.post("/producer/execution-plans", plan(1))
        running.post("/producer/execution-plans", b"{")
        summary = json.loads(running.stop())

    assert summary == {
        "plans": 1,
        "events": 0,
        "openlineage": 0,
        "taken_bytes": len(json.dumps(["plan", plan(1)])) + 1,
        "requests": 1,
        "refused": 1,
        "not_stored": 0,
    }
