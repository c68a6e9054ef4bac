"""`lineage-merge receive` as a process of its own, and what it keeps."""

import gzip
import http.client
import json
import re
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import requests

from tests.command_line import clean_environment, command

V12 = "application/vnd.absa.spline.producer.v1.2+json"
_START_SECONDS = 30


class Receiver:
    """A receiver that runs. `log` is its output so far."""

    def __init__(self, process: "subprocess.Popen[bytes]", out: Path, log: Path, summary: Path) -> None:
        self.process = process
        self.out = out
        self._log = log
        self._summary = summary
        self.session = requests.Session()
        self.url = self._listening()

    @property
    def log(self) -> str:
        """Its standard error."""
        return self._log.read_text()

    @property
    def port(self) -> int:
        """Where it listens."""
        return int(self.url.rpartition(":")[2])

    def _listening(self) -> str:
        deadline = time.monotonic() + _START_SECONDS
        while not (found := re.search(r"listening on (\S+),", self.log)):
            assert self.process.poll() is None, self.log
            assert time.monotonic() < deadline, self.log
            time.sleep(0.02)
        return found[1]

    def post(self, path: str, body: object, media: str = V12, **headers: str) -> requests.Response:
        """Send a body: bytes as they are, anything else as JSON. `Content_Encoding` sets that header."""
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        return self.session.post(
            self.url + path, data=data, headers={"Content-Type": media, **named}, timeout=30
        )

    def stop(self, number: signal.Signals = signal.SIGTERM) -> str:
        """End it, and give its standard output."""
        self.session.close()
        self.process.send_signal(number)
        assert self.process.wait(30) == (0 if number in (signal.SIGTERM, signal.SIGINT) else -number)
        return self._summary.read_text()


@contextmanager
def receiver(
    out: Path, *flags: str, prepare: Callable[[], None] | None = None, **variables: str
) -> Iterator[Receiver]:
    """A receiver on a free port; what still runs at the end is killed."""
    logs = out.parent / f"{out.name}-{time.monotonic_ns()}"
    log, summary = logs.with_suffix(".log"), logs.with_suffix(".out")
    with log.open("wb") as err, summary.open("wb") as summary_file:
        process = subprocess.Popen(
            command("receive", "--out", out, "--port", "0", *flags),
            env=clean_environment(PYTHONWARNINGS="error", **variables),
            stdin=subprocess.DEVNULL,
            stdout=summary_file,
            stderr=err,
            preexec_fn=prepare,
        )
    running: Receiver | None = None
    try:
        running = Receiver(process, out, log, summary)
        yield running
    finally:
        if running:
            running.session.close()
        process.kill()
        process.wait()


def lines(out: Path, kind: str = "spline") -> list[Any]:
    """Every document of the finished files, in the files' order; each line is JSON."""
    return [
        json.loads(line) for file in sorted((out / kind).iterdir()) for line in file.read_bytes().splitlines()
    ]


def unfinished(out: Path) -> list[Path]:
    """The files that are not finished."""
    return sorted(path for path in (out / ".unfinished").rglob("*") if path.is_file())


def plan(number: int, **more: object) -> dict[str, Any]:
    """A plan without contents."""
    return {"id": f"00000000-0000-0000-0000-{number:012}", "operations": {"write": {}}, **more}


def event(number: int) -> dict[str, Any]:
    """An event of `plan`."""
    return {"planId": plan(number)["id"], "timestamp": number}


def run_event(number: int) -> dict[str, Any]:
    """An event of OpenLineage."""
    job = {"namespace": "tests", "name": "job"}
    run = {"runId": f"01a1fd70-0000-7000-8000-{number:012}"}
    return {
        "eventTime": "2026-11-01T06:00:00Z",
        "eventType": "COMPLETE",
        "producer": "https://example.com",
        "run": run,
        "job": job,
    }


def exchange(port: int, request: bytes) -> tuple[int, Mapping[str, list[str]], bytes]:
    """Send bytes as they are: status, headers by lower-case name, body of the answer."""
    with socket.create_connection(("127.0.0.1", port), timeout=30) as connection:
        connection.sendall(request)
        answer = http.client.HTTPResponse(connection, method=request.split(b" ")[0].decode())
        answer.begin()
        headers: dict[str, list[str]] = {}
        for name, value in answer.getheaders():
            headers.setdefault(name.lower(), []).append(value)
        return answer.status, headers, answer.read()


def as_sent(captured: Mapping[str, Any]) -> bytes:
    """The bytes of a captured request: its headers in their order, its body packed if it was."""
    body: bytes = captured["body"].encode()
    headers = dict(captured["headers"])
    if headers.get("Content-Encoding") == "gzip":
        body = gzip.compress(body, mtime=0)
    if "Content-Length" in headers:
        # Local paths were changed in the captures, so lengths differ.
        headers["Content-Length"] = str(len(body))
    head = [f"{captured['method']} {captured['path']} HTTP/1.1"]
    head += [f"{name}: {value}" for name, value in headers.items()]
    return ("\r\n".join(head) + "\r\n\r\n").encode() + body
