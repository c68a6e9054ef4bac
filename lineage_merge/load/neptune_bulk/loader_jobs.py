"""Runs loads of Neptune's bulk loader for several folders in sequence.

Each folder is a separate load, queued and dependent on the load before it. Errors are one line: GraphRejected
if another comparison with the graph may help, otherwise BulkLoadFailed.
"""

import time
from collections.abc import Sequence
from contextlib import suppress
from typing import NamedTuple

from lineage_merge.infra.progress import ProgressCallback
from lineage_merge.load.neptune_bulk.api import (
    COMPLETED,
    MAX_ERRORS,
    Api,
    Loader,
    LoadError,
    QueueFull,
    Status,
    open_api,
)
from lineage_merge.model.errors import BulkLoadFailed, GraphError, GraphRejected, GraphUnreachable

_QUEUED = frozenset({"LOAD_IN_QUEUE", "LOAD_NOT_STARTED"})
_RUNNING = _QUEUED | {"LOAD_IN_PROGRESS"}
# Errors caused by concurrent writers or temporary failures. Loaded elements stay, so the next attempt is
# smaller.
_TEMPORARY = frozenset(
    {
        "LOAD_COMMITTED_W_WRITE_CONFLICTS",
        "LOAD_DATA_DEADLOCK",
        "LOAD_S3_READ_ERROR",
        "FROM_OR_TO_VERTEX_ARE_MISSING",
    }
)

_FIRST_PAUSE_SECONDS = 0.25
_LONGEST_PAUSE_SECONDS = 15.0
# A failover takes half a minute; a load continues without status requests.
_MAX_FAILED_POLLS = 8


class LoadFolder(NamedTuple):
    """A folder in S3, and the name of its content for messages."""

    what: str
    folder: str


def load(loader: Loader, sources: Sequence[LoadFolder], on_progress: ProgressCallback) -> None:
    """Load folders in this order, and wait until all are loaded.

    The loads are cancelled on timeout and by Ctrl-C. Raises BulkLoadFailed, GraphRejected (another comparison
    and load may help), GraphUnreachable and GraphDenied.
    """
    polling = _Polling(loader.timeout_seconds)
    with open_api(loader) as api:
        started: list[tuple[str, str]] = []
        try:
            for what, folder in sources:
                after = [identifier for _, identifier in started[-1:]]
                started.append(
                    (f"bulk load of {what}", _start(api, what, folder, after, polling, on_progress))
                )
            for what, identifier in started:
                _await(api, what, identifier, polling, on_progress)
        except BaseException:
            for _, identifier in reversed(started):
                with suppress(GraphError):
                    api.cancel(identifier)
            raise


def await_earlier_loads(loader: Loader, prefix: str, on_progress: ProgressCallback) -> None:
    """Wait for the end of earlier loads from an S3 prefix, whatever their outcome. Raises as `load` does."""
    polling = _Polling(loader.timeout_seconds)
    with open_api(loader) as api:
        for identifier in api.load_ids():
            while True:
                try:
                    status = api.status(identifier)
                except BulkLoadFailed:
                    break  # no longer listed
                if status.code not in _RUNNING or not status.source.startswith(prefix):
                    break
                on_progress("waiting for an earlier bulk load of this DAG")
                polling.pause(f"the earlier load {identifier}")


class _Polling:
    """Increasing pauses up to a time limit."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._end = time.monotonic() + seconds
        self._pause = _FIRST_PAUSE_SECONDS

    def pause(self, what: str) -> None:
        """Pause. Raises BulkLoadFailed after the time limit."""
        remaining = self._end - time.monotonic()
        if remaining <= 0:
            limit = f"{self._seconds:g} seconds (gremlin.bulk.timeout_seconds)"
            raise BulkLoadFailed(f"{what} did not end within {limit}")
        time.sleep(min(self._pause, remaining))
        self._pause = min(self._pause * 1.5, _LONGEST_PAUSE_SECONDS)

    def shorten(self) -> None:
        """Shorten the pauses after progress."""
        self._pause = min(self._pause, 1.0)


def _start(
    api: Api,
    what: str,
    folder: str,
    after: list[str],
    polling: _Polling,
    on_progress: ProgressCallback,
) -> str:
    while True:
        try:
            return api.start(folder, after)
        except QueueFull:
            on_progress(f"bulk load of {what}: Neptune's queue is full, waiting")
            polling.pause(f"the wait for a place in Neptune's queue, for the bulk load of {what},")


def _await(api: Api, what: str, identifier: str, polling: _Polling, on_progress: ProgressCallback) -> None:
    failed_polls = 0
    reported = None
    while True:
        try:
            status = api.status(identifier)
        except GraphUnreachable:
            failed_polls += 1
            if failed_polls >= _MAX_FAILED_POLLS:
                raise
        else:
            failed_polls = 0
            if status.code == COMPLETED:
                return
            if _is_failed(status.code):
                raise _failure(api, what, identifier, status)
            now = (status.code, status.done)
            if now != reported:
                reported = now
                polling.shorten()
                on_progress(f"{what}: {_progress_text(status)}")
        polling.pause(f"the {what} (load {identifier})")


def _is_failed(code: str) -> bool:
    # Unknown codes count as running unless their names indicate a failure.
    return code not in _RUNNING and any(
        part in code for part in ("FAILED", "ERROR", "CANCELLED", "CONFLICTS", "DEADLOCK")
    )


def _progress_text(status: Status) -> str:
    if status.code in _QUEUED:
        return "queued"
    return f"loading {status.done} of {status.files} files" if status.files else "loading"


def _failure(api: Api, what: str, identifier: str, status: Status) -> GraphError:
    errors: list[LoadError] = []
    with suppress(GraphError):
        errors = api.errors(identifier)
    codes = status.codes | {error.code for error in errors}
    reasons = [error.text for error in errors[:MAX_ERRORS]]
    if len(errors) > MAX_ERRORS:
        reasons.append("and more")
    if not reasons:
        reasons = sorted(status.codes - {status.code, COMPLETED})
    outcome = f"{what} (load {identifier}) ended with {status.code}"
    message = f"{outcome}: {'; '.join(reasons)}" if reasons else outcome
    if any("ACCESS_DENIED" in code for code in codes):
        return BulkLoadFailed(f"{message}. Fix: allow gremlin.bulk.role_arn to list and read the files")
    return GraphRejected(message) if codes & _TEMPORARY else BulkLoadFailed(message)
