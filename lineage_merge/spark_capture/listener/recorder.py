"""The queue between Spark and the delivery, and its thread. It never raises, and never blocks the job."""

import logging
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from queue import Empty, Full, Queue
from threading import Event, Lock, Thread
from time import monotonic

from lineage_merge.model.errors import LineageMergeError
from lineage_merge.spark_capture.listener.delivery import Deliver
from lineage_merge.spark_capture.listener.executions import Execution
from lineage_merge.spark_capture.listener.lines import Messages
from lineage_merge.spark_capture.listener.nested_writes import Write, is_part_of, join_writes

LOG = logging.getLogger("lineage_merge.capture")

Convert = Callable[[Execution], Write | None]
Serialize = Callable[[Write], Messages]


@dataclass(frozen=True, slots=True)
class Limits:
    """Bounds of what a job's driver may hold.

    `executions`: those that wait for their conversion. `writes` and `bytes_`: converted writes that could not
    be delivered. `seconds`: the age at which a write is delivered, with all others.
    """

    executions: int = 500
    writes: int = 1000
    bytes_: int = 64 << 20
    seconds: float = 5.0


DEFAULT = Limits()


@dataclass(slots=True)
class Counts:
    """Counts since the start: of executions, of writes, and of what was lost, by reason.

    `dropped`: executions that found the queue full. `failed`: those whose plan could not be converted.
    `lost`: converted writes that could not be delivered, without space to keep them. `undelivered`: failed
    attempts.
    """

    executions: int = 0
    writes: int = 0
    delivered: int = 0
    dropped: int = 0
    failed: int = 0
    lost: int = 0
    undelivered: int = 0


@dataclass(frozen=True, slots=True)
class _Flush:
    done: Event = field(default_factory=Event)


class Recorder:
    """Converts executions in its own thread, and delivers their writes in batches.

    `convert` returns None for an execution that writes nothing. All run in the thread, and may raise.
    """

    def __init__(
        self, convert: Convert, serialize: Serialize, deliver: Deliver, limits: Limits = DEFAULT
    ) -> None:
        self.counts = Counts()
        self._convert = convert
        self._serialize = serialize
        self._deliver = deliver
        self._limits = limits
        self._queue: Queue[Execution | _Flush] = Queue(limits.executions)
        self._pending: list[Write] = []
        self._due: float | None = None  # when the oldest of them is delivered
        # Of writes whose outer execution may still be reported.
        self._recent: deque[Write] = deque(maxlen=64)
        self._unsent: deque[Messages] = deque()
        self._logged: set[str] = set()
        self._logging = Lock()
        self.is_closed = False
        Thread(target=self._run, name="lineage_merge-capture", daemon=True).start()

    def offer(self, execution: Execution) -> None:
        """Take an execution, or drop it if too many wait. Called by Spark: returns at once."""
        if self.is_closed:
            return
        self.counts.executions += 1
        try:
            self._queue.put_nowait(execution)
        except Full:
            self.counts.dropped += 1
            self.log_once("dropped", "executions end faster than plans are read: some are not recorded")

    def flush(self, seconds: float) -> bool:
        """Deliver what was offered before; return whether that ended in time."""
        end = monotonic() + seconds
        flush = _Flush()
        try:
            self._queue.put(flush, timeout=seconds)
        except Full:
            return False
        return flush.done.wait(max(0.0, end - monotonic()))

    def close(self, seconds: float) -> None:
        """Flush, and take nothing more; log what was lost."""
        if self.is_closed:
            return
        self.is_closed = True
        is_complete = self.flush(seconds)
        counts = self.counts
        lost = counts.dropped + counts.failed + counts.lost + len(self._unsent)
        if lost or not is_complete:
            LOG.warning(
                "lineage: %d writes recorded, %d executions or writes lost%s",
                counts.delivered,
                lost,
                "" if is_complete else f", and those not delivered within {seconds:g} s",
            )

    def log_once(self, reason: str, problem: str) -> None:
        """Log the first problem of a kind as a warning, and later ones for debugging."""
        with self._logging:
            is_first = reason not in self._logged
            self._logged.add(reason)
        LOG.log(logging.WARNING if is_first else logging.DEBUG, "lineage: %s", problem)

    # In the thread.

    def _run(self) -> None:
        while True:
            item = self._next()
            if isinstance(item, Execution):
                self._record(item)
            if self._due is not None and (isinstance(item, _Flush) or monotonic() >= self._due):
                self._send()
            if isinstance(item, _Flush):
                item.done.set()

    def _next(self) -> Execution | _Flush | None:
        seconds = None if self._due is None else max(0.0, self._due - monotonic())
        try:
            return self._queue.get(timeout=seconds)
        except Empty:
            return None

    def _record(self, execution: Execution) -> None:
        try:
            write = self._convert(execution)
            if write is not None:
                self._add(write)
        except Exception as error:  # noqa: BLE001 (the job must not fail)
            self._fail(error)

    def _fail(self, error: Exception) -> None:
        self.counts.failed += 1
        self.log_once(f"failed {type(error).__name__}", f"a write is not recorded: {_show_error(error)}")

    def _add(self, write: Write) -> None:
        """Add a write; one that ran as a part of it becomes a part of it."""
        for inner in [other for other in self._pending if is_part_of(other, write)]:
            self._pending.remove(inner)
            self.counts.writes -= 1
            write = join_writes(inner, write)
        for inner in [other for other in self._recent if is_part_of(other, write)]:
            # It was delivered: the outer one is only needed for what it adds, without the counts.
            self._recent.remove(inner)
            both = join_writes(inner, write)
            if both.document is inner.document and bool(both.error) == bool(inner.error):
                return
            write = replace(both, counts={})
        self.counts.writes += 1
        self._pending.append(write)
        if self._due is None:
            self._due = monotonic() + self._limits.seconds

    def _send(self) -> None:
        for write in self._pending:
            try:
                self._unsent.append(self._serialize(write))
            except Exception as error:  # noqa: BLE001 (the job must not fail)
                self._fail(error)
        self._recent.extend(self._pending)
        self._pending.clear()
        self._due = None
        if not self._unsent:
            return
        try:
            self._deliver(list(self._unsent))
        except Exception as error:  # noqa: BLE001 (the job must not fail)
            self.counts.undelivered += 1
            self.log_once("undelivered", f"not delivered, which is tried again: {_show_error(error)}")
            self._shorten()
            self._due = monotonic() + self._limits.seconds
        else:
            self.counts.delivered += len(self._unsent)
            self._unsent.clear()

    def _shorten(self) -> None:
        """Drop the oldest undelivered writes that exceed the limits."""
        size = sum(map(_size, self._unsent))
        while self._unsent and (len(self._unsent) > self._limits.writes or size > self._limits.bytes_):
            size -= _size(self._unsent.popleft())
            self.counts.lost += 1


def _size(messages: Messages) -> int:
    return len(messages.plan) + len(messages.event)


def _show_error(error: Exception) -> str:
    """Return an error for the log; messages of other errors may contain anything."""
    return error.message if isinstance(error, LineageMergeError) else type(error).__name__
