"""The queue and its thread: nothing raises into the job, nothing blocks it, losses are counted."""

import logging
import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest

from lineage_merge.model.errors import SourceUnreachable
from lineage_merge.spark_capture.listener.executions import Execution
from lineage_merge.spark_capture.listener.lines import Messages
from lineage_merge.spark_capture.listener.nested_writes import Write
from lineage_merge.spark_capture.listener.recorder import Limits, Recorder
from tests.capture.listener.listener_documents import document, write

SOON = Limits(seconds=0.01)
LATER = Limits(seconds=3600.0)


class Job:
    """Executions whose query is the number of the write; deliveries fail as long as `reason` is set."""

    def __init__(self) -> None:
        self.delivered: list[str] = []
        self.batches = 0
        self.reason: Exception | None = None
        self.waits = threading.Event()
        self.waits.set()

    def recorder(self, limits: Limits = LATER) -> Recorder:
        return Recorder(self._convert, self._serialize, self._deliver, limits)

    def _convert(self, execution: Execution) -> Write | None:
        self.waits.wait(30)
        if isinstance(execution.query, Exception):
            raise execution.query
        if isinstance(execution.query, Write):
            return execution.query
        number = execution.query
        return write(document(f"file:/lake/{number}", [number])) if number else None

    def _serialize(self, made: Write) -> Messages:
        target = made.document.document["operations"]["write"]["outputSource"]
        return Messages(str(target).encode(), str(dict(made.counts)).encode())

    def _deliver(self, batch: list[Messages]) -> None:
        if self.reason:
            raise self.reason
        self.batches += 1
        self.delivered += [each.plan.decode().rpartition("/")[2] for each in batch]


@pytest.fixture
def job() -> Iterator[Job]:
    made = Job()
    yield made
    made.waits.set()


def execution(query: Any) -> Execution:
    return Execution(query, 10, 9)


def test_writes_are_delivered_in_one_batch(job: Job) -> None:
    recorder = job.recorder()
    for number in (1, 0, 2):  # 0 writes nothing
        recorder.offer(execution(number))

    assert recorder.flush(10)
    assert (job.delivered, job.batches) == (["1", "2"], 1)
    assert (recorder.counts.executions, recorder.counts.delivered) == (3, 2)


def test_writes_are_delivered_by_themselves_after_a_time(job: Job) -> None:
    recorder = job.recorder(SOON)
    recorder.offer(execution(1))

    deadline = time.monotonic() + 10
    while not job.delivered and time.monotonic() < deadline:
        time.sleep(0.01)
    assert job.delivered == ["1"]
    recorder.close(1)


def test_a_full_queue_drops_executions_and_says_so_once(job: Job, caplog: pytest.LogCaptureFixture) -> None:
    job.waits.clear()
    recorder = job.recorder(Limits(executions=2, seconds=3600.0))
    for number in range(1, 21):
        recorder.offer(execution(number))
    job.waits.set()

    assert recorder.flush(10)
    dropped = recorder.counts.dropped
    # One may be in work while two wait.
    assert dropped in (17, 18)
    assert len(job.delivered) == 20 - dropped
    assert [each.levelno for each in caplog.records if "some are not recorded" in each.message] == [
        logging.WARNING
    ]


def test_a_plan_that_cannot_be_read_is_counted_and_others_are_read(
    job: Job, caplog: pytest.LogCaptureFixture
) -> None:
    recorder = job.recorder()
    for query in (ValueError("a secret"), 1, ValueError("another one"), 2):
        recorder.offer(execution(query))

    assert recorder.flush(10)
    assert (job.delivered, recorder.counts.failed) == (["1", "2"], 2)
    warnings = [each.message for each in caplog.records if each.levelno == logging.WARNING]
    assert warnings == ["lineage: a write is not recorded: ValueError"]


def test_an_unreachable_target_blocks_nothing_and_is_tried_again(
    job: Job, caplog: pytest.LogCaptureFixture
) -> None:
    job.reason = SourceUnreachable("s3://bucket: no connection")
    recorder = job.recorder()
    recorder.offer(execution(1))
    assert recorder.flush(10)
    recorder.offer(execution(2))
    assert recorder.flush(10)
    assert (job.delivered, recorder.counts.undelivered) == ([], 2)
    job.reason = None

    assert recorder.flush(10)
    assert job.delivered == ["1", "2"]
    warnings = [each.message for each in caplog.records if each.levelno == logging.WARNING]
    assert warnings == ["lineage: not delivered, which is tried again: s3://bucket: no connection"]


@pytest.mark.parametrize("limits", [Limits(writes=2, seconds=3600.0), Limits(bytes_=30, seconds=3600.0)])
def test_of_what_cannot_be_delivered_the_newest_stay(job: Job, limits: Limits) -> None:
    job.reason = OSError()
    recorder = job.recorder(limits)
    for number in (1, 2, 3, 4):
        recorder.offer(execution(number))
    assert recorder.flush(10)
    job.reason = None

    assert recorder.flush(10)
    assert (job.delivered, recorder.counts.lost) == (["3", "4"], 2)


def test_closing_ends_in_time_and_says_what_is_lost(job: Job, caplog: pytest.LogCaptureFixture) -> None:
    job.waits.clear()
    recorder = job.recorder()
    recorder.offer(execution(1))
    start = time.monotonic()

    recorder.close(0.05)

    assert time.monotonic() - start < 10
    assert "not delivered within 0.05 s" in caplog.text
    recorder.offer(execution(2))
    assert recorder.counts.executions == 1


def test_a_write_within_another_one_is_a_part_of_it_also_after_its_delivery(job: Job) -> None:
    named = {"table": {"identifier": {"database": "db", "table": "sales"}}}
    inner = write(started=5, counts={"numOutputRows": 3})
    outer = write(document(params=named), started=1)
    less = write(started=1)
    recorder = job.recorder()
    for query in (inner, outer):
        recorder.offer(execution(query))
    assert recorder.flush(10)
    assert (job.delivered, recorder.counts.writes) == (["sales"], 1)

    recorder.offer(execution(inner))
    assert recorder.flush(10)
    recorder.offer(execution(less))
    assert recorder.flush(10)
    # It adds nothing to what was delivered.
    assert job.delivered == ["sales", "sales"]


def test_the_thread_does_not_keep_the_process_alive(job: Job) -> None:
    job.recorder()

    assert all(each.daemon for each in threading.enumerate() if each.name == "lineage_merge-capture")
