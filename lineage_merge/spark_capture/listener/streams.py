"""What Spark reports of streams: the Py4J side of a `StreamingQueryListener`.

A `QueryExecutionListener` does not get what a stream writes to its own sink. It gets what `foreachBatch`
writes, but that batch's plan is found at the stream, which may have ended when the plan is read.
"""

from collections import deque
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from pyspark.sql.streaming.listener import StreamingQueryListener

from lineage_merge.spark_capture.listener.executions import Execution, now_ms

# Ended streams whose batches may still wait to be read.
_ENDED = 32


class Streams(StreamingQueryListener):
    """Remembers the streams of a session, and hands over the first batch with rows of each."""

    def __init__(self, session: Any, hand_over: Callable[[Execution], None]) -> None:
        self._session = session
        self._hand_over = hand_over
        self._started: dict[str, Any] = {}
        self._recorded: set[str] = set()
        self._ended: deque[Any] = deque(maxlen=_ENDED)

    @property
    def executions(self) -> list[Any]:
        """Return Spark's `StreamExecution`s of running streams, and of those that ended last."""
        return [*self._started.values(), *self._ended]

    def onQueryStarted(self, event: Any) -> None:  # noqa: N802 (Spark's name)
        """Remember a stream. Spark calls this in the stream's thread, before its first batch."""
        with suppress(Exception):  # the job must not fail
            query = self._session.streams().get(str(event.id))
            self._started[str(event.runId)] = query.streamingQuery()

    def onQueryProgress(self, event: Any) -> None:  # noqa: N802 (Spark's name)
        """Hand over a batch with rows, once per run of a stream: the others have the same plan."""
        with suppress(Exception):
            progress = event.progress
            run = str(progress.runId)
            if run in self._recorded or not progress.numInputRows or run not in self._started:
                return
            self._recorded.add(run)
            took = progress.durationMs.get("triggerExecution")
            duration = None if took is None else int(took) * 1_000_000
            self._hand_over(Execution(self._started[run].lastExecution(), now_ms(), duration))

    def onQueryIdle(self, event: Any) -> None:  # noqa: N802 (Spark's name)
        """Ignore a trigger without data."""

    def onQueryTerminated(self, event: Any) -> None:  # noqa: N802 (Spark's name)
        """Keep an ended stream until others have ended."""
        run = str(event.runId)
        self._recorded.discard(run)
        if stream := self._started.pop(run, None):
            self._ended.append(stream)
