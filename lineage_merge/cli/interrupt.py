"""Ctrl-C around Spark.

PySpark's own handler talks to Java in the middle of another call to Java: it prints
tracebacks, and often goes on as if nothing had happened. And a Ctrl-C while Java starts
leaves that process behind. So here a start is never cut short, and a call that is under way
is ended from outside, by cancelling Spark's jobs.
"""

import _thread
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from types import FrameType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from lineage_merge.config import SparkOptions

_AGAIN_SECONDS = 0.3


@contextmanager
def session(options: "SparkOptions", on_progress: Callable[[str], None]) -> Iterator["SparkSession"]:
    """Yield `infra.spark_session.session`; Ctrl-C ends it with `KeyboardInterrupt`."""
    from lineage_merge.infra import spark_session

    if threading.current_thread() is not threading.main_thread():
        with spark_session.session(options, on_progress) as running:
            yield running  # only the main thread gets signals
        return
    interrupt = _Interrupt()
    before = signal.signal(signal.SIGINT, interrupt.remember)
    try:
        with spark_session.session(options, on_progress) as running, interrupt.ending_jobs_of(running):
            yield running
    finally:
        signal.signal(signal.SIGINT, before)


class _Interrupt:
    """What became of Ctrl-C."""

    def __init__(self) -> None:
        self._asked = threading.Event()
        self._over = threading.Event()
        self._running: SparkSession | None = None

    def remember(self, _signal: int, _frame: FrameType | None) -> None:
        """The handler while Spark starts or stops."""
        self._asked.set()

    @contextmanager
    def ending_jobs_of(self, running: "SparkSession") -> Iterator[None]:
        """Ctrl-C inside raises `KeyboardInterrupt`, whatever error its jobs may end with."""
        self._running = running
        signal.signal(signal.SIGINT, self._handle)
        try:
            self._end_if_asked()
            yield
        except Exception:
            if self._asked.is_set():
                raise KeyboardInterrupt from None  # the error of a cancelled job
            raise
        finally:
            self._over.set()
            signal.signal(signal.SIGINT, self.remember)

    def _end_if_asked(self) -> None:
        if self._asked.is_set():
            raise KeyboardInterrupt

    def _handle(self, _signal: int, frame: FrameType | None) -> None:
        first = not self._asked.is_set()
        self._asked.set()
        if _calls_java(frame):
            # To raise here would leave the connection to Java with half an answer in it.
            if first:
                threading.Thread(target=self._end_jobs, name="end of Spark's jobs", daemon=True).start()
        elif first or sys.exc_info()[0] is None:  # else it ends already, and may be saving
            self._over.set()
            raise KeyboardInterrupt

    def _end_jobs(self) -> None:
        while not self._over.is_set():
            with suppress(Exception):
                assert self._running is not None  # noqa: S101 (set before the handler)
                self._running.sparkContext.cancelAllJobs()
            if not self._over.wait(_AGAIN_SECONDS):
                _thread.interrupt_main()  # in case no job was running: _handle looks again


def _calls_java(frame: FrameType | None) -> bool:
    while frame is not None:
        if frame.f_globals.get("__name__", "").startswith("py4j."):
            return True
        frame = frame.f_back
    return False
