"""Durability of acknowledged documents: after a kill, with a full disk, with several receivers."""

import concurrent.futures
import json
import os
import resource
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import requests

from lineage_merge.receiver.journal import Journal, Limits, locate_finished, locate_unfinished
from tests.command_line import command
from tests.receiver import V12, Receiver, event, lines, plan, receiver, run_event, unfinished
from tests.s3_fixtures import S3

PLANS = "/producer/execution-plans"
EVENTS = "/producer/execution-events"


def wait_until(running: Receiver, expected: str) -> None:
    deadline = time.monotonic() + 30
    while expected not in running.log:
        assert time.monotonic() < deadline, running.log
        time.sleep(0.02)


def stream(url: str, sender: int, taken: set[str], stop: threading.Event) -> None:
    """Post until the receiver has stopped; `taken` are the ids that it acknowledged."""
    with requests.Session() as session:
        for number in range(100_000):
            body = json.dumps(plan(sender * 100_000 + number, text="x" * (number % 40 * 1000)))
            try:
                answer = session.post(url + PLANS, body, headers={"Content-Type": V12}, timeout=30)
            except requests.RequestException:
                return
            if answer.status_code == 201:
                taken.add(answer.json())
            if stop.is_set():
                return


@pytest.mark.jvm
def test_what_was_acknowledged_outlives_a_kill_in_a_stream_of_posts(tmp_path: Path) -> None:
    out = tmp_path / "received"
    taken: set[str] = set()
    for _ in range(3):
        before = len(taken)
        with receiver(out, "--file-megabytes", "1") as running:
            stop = threading.Event()
            with concurrent.futures.ThreadPoolExecutor(4) as senders:
                work = [
                    senders.submit(stream, running.url, before + sender, taken, stop) for sender in range(4)
                ]
                while len(taken) < before + 150:
                    time.sleep(0.01)
                running.stop(signal.SIGKILL)
                stop.set()
            for each in work:
                each.result()
    with receiver(out) as running:
        running.stop()

    found = lines(out)
    assert {kind for kind, _ in found} == {"plan"}
    # One more of each sender may have been written before it could be acknowledged.
    ids = {body["id"] for _, body in found}
    assert taken <= ids
    assert len(ids - taken) <= 12
    assert unfinished(out) == []


@pytest.mark.jvm
def test_half_a_line_is_cut_off_at_the_next_start(tmp_path: Path) -> None:
    out = tmp_path / "received"
    with receiver(out) as running:
        running.post(PLANS, plan(1))
        running.post("/api/v1/lineage", run_event(1), "application/json")
        running.stop(signal.SIGKILL)
    spline, openlineage = sorted(unfinished(out), key=lambda path: path.parent.name, reverse=True)
    with spline.open("ab") as file:
        file.write(b'["plan", {"id": "hal')
    openlineage.write_bytes(b'{"eventTime": "2026-1')

    with receiver(out) as running:
        assert "20 bytes of a partial line cut off" in running.log
        assert "0 bytes, 21 bytes of a partial line cut off" in running.log
        running.stop()

    assert lines(out) == [["plan", plan(1)]]
    assert lines(out, "openlineage") == []
    assert unfinished(out) == []


def small_files() -> None:
    """Files of this process may not grow above 64 KiB: a write within reach of it is cut short."""
    resource.setrlimit(resource.RLIMIT_FSIZE, (64 << 10, 64 << 10))


@pytest.mark.jvm
def test_what_does_not_fit_on_the_disk_is_neither_acknowledged_nor_stored(tmp_path: Path) -> None:
    out = tmp_path / "received"
    with receiver(out, prepare=small_files) as running:
        first = running.post(PLANS, plan(1, text="x" * 40_000))
        full = running.post(PLANS, plan(2, text="x" * 40_000))
        after = running.post(PLANS, plan(3))
        summary = running.stop()

    assert (first.status_code, full.status_code, after.status_code) == (201, 507, 201)
    assert full.text == "not stored: File too large"
    assert [body["id"] for _, body in lines(out)] == [plan(1)["id"], plan(3)["id"]]
    assert "could not store 1" in summary


@pytest.mark.jvm
def test_nothing_is_accepted_when_the_disk_is_almost_full(tmp_path: Path) -> None:
    with receiver(tmp_path / "received", "--keep-free", str(1 << 40)) as running:
        assert running.post(PLANS, plan(1)).status_code == 507
        assert requests.head(f"{running.url}/producer/status", timeout=10).status_code == 503
        assert requests.get(f"{running.url}/health", timeout=10).status_code == 503
        running.stop()

    assert lines(tmp_path / "received") == []


@pytest.mark.jvm
def test_a_deleted_folder_is_no_acknowledgement(tmp_path: Path) -> None:
    out = tmp_path / "received"
    with receiver(out) as running:
        (out / ".unfinished" / "spline").rmdir()
        answer = running.post(PLANS, plan(1))
        (out / ".unfinished" / "spline").mkdir()
        again = running.post(PLANS, plan(1))
        running.stop()

    assert (answer.status_code, answer.text) == (503, "not stored: No such file or directory")
    assert again.status_code == 201
    assert lines(out) == [["plan", plan(1)]]


def remove(out: Path) -> None:
    shutil.rmtree(out)


def rename(out: Path) -> None:
    out.rename(out.with_name("elsewhere"))


def make_again_empty(out: Path) -> None:
    shutil.rmtree(out)
    out.mkdir()


@pytest.mark.jvm
@pytest.mark.parametrize("remove_folder", [remove, rename, make_again_empty])
def test_without_its_folder_a_receiver_acknowledges_nothing_and_answers_503(
    tmp_path: Path, remove_folder: Callable[[Path], None]
) -> None:
    out = tmp_path / "received"
    with receiver(out) as running:
        # A file is open: writes to it would succeed even where it has no name any more.
        assert running.post(PLANS, plan(1)).status_code == 201
        remove_folder(out)
        answers = [
            running.post(PLANS, plan(2)),
            running.post(PLANS, plan(3)),
            running.post("/api/v1/lineage", run_event(1), "application/json"),
            requests.get(f"{running.url}/health", timeout=30),
            requests.head(f"{running.url}/producer/status", timeout=30),
        ]
        assert "Traceback" not in running.log
    assert [answer.status_code for answer in answers] == [503] * 5
    assert answers[0].text == "not stored: No such file or directory"


def test_a_write_to_a_file_that_lost_its_name_is_no_acknowledgement(tmp_path: Path) -> None:
    journal = Journal(tmp_path, "spline", Limits(1 << 20, 60))
    for folder in (locate_unfinished(tmp_path, "spline"), locate_finished(tmp_path, "spline")):
        folder.mkdir(parents=True)
    journal.append(b"{}\n")
    (file,) = locate_unfinished(tmp_path, "spline").iterdir()
    file.unlink()

    with pytest.raises(FileNotFoundError):
        journal.append(b"{}\n")
    journal.append(b"[]\n")
    journal.finish()

    assert [file.read_bytes() for file in locate_finished(tmp_path, "spline").iterdir()] == [b"[]\n"]


@pytest.mark.jvm
def test_what_is_no_file_among_unfinished_ones_is_named_and_left_alone(tmp_path: Path) -> None:
    out, foreign = tmp_path / "received", tmp_path / "foreign.jsonl"
    foreign.write_bytes(b"first\nwithout a line feed")
    unfinished_files = out / ".unfinished" / "spline"
    unfinished_files.mkdir(parents=True)
    unfinished_files.joinpath("a-link.jsonl").symlink_to(foreign)
    unfinished_files.joinpath("a-link-to-nothing.jsonl").symlink_to(tmp_path / "missing.jsonl")
    unfinished_files.joinpath("a-folder.jsonl").mkdir()
    unfinished_files.joinpath("a-folder of\ntwo lines").mkdir()
    os.mkfifo(unfinished_files / "a-fifo.jsonl")
    unfinished_files.joinpath("crashed.jsonl").write_bytes(b'["plan", {"id": "a"}]\n["pl')

    with receiver(out) as running:
        assert running.post(PLANS, plan(1)).status_code == 201
        running.stop()
        (line,) = [line for line in running.log.splitlines() if "ignored" in line]

    assert line.partition("ignored, not files of a receiver: ")[2].split(", ") == [
        f"{unfinished_files}/{entry}"
        for entry in (
            "a-fifo.jsonl (a FIFO)",
            "a-folder of\\ntwo lines (a folder)",
            "a-folder.jsonl (a folder)",
            "a-link-to-nothing.jsonl (a symbolic link)",
            "a-link.jsonl (a symbolic link)",
        )
    ]
    assert foreign.read_bytes() == b"first\nwithout a line feed"
    assert not tmp_path.joinpath("missing.jsonl").exists()
    assert sorted(each.name for each in unfinished_files.iterdir()) == [
        "a-fifo.jsonl",
        "a-folder of\ntwo lines",
        "a-folder.jsonl",
        "a-link-to-nothing.jsonl",
        "a-link.jsonl",
    ]
    assert sorted(body["id"] for _, body in lines(out)) == sorted(["a", plan(1)["id"]])


@pytest.mark.jvm
@pytest.mark.parametrize("link", [".unfinished", ".unfinished/openlineage"])
def test_unfinished_files_are_not_written_through_a_link(tmp_path: Path, link: str) -> None:
    out, elsewhere = tmp_path / "received", tmp_path / "elsewhere"
    elsewhere.mkdir()
    out.joinpath(link).parent.mkdir(parents=True)
    out.joinpath(link).symlink_to(elsewhere)

    words = command("receive", "--out", out, "--port", "0")
    done = subprocess.run(words, capture_output=True, text=True, timeout=60, check=False)

    assert done.returncode == 3
    assert done.stderr.strip().endswith(f"{out}/{link}: a symbolic link, not a folder of a receiver")
    assert list(elsewhere.rglob("*.jsonl")) == []


@pytest.mark.jvm
def test_files_are_finished_by_size_and_never_changed_again(tmp_path: Path) -> None:
    out = tmp_path / "received"
    with receiver(out, "--file-megabytes", "1") as running:
        for number in range(8):
            assert running.post(PLANS, plan(number, text="x" * 400_000)).status_code == 201
        finished = {path: path.read_bytes() for path in (out / "spline").iterdir()}
        running.stop()

    assert [len(data.splitlines()) for _, data in sorted(finished.items())] == [3, 3]
    assert {path: path.read_bytes() for path in finished} == finished
    assert [body["id"] for _, body in lines(out)] == [plan(number)["id"] for number in range(8)]


@pytest.mark.jvm
def test_files_are_finished_by_age_and_on_request(tmp_path: Path) -> None:
    out = tmp_path / "received"
    with receiver(out, "--file-seconds", "1") as running:
        running.post(PLANS, plan(1))
        wait_until(running, "finished spline/")
        assert lines(out) == [["plan", plan(1)]]
        running.stop()
    with receiver(out) as running:
        running.post(PLANS, plan(2))
        running.post("/api/v1/lineage", run_event(2), "application/json")
        running.process.send_signal(signal.SIGHUP)
        wait_until(running, "finished spline/")
        wait_until(running, "finished openlineage/")
        assert lines(out) == [["plan", plan(1)], ["plan", plan(2)]]
        assert lines(out, "openlineage") == [run_event(2)]
        running.stop()

    assert len(list((out / "spline").iterdir())) == 2


@pytest.mark.jvm
def test_two_receivers_on_one_folder_use_separate_files(tmp_path: Path) -> None:
    out = tmp_path / "received"
    with receiver(out) as one:
        one.post(PLANS, plan(1))
        (of_one,) = unfinished(out)
        with receiver(out) as two:
            two.post(PLANS, plan(2))
            one.post(EVENTS, [event(1)])
            assert of_one in unfinished(out)
            assert len(unfinished(out)) == 2
            two.stop()
        one.stop()

    files = sorted((out / "spline").iterdir())
    assert [[json.loads(line) for line in file.read_text().splitlines()] for file in files] == [
        [["plan", plan(1)], ["event", event(1)]],
        [["plan", plan(2)]],
    ]


@pytest.mark.jvm
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_stopped_receiver_finishes_requests_and_files(tmp_path: Path, number: signal.Signals) -> None:
    out = tmp_path / "received"
    first, second = json.dumps(plan(1)).encode()[:30], json.dumps(plan(1)).encode()[30:]
    half_sent = threading.Event()

    def slowly() -> Iterator[bytes]:
        yield first
        half_sent.set()
        time.sleep(1)
        yield second

    with receiver(out) as running, concurrent.futures.ThreadPoolExecutor(1) as sender:
        running_request = sender.submit(
            requests.post, running.url + PLANS, data=slowly(), headers={"Content-Type": V12}, timeout=30
        )
        assert half_sent.wait(20)
        time.sleep(0.2)
        summary = running.stop(number)
        answer = running_request.result()

    assert (answer.status_code, answer.json()) == (201, plan(1)["id"])
    assert lines(out) == [["plan", plan(1)]]
    assert unfinished(out) == []
    assert summary.startswith("received 1 plan, 0 events, 0 OpenLineage events: ")


_STOPPED_AT_ONCE = """
import os, signal, sys
from pathlib import Path
from lineage_merge.receiver.journal import Limits
from lineage_merge.receiver.serving import ReceiverSettings, receive

def say(line):
    if line.startswith("listening"):
        os.kill(os.getpid(), signal.SIGTERM)

limits = Limits(1 << 20, 60)
print(receive(ReceiverSettings(Path(sys.argv[1]), "127.0.0.1", 0, (), 1 << 20, 8, limits, 0), say))
"""


def test_a_receiver_can_be_stopped_as_soon_as_it_says_that_it_listens(tmp_path: Path) -> None:
    words = [sys.executable, "-c", _STOPPED_AT_ONCE, str(tmp_path / "received")]
    done = subprocess.run(words, capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("received 0 plans")


@pytest.mark.jvm
def test_finished_files_are_moved_to_s3(tmp_path: Path, s3: S3) -> None:
    out = tmp_path / "received"
    with receiver(out, "--upload", "s3://lineage/received", "--file-seconds", "1") as running:
        running.post(PLANS, plan(1))
        wait_until(running, "no bucket for s3://lineage/received/spline/")
        assert lines(out) == [["plan", plan(1)]]
        s3.client.create_bucket(Bucket="lineage")
        running.post("/api/v1/lineage", run_event(1), "application/json")
        deadline = time.monotonic() + 30
        while "received/openlineage/" not in str(s3.client.list_objects_v2(Bucket="lineage")):
            assert time.monotonic() < deadline, running.log
            time.sleep(0.1)
        running.post(PLANS, plan(2))
        running.stop()

    keys = [each["Key"] for each in s3.client.list_objects_v2(Bucket="lineage")["Contents"]]
    bodies = [s3.client.get_object(Bucket="lineage", Key=key)["Body"].read() for key in keys]
    assert [key.rpartition("/")[0] for key in keys] == ["received/openlineage", *["received/spline"] * 2]
    assert [json.loads(body) for body in bodies] == [run_event(1), ["plan", plan(1)], ["plan", plan(2)]]
    assert list((out / "spline").iterdir()) == []
