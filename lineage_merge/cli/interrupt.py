"""Handling of Ctrl-C in Spark sessions.

PySpark's own handler calls Java in the middle of another call to Java: it prints tracebacks and often
continues as if nothing had happened. A Ctrl-C during Java's start leaves that process behind. So the start
is never interrupted, and a running call is ended by cancelling Spark's jobs.
"""

import _thread
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from importlib import import_module
from types import FrameType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from lineage_merge.config import SparkOptions

_RETRY_SECONDS = 0.3


@contextmanager
def session(options: "SparkOptions", on_progress: Callable[[str], None]) -> Iterator["SparkSession"]:
    """Yield `infra.spark_session.session`; Ctrl-C ends it with `KeyboardInterrupt`.

    While the JVM starts, the pipeline's modules are imported.
    """
    from lineage_merge.infra import spark_session

    if threading.current_thread() is not threading.main_thread():
        with spark_session.session(options, on_progress, _import_pipeline) as running:
            yield running  # only the main thread receives signals
        return
    interrupt = _Interrupt()
    before = signal.signal(signal.SIGINT, interrupt.on_start)
    try:
        with (
            spark_session.session(options, on_progress, _import_pipeline) as running,
            interrupt.cancelling_jobs(running),
        ):
            yield running
    finally:
        signal.signal(signal.SIGINT, before)


def _import_pipeline() -> None:
    with suppress(Exception):  # the caller imports what it needs, and gets the error
        import_module("lineage_merge.orchestration.pipeline")
        import_module("pyarrow.parquet")


class _Interrupt:
    """State and handlers of Ctrl-C."""

    def __init__(self) -> None:
        self._requested = threading.Event()
        self._finished = threading.Event()
        self._running: SparkSession | None = None

    def on_start(self, _signal: int, _frame: FrameType | None) -> None:
        """Remember the signal; the handler while Spark starts or stops."""
        self._requested.set()

    @contextmanager
    def cancelling_jobs(self, running: "SparkSession") -> Iterator[None]:
        """Raise `KeyboardInterrupt` on Ctrl-C, whatever error the cancelled jobs raise."""
        self._running = running
        signal.signal(signal.SIGINT, self._handle)
        try:
            self._raise_if_requested()
            yield
        except Exception:
            if self._requested.is_set():
                raise KeyboardInterrupt from None  # the error of a cancelled job
            raise
        finally:
            self._finished.set()
            signal.signal(signal.SIGINT, self.on_start)

    def _raise_if_requested(self) -> None:
        if self._requested.is_set():
            raise KeyboardInterrupt

    def _handle(self, _signal: int, frame: FrameType | None) -> None:
        first = not self._requested.is_set()
        self._requested.set()
        if _is_in_py4j(frame):
            # Raising here would leave a partial response in the connection to Java.
            if first:
                threading.Thread(target=self._cancel_jobs, name="end of Spark's jobs", daemon=True).start()
        elif first or sys.exc_info()[0] is None:  # otherwise the session is already ending
            self._finished.set()
            raise KeyboardInterrupt

    def _cancel_jobs(self) -> None:
        while not self._finished.is_set():
            with suppress(Exception):
                assert self._running is not None  # noqa: S101 (set before the handler)
                self._running.sparkContext.cancelAllJobs()
            if not self._finished.wait(_RETRY_SECONDS):
                _thread.interrupt_main()  # no job was running: _handle checks again


def _is_in_py4j(frame: FrameType | None) -> bool:
    while frame is not None:
        if frame.f_globals.get("__name__", "").startswith("py4j."):
            return True
        frame = frame.f_back
    return False
