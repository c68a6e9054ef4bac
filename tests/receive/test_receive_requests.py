"""Accepted and rejected requests."""

import concurrent.futures
import gzip
import json
import re
import select
import socket
import subprocess
import sys
import time
import zlib
from collections.abc import Iterator
from pathlib import Path

import pytest
import requests

from tests.receiver import V12, Receiver, event, lines, plan, receiver, run_event

PLANS = "/producer/execution-plans"
EVENTS = "/producer/execution-events"
LINEAGE = "/api/v1/lineage"
JSON = "application/json"
MEGABYTE = 1 << 20


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Receiver]:
    """One with small limits; each test of it is refused, or looks for its own document."""
    out = tmp_path_factory.mktemp("requests") / "received"
    with receiver(out, "--max-body", "1", "--file-megabytes", "1") as found:
        yield found
        assert "Traceback" not in found.log


def refused(answer: requests.Response) -> tuple[int, str]:
    return answer.status_code, answer.text


@pytest.mark.jvm
def test_documents_are_stored_as_they_were_sent(tmp_path: Path) -> None:
    big = '{"id":"a",\r\n "operations":{}, "n":1.10, "m":12345678901234567890, "n":"z\\u0000\\n\u2028é"}'
    with receiver(tmp_path / "received") as running:
        for path in (PLANS, "/execution-plans"):
            for media in (
                V12,
                "application/vnd.absa.spline.producer.v1.1+json",
                "application/json; charset=UTF-8",
            ):
                assert running.post(path, big.encode(), media).json() == "a"
        assert running.post(
            EVENTS, b' [{"planId":"a",\n"timestamp":1} ,{"timestamp":2.0,"planId":"b"}]\n'
        ).json()
        assert running.post(LINEAGE, run_event(1), JSON).status_code == 201
        assert running.post(f"{LINEAGE}/batch", [run_event(2), run_event(3)], JSON).status_code == 200
        summary = running.stop()

    line = big.replace("\r\n", "  ")
    stored = b"".join(file.read_bytes() for file in (tmp_path / "received" / "spline").iterdir()).decode()
    assert stored.split("\n") == [
        *[f'["plan", {line}]', f'["plan", {line}, "1.1"]', f'["plan", {line}, "1.0"]'] * 2,
        '["event", {"planId":"a", "timestamp":1}]',
        '["event", {"timestamp":2.0,"planId":"b"}]',
        "",
    ]
    assert lines(tmp_path / "received", "openlineage") == [run_event(1), run_event(2), run_event(3)]
    assert summary.startswith("received 6 plans, 2 events, 3 OpenLineage events: ")


@pytest.mark.jvm
def test_a_plan_without_an_id_is_given_one(running: Receiver) -> None:
    answer = running.post(PLANS, {"operations": {}, "name": "has no id"})

    running.process.send_signal(1)  # SIGHUP
    deadline = time.monotonic() + 20
    while not (found := [body for _, body, *_ in lines(running.out) if body.get("name") == "has no id"]):
        assert time.monotonic() < deadline
    assert found == [{"operations": {}, "name": "has no id", "id": answer.json()}]


@pytest.mark.jvm
def test_an_empty_array_of_events_is_nothing(running: Receiver) -> None:
    assert running.post(EVENTS, []).json() == []
    assert running.post(f"{LINEAGE}/batch", [], JSON).status_code == 200


@pytest.mark.jvm
@pytest.mark.parametrize(
    ("path", "body", "why"),
    [
        (PLANS, b"", "not JSON: Expecting value at character 0"),
        (PLANS, b'{"id": "a", "operations"', "not JSON: Expecting ':' delimiter at character 24"),
        (PLANS, b'{"id": "a", "operations": {}} x', "not JSON: Extra data at character 30"),
        (PLANS, b'{"id": "\xff", "operations": {}}', "not UTF-8 text (byte 8)"),
        (PLANS, b"[" * 100_000, "nested too deeply"),
        (PLANS, [], "not an execution plan: expected an object with operations"),
        (PLANS, {"id": 3, "operations": {}}, "id: not a text"),
        (EVENTS, event(1), "not an array"),
        (EVENTS, b'[{"planId": "a", "timestamp": 1} {}]', "no comma or end of the array at character 33"),
        (EVENTS, b'[{"planId": "a", "timestamp": 1},', "not JSON: Expecting value at character 33"),
        (EVENTS, [event(1), {"planId": "a"}], "[1].timestamp: is missing"),
        (EVENTS, [event(1), 7], "[1].planId: missing, or not a string"),
        (LINEAGE, [run_event(1)], "not an OpenLineage event"),
        (LINEAGE, {"eventTime": "2026-11-01T06:00:00Z"}, "not an OpenLineage event"),
        (f"{LINEAGE}/batch", run_event(1), "not an array"),
        (f"{LINEAGE}/batch", [run_event(1), {}], "[1]: not an OpenLineage event"),
    ],
)
def test_an_invalid_document_is_rejected_with_the_reason(
    running: Receiver, path: str, body: object, why: str
) -> None:
    answer = running.post(path, body, JSON)

    assert answer.status_code == 400
    assert why in answer.text
    assert "\n" not in answer.text


@pytest.mark.jvm
@pytest.mark.parametrize(
    ("path", "media"),
    [
        (PLANS, ""),
        (PLANS, "text/plain"),
        (PLANS, "application/vnd.absa.spline.producer.v2+json"),
        (PLANS, "application/json; charset=iso-8859-1"),
        (EVENTS, "application/xml"),
        (LINEAGE, V12),
        (f"{LINEAGE}/batch", "application/x-ndjson"),
    ],
)
def test_other_media_types_are_rejected(running: Receiver, path: str, media: str) -> None:
    status, text = refused(running.post(path, plan(1), media))

    assert status == 415
    assert text.startswith("Content-Type: application/json")


@pytest.mark.jvm
def test_other_paths_and_methods_are_not_found(running: Receiver) -> None:
    assert running.post("/producer/execution-plan", plan(1)).status_code == 404
    assert running.session.get(running.url + PLANS, timeout=10).status_code == 405
    assert running.post("/producer/status", {}).status_code == 405


@pytest.mark.jvm
@pytest.mark.parametrize(
    ("body", "why"),
    [
        (b"", "incomplete gzip stream"),
        (b"{}", "not gzip"),
        (gzip.compress(b"{}", mtime=0)[:-1], "incomplete gzip stream"),
        (gzip.compress(b"{}", mtime=0) + b"rest", "not gzip"),
        (zlib.compress(b"{}"), "not gzip"),
    ],
)
def test_a_damaged_gzip_stream_is_rejected(running: Receiver, body: bytes, why: str) -> None:
    status, text = refused(running.post(PLANS, body, Content_Encoding="gzip"))

    assert status == 400
    assert why in text


@pytest.mark.jvm
def test_a_gzip_stream_may_have_several_members(running: Receiver) -> None:
    text = json.dumps(plan(2)).encode()

    answer = running.post(PLANS, gzip.compress(text[:9]) + gzip.compress(text[9:]), Content_Encoding="gzip")

    assert refused(answer) == (201, json.dumps(plan(2)["id"]))


@pytest.mark.jvm
def test_other_encodings_are_rejected(running: Receiver) -> None:
    answer = running.post(PLANS, plan(1), Content_Encoding="br")

    assert (answer.status_code, answer.headers["Accept-Encoding"]) == (415, "gzip")


def chunked(size: int) -> Iterator[bytes]:
    yield from [b" " * (64 << 10)] * (size // (64 << 10))


@pytest.mark.jvm
def test_too_large_bodies_are_rejected_compressed_or_not(running: Receiver) -> None:
    fits = json.dumps(plan(3, text="x" * (MEGABYTE - 200))).encode()
    assert MEGABYTE - 300 < len(fits) <= MEGABYTE
    assert running.post(PLANS, fits).status_code == 201
    packed = gzip.compress(fits)
    assert running.post(PLANS, packed, Content_Encoding="gzip").status_code == 201

    too_large = (413, "body exceeds 1,048,576 bytes")
    assert refused(running.post(PLANS, fits + b" " * 400)) == too_large
    assert (
        refused(running.post(PLANS, gzip.compress(fits + b" " * 400), Content_Encoding="gzip")) == too_large
    )
    parts = {"data": chunked(2 * MEGABYTE), "headers": {"Content-Type": V12}, "timeout": 30}
    assert refused(requests.post(running.url + PLANS, **parts)) == too_large  # type: ignore[arg-type]


def resident(running: Receiver) -> int:
    """Megabytes of memory, the most so far."""
    status = Path(f"/proc/{running.process.pid}/status").read_text()
    return int(status.partition("VmHWM:")[2].split()[0]) >> 10


@pytest.mark.jvm
@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="no /proc")
def test_a_gzip_bomb_is_rejected_without_being_decompressed(running: Receiver) -> None:
    packer = zlib.compressobj(9, wbits=31)
    bomb = b"".join(packer.compress(b" " * (8 * MEGABYTE)) for _ in range(64)) + packer.flush()
    assert len(bomb) < MEGABYTE
    before = resident(running)

    answers = [running.post(PLANS, bomb, Content_Encoding="gzip").status_code for _ in range(3)]

    assert answers == [413] * 3
    assert resident(running) - before < 100
    assert running.post(PLANS, plan(4)).status_code == 201


@pytest.mark.jvm
def test_gzip_members_are_limited(running: Receiver) -> None:
    empty = gzip.compress(b"", mtime=0)
    text = json.dumps(plan(7)).encode()

    allowed = running.post(PLANS, empty * 99 + gzip.compress(text), Content_Encoding="gzip")
    status, why = refused(running.post(PLANS, empty * (MEGABYTE // len(empty)), Content_Encoding="gzip"))

    assert allowed.status_code == 201
    assert (status, why) == (400, "body has more than 100 gzip members")


@pytest.mark.jvm
def test_the_ratio_of_a_gzip_stream_is_limited(tmp_path: Path) -> None:
    fields = {
        f"column_{n}": [{"namespace": "s3://bucket", "name": "sales", "field": f"column_{n}"}] * 400
        for n in range(200)
    }
    repetitive = json.dumps(plan(8, fields=fields)).encode()
    packed = gzip.compress(repetitive)
    assert len(repetitive) > 5 * MEGABYTE
    assert 100 < len(repetitive) / len(packed) < 300
    with receiver(tmp_path / "received") as running:
        taken = running.post(PLANS, packed, Content_Encoding="gzip")
        spaces = gzip.compress(json.dumps(plan(9)).encode() + b" " * (32 * MEGABYTE))
        bomb = running.post(PLANS, spaces, Content_Encoding="gzip")
        running.stop()

    assert taken.status_code == 201
    assert refused(bomb) == (413, "body decompresses to more than 300 times its size")
    assert [body["id"] for _, body in lines(tmp_path / "received")] == [plan(8)["id"]]


@pytest.mark.jvm
@pytest.mark.parametrize(
    ("path", "body"),
    [
        (PLANS, {"id": "\ud800", "operations": {}}),
        (PLANS, {"operations": {"\udfff": {}}}),
        (EVENTS, [{"planId": "x\ud800", "timestamp": 1}]),
        (LINEAGE, run_event(1) | {"producer": "\udc00"}),
        (f"{LINEAGE}/batch", [run_event(1), run_event(2) | {"producer": "\udc00"}]),
    ],
)
def test_a_lone_surrogate_is_rejected_and_nothing_of_the_request_stored(
    tmp_path: Path, path: str, body: object
) -> None:
    with receiver(tmp_path / "received") as running:
        status, why = refused(running.post(path, body, JSON))
        assert running.post(PLANS, plan(1)).status_code == 201
        running.stop()
        assert "Traceback" not in running.log

    assert status == 400
    assert "a lone surrogate" in why
    assert lines(tmp_path / "received") == [["plan", plan(1)]]
    assert lines(tmp_path / "received", "openlineage") == []


def begun(running: Receiver, body: bytes, length: int) -> socket.socket:
    """A connection over which a part of a request's body was sent."""
    connection = socket.create_connection(("127.0.0.1", running.port), timeout=30)
    head = f"POST {PLANS} HTTP/1.1\r\nHost: x\r\nContent-Type: {V12}\r\nContent-Length: {length}\r\n\r\n"
    connection.sendall(head.encode() + body)
    return connection


@pytest.mark.jvm
def test_the_memory_of_bodies_is_limited(running: Receiver) -> None:
    body = json.dumps(plan(5, text="x" * 1_000_000)).encode()
    senders = [begun(running, body[:-9], len(body)) for _ in range(5)]

    (busy,), _, _ = select.select(senders, [], [], 30)
    assert busy.recv(20).startswith(b"HTTP/1.1 503 ")
    senders.remove(busy)
    busy.close()
    for each in senders:
        each.sendall(body[-9:])
        assert each.recv(20).startswith(b"HTTP/1.1 201 ")
        each.close()


@pytest.mark.jvm
def test_a_disconnected_sender_leaves_nothing(tmp_path: Path) -> None:
    body = json.dumps(plan(6)).encode()
    with receiver(tmp_path / "received") as running:
        begun(running, body[:-1], len(body)).close()
        deadline = time.monotonic() + 20
        while "connection closed within the body" not in running.log:
            assert time.monotonic() < deadline, running.log
        running.stop()
        assert "Traceback" not in running.log

    assert lines(tmp_path / "received") == []


def unfinished_heads(running: Receiver, number: int) -> list[socket.socket]:
    """Connections over which a part of a request's head was sent."""
    found = [socket.create_connection(("127.0.0.1", running.port)) for _ in range(number)]
    for each in found:
        each.sendall(b"POST /api/v1/lineage HTTP/1.1\r\nHost: x\r\n")
    return found


@pytest.mark.jvm
def test_connections_without_a_whole_head_keep_no_request_out(tmp_path: Path) -> None:
    with receiver(tmp_path / "received") as running:
        idle = unfinished_heads(running, 300)
        answers = [
            requests.post(running.url + PLANS, json.dumps(plan(1)), headers={"Content-Type": V12}, timeout=30)
            for _ in range(20)
        ]
        assert requests.get(f"{running.url}/health", timeout=30).text == "ok"
        for each in idle:
            each.close()

    assert [answer.status_code for answer in answers] == [201] * 20


@pytest.mark.jvm
def test_of_connections_without_a_whole_head_the_oldest_are_closed(tmp_path: Path) -> None:
    with receiver(tmp_path / "received", "--max-connections", "3") as running:
        idle = unfinished_heads(running, 9)
        for each in idle[:3]:
            each.settimeout(30)
            assert ended(each)
        for each in idle[-3:]:
            each.sendall(b"\r\n")
            assert each.recv(20).startswith(b"HTTP/1.1 415 ")
        for each in idle:
            each.close()


def ended(connection: socket.socket) -> bool:
    """Whether the other side ends a connection without an answer."""
    try:
        return not connection.recv(1)
    except ConnectionResetError:
        return True


_WITH_A_SHORT_LIMIT = """
import sys
from pathlib import Path
from lineage_merge.receiver.journal import Limits
from lineage_merge.receiver.serving import ReceiverSettings, receive

limits = Limits(1 << 20, 60)
settings = ReceiverSettings(
    Path(sys.argv[1]), "127.0.0.1", 0, ("secret",), 1 << 20, 8, limits, 0, head_seconds=0.3
)
receive(settings, lambda line: print(line, flush=True))
"""


def test_a_connection_over_which_no_whole_head_comes_is_closed(tmp_path: Path) -> None:
    words = [sys.executable, "-c", _WITH_A_SHORT_LIMIT, str(tmp_path / "received")]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout
            found = re.search(r":([0-9]+), files", process.stdout.readline())
            assert found
            address = ("127.0.0.1", int(found[1]))
            for begun_with in (b"", b"GET /hea", b"GET /health HTTP/1.1\r\nHost: x\r\n\r\nGET /hea"):
                with socket.create_connection(address, timeout=30) as connection:
                    connection.sendall(begun_with)
                    if begun_with.count(b"GET") > 1:
                        assert connection.recv(20).startswith(b"HTTP/1.1 200 ")
                        connection.sendall(b"lth")
                    while not ended(connection):
                        pass
            with socket.create_connection(address, timeout=30) as connection:
                # Refused without a token, before its body is there. That it trickles in keeps nothing open.
                connection.sendall(
                    f"POST {PLANS} HTTP/1.1\r\nHost: x\r\nContent-Length: 999\r\n\r\n".encode()
                )
                assert connection.recv(20).startswith(b"HTTP/1.1 401 ")
                connection.sendall(b" ")
                while not ended(connection):
                    pass
        finally:
            process.kill()


@pytest.mark.jvm
def test_concurrent_requests_are_limited(tmp_path: Path) -> None:
    body = json.dumps(plan(1)).encode()
    with receiver(tmp_path / "received", "--max-connections", "3") as running:
        senders = [begun(running, body[:-1], len(body)) for _ in range(3)]
        deadline = time.monotonic() + 20
        while (busy := requests.get(f"{running.url}/health", timeout=10)).status_code != 503:
            assert time.monotonic() < deadline
        assert (busy.text, busy.headers["Retry-After"]) == ("too many requests at once: try again", "5")
        for each in senders:
            each.sendall(body[-1:])
            assert each.recv(20).startswith(b"HTTP/1.1 201 ")
            each.close()
        assert running.post(PLANS, plan(1)).status_code == 201


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Receiver]:
    """One with two tokens, so that one can be replaced by another."""
    flags = ("--token-env", "OLD", "--token-env", "NEW")
    out = tmp_path_factory.mktemp("token") / "received"
    with receiver(out, *flags, OLD="geheim-alt", NEW="geheim-neu") as found:
        yield found


@pytest.mark.jvm
@pytest.mark.parametrize("token", ["Bearer geheim-alt", "bearer  geheim-neu"])
def test_a_known_token_is_accepted(guarded: Receiver, token: str) -> None:
    assert guarded.post(PLANS, plan(1), Authorization=token).status_code == 201
    assert guarded.post(LINEAGE, run_event(1), JSON, Authorization=token).status_code == 201


@pytest.mark.jvm
@pytest.mark.parametrize(
    "token", ["", "Bearer", "Bearer geheim", "Basic geheim-alt", "geheim-alt", "Bearer é"]
)
def test_a_missing_or_unknown_token_is_rejected(guarded: Receiver, token: str) -> None:
    for path in (PLANS, EVENTS, LINEAGE, f"{LINEAGE}/batch"):
        headers = {"Authorization": token.encode()} if token else {}
        answer = requests.post(guarded.url + path, b"{}", headers=headers, timeout=10)
        assert answer.status_code == 401
        assert answer.headers["WWW-Authenticate"] == "Bearer"


@pytest.mark.jvm
def test_the_health_needs_no_token_and_shows_none(guarded: Receiver) -> None:
    guarded.post(PLANS, plan(1), Authorization="Bearer geheim-falsch")

    assert requests.get(f"{guarded.url}/health", timeout=10).text == "ok"
    assert requests.head(f"{guarded.url}/producer/status", timeout=10).status_code == 200
    assert "geheim" not in guarded.log


@pytest.mark.jvm
def test_many_senders_at_once_lose_nothing(tmp_path: Path) -> None:
    def send(sender: int) -> list[int]:
        with requests.Session() as session:
            return [
                session.post(
                    taking.url + PLANS,
                    json.dumps(plan(sender * 100 + each, text="x" * (each * 97))),
                    headers={"Content-Type": V12},
                    timeout=30,
                ).status_code
                for each in range(25)
            ]

    with (
        receiver(tmp_path / "received") as taking,
        concurrent.futures.ThreadPoolExecutor(8) as senders,
    ):
        assert {code for codes in senders.map(send, range(8)) for code in codes} == {201}
        taking.stop()

    found = [body["id"] for _, body in lines(tmp_path / "received")]
    assert sorted(found) == [plan(sender * 100 + each)["id"] for sender in range(8) for each in range(25)]
