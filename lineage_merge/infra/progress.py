"""Progress callbacks of long-running operations, and counts of Spark's tasks in their lines.

``joining (stage 7: 120 of 400 tasks)``: stages of the merge report when they begin, and may take minutes.
"""

import re
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark import StatusTracker
    from pyspark.sql import SparkSession


ProgressCallback = Callable[[str], None]


def no_progress(_line: str) -> None:
    """Discard progress messages."""


_EVERY_SECONDS = 2.0
# Fewer tasks run at the same time, so that a count says nothing.
_FEWEST_TASKS = 4
_HAS_COUNT = re.compile(r"\d of \d")


@contextmanager
def count_tasks(
    spark: "SparkSession", on_progress: ProgressCallback, every_seconds: float = _EVERY_SECONDS
) -> Iterator[ProgressCallback]:
    """Yield a callback that repeats its last line with the tasks of the running stage until the next one.

    A line with a count of its own is not repeated.
    """
    counter = _TaskCounter(spark.sparkContext.statusTracker(), on_progress)
    ended = threading.Event()

    def poll() -> None:
        while not ended.wait(every_seconds):
            try:
                counter.report()
            except Exception:  # noqa: BLE001 - Spark is ending; progress must not fail a merge
                return

    thread = threading.Thread(target=poll, name="progress of Spark", daemon=True)
    thread.start()
    try:
        yield counter.on_progress
    finally:
        ended.set()
        thread.join(every_seconds)


class _TaskCounter:
    def __init__(self, tracker: "StatusTracker", on_progress: ProgressCallback) -> None:
        self._tracker = tracker
        self._on_progress = on_progress
        self._line = ""
        self._lock = threading.Lock()

    def on_progress(self, line: str) -> None:
        """Report a line, and remember it."""
        with self._lock:
            self._line = "" if _HAS_COUNT.search(line) else line
            self._on_progress(line)

    def report(self) -> None:
        """Report the last line with the tasks of the largest running stage."""
        before = self._line
        if not before:
            return
        infos = (self._tracker.getStageInfo(identifier) for identifier in self._tracker.getActiveStageIds())
        stages = [(info.numTasks, info.numCompletedTasks, info.stageId) for info in infos if info]
        total, done, stage = max(stages, default=(0, 0, 0))
        with self._lock:
            # The line may have changed meanwhile.
            if total >= _FEWEST_TASKS and self._line == before:
                self._on_progress(f"{before} (stage {stage}: {done} of {total} tasks)")
