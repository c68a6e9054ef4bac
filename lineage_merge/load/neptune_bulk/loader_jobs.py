"""Loads by Neptune's bulk loader, of several folders one after another.

Each folder is a load of its own, queued behind the others, and depends on the one before it. What
the loader answers is told in one line; what may pass when the difference with the graph is
computed anew is a GraphRejected, everything else a BulkLoadFailed.
"""

import time
from collections.abc import Sequence
from contextlib import suppress
from typing import NamedTuple

from lineage_merge.infra.progress import ProgressCallback
from lineage_merge.load.neptune_bulk.api import (
    COMPLETED,
    MOST_FLAWS,
    Api,
    Flaw,
    Loader,
    QueueFull,
    Status,
    opened,
)
from lineage_merge.model.errors import BulkLoadFailed, GraphError, GraphRejected, GraphUnreachable

_QUEUED = frozenset({"LOAD_IN_QUEUE", "LOAD_NOT_STARTED"})
_UNDER_WAY = _QUEUED | {"LOAD_IN_PROGRESS"}
# What another writer or a moment's fault did. What was loaded stays, so the next attempt is smaller.
_MAY_PASS = frozenset(
    {
        "LOAD_COMMITTED_W_WRITE_CONFLICTS",
        "LOAD_DATA_DEADLOCK",
        "LOAD_S3_READ_ERROR",
        "FROM_OR_TO_VERTEX_ARE_MISSING",
    }
)

_FIRST_PAUSE_SECONDS = 0.25
_LONGEST_PAUSE_SECONDS = 15.0
# A failover takes half a minute; a load goes on without being asked for.
_MOST_LOST_ANSWERS = 8


class Source(NamedTuple):
    """A folder in S3, and what to call what is in it."""

    what: str
    folder: str


def load(loader: Loader, sources: Sequence[Source], on_progress: ProgressCallback) -> None:
    """Load folders in this order, and wait until all are loaded.

    Cancelled when it takes too long, and by Ctrl-C. Raises BulkLoadFailed, GraphRejected (comparing
    with the graph and loading again may help), GraphUnreachable and GraphDenied.
    """
    waiting = _Waiting(loader.timeout_seconds)
    with opened(loader) as api:
        started: list[tuple[Source, str]] = []
        try:
            for source in sources:
                identifier = _start(
                    api, loader, source, [started[-1][1]] if started else [], waiting, on_progress
                )
                started.append((source, identifier))
            for source, identifier in started:
                _await(api, source, identifier, waiting, on_progress)
        except BaseException:
            for _, identifier in reversed(started):
                with suppress(GraphError):
                    api.cancel(identifier)
            raise


def await_earlier(loader: Loader, prefix: str, on_progress: ProgressCallback) -> None:
    """Wait for loads from below an S3 prefix that somebody started and did not see the end of.

    What became of them does not matter. Raises as `load` does.
    """
    waiting = _Waiting(loader.timeout_seconds)
    with opened(loader) as api:
        for identifier in api.listed():
            while True:
                try:
                    status = api.status(identifier)
                except BulkLoadFailed:
                    break  # it has been forgotten meanwhile
                if status.code not in _UNDER_WAY or not status.source.startswith(prefix):
                    break
                on_progress("waiting for an earlier bulk load of this DAG")
                waiting.pause(f"the earlier load {identifier}")


class _Waiting:
    """Pauses that grow, until the time is over."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._end = time.monotonic() + seconds
        self._pause = _FIRST_PAUSE_SECONDS

    def pause(self, what: str) -> None:
        """Raises BulkLoadFailed where no time is left."""
        left = self._end - time.monotonic()
        if left <= 0:
            limit = f"{self._seconds:g} seconds (gremlin.bulk.timeout_seconds)"
            raise BulkLoadFailed(f"{what} did not end within {limit}")
        time.sleep(min(self._pause, left))
        self._pause = min(self._pause * 1.5, _LONGEST_PAUSE_SECONDS)

    def hurry(self) -> None:
        """Something moved: ask soon again."""
        self._pause = min(self._pause, 1.0)


def _start(
    api: "Api",
    loader: Loader,
    source: Source,
    after: list[str],
    waiting: _Waiting,
    on_progress: ProgressCallback,
) -> str:
    while True:
        try:
            return api.start(loader, source.folder, after)
        except QueueFull:
            on_progress(f"bulk load of {source.what}: Neptune's queue is full, waiting")
            waiting.pause(
                f"the bulk load of {source.what} found no place in Neptune's queue; waiting for one"
            )


def _await(
    api: "Api", source: Source, identifier: str, waiting: _Waiting, on_progress: ProgressCallback
) -> None:
    what = f"bulk load of {source.what}"
    lost = 0
    told = None
    while True:
        try:
            status = api.status(identifier)
        except GraphUnreachable:
            lost += 1
            if lost >= _MOST_LOST_ANSWERS:
                raise
        else:
            lost = 0
            if status.code == COMPLETED:
                return
            if _is_over(status.code):
                raise _failure(api, what, identifier, status)
            now = (status.code, status.done)
            if now != told:
                told = now
                waiting.hurry()
                on_progress(f"{what}: {_doing(status)}")
        waiting.pause(f"the {what} (load {identifier})")


def _is_over(code: str) -> bool:
    # One that this does not know may come: it is waited for unless it says of itself that it failed.
    return code not in _UNDER_WAY and any(
        sign in code for sign in ("FAILED", "ERROR", "CANCELLED", "CONFLICTS", "DEADLOCK")
    )


def _doing(status: Status) -> str:
    if status.code in _QUEUED:
        return "queued"
    return f"loading {status.done} of {status.files} files" if status.files else "loading"


def _failure(api: "Api", what: str, identifier: str, status: Status) -> GraphError:
    found: list[Flaw] = []
    with suppress(GraphError):
        found = api.flaws(identifier)
    codes = status.codes | {flaw.code for flaw in found}
    reasons = [flaw.text for flaw in found[:MOST_FLAWS]]
    if len(found) > MOST_FLAWS:
        reasons.append("and more")
    if not reasons:
        reasons = sorted(status.codes - {status.code, COMPLETED})
    told = f"{what} (load {identifier}) ended with {status.code}"
    message = f"{told}: {'; '.join(reasons)}" if reasons else told
    if any("ACCESS_DENIED" in code for code in codes):
        return BulkLoadFailed(f"{message}. gremlin.bulk.role_arn must be allowed to list and read the files")
    return GraphRejected(message) if codes & _MAY_PASS else BulkLoadFailed(message)
