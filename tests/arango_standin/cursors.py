"""Results that wait on the server: batches, time to live, and the retry of a batch that got lost."""

import itertools
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from .errors import CURSOR_NOT_FOUND, ServerError


@dataclass
class _Cursor:
    number: str
    database: str
    values: list[Any]
    batch_size: int
    ttl: float
    body: Mapping[str, Any]
    allow_retry: bool
    expires: float
    position: int = 0
    batch: int = 0
    latest: dict[str, Any] = field(default_factory=dict)


class Cursors:
    """All open cursors of a server. `ttl` is in seconds and restarts with each batch."""

    def __init__(self) -> None:
        self._open: dict[str, _Cursor] = {}
        self._numbers = itertools.count(100001)
        self._lock = threading.Lock()

    def __len__(self) -> int:
        with self._lock:
            self._expire()
            return len(self._open)

    def open(
        self,
        database: str,
        values: list[Any],
        batch_size: int,
        ttl: float,
        body: Mapping[str, Any],
        *,
        allow_retry: bool,
    ) -> dict[str, Any]:
        """The first batch. `body` is what every batch repeats: `count`, `cached`, `extra`."""
        with self._lock:
            number = str(next(self._numbers))
            cursor = _Cursor(number, database, values, batch_size, ttl, body, allow_retry, 0.0)
            self._open[number] = cursor
            first = self._next(cursor)
            if cursor.batch == 1 and not first["hasMore"] and not allow_retry:
                first.pop("id", None)
            return first

    def advance(self, database: str, number: str, batch: str | None) -> dict[str, Any]:
        """The next batch; the latest once more when it is asked for by its id and the cursor allows it."""
        with self._lock:
            cursor = self._find(database, number)
            if batch is not None and cursor.allow_retry and batch == str(cursor.batch):
                cursor.expires = time.monotonic() + cursor.ttl
                return cursor.latest
            if (batch is not None and batch != str(cursor.batch + 1)) or not cursor.latest["hasMore"]:
                raise _not_found()
            return self._next(cursor)

    def close(self, database: str, number: str) -> None:
        with self._lock:
            self._find(database, number)
            del self._open[number]

    def clear(self) -> None:
        with self._lock:
            self._open.clear()

    def _expire(self) -> None:
        now = time.monotonic()
        for number in [each.number for each in self._open.values() if each.expires < now]:
            del self._open[number]

    def _find(self, database: str, number: str) -> _Cursor:
        self._expire()
        cursor = self._open.get(number)
        if cursor is None or cursor.database != database:
            raise _not_found()
        return cursor

    def _next(self, cursor: _Cursor) -> dict[str, Any]:
        end = cursor.position + cursor.batch_size
        values = cursor.values[cursor.position : end]
        more = end < len(cursor.values)
        cursor.position, cursor.batch = end, cursor.batch + 1
        cursor.expires = time.monotonic() + cursor.ttl
        answer: dict[str, Any] = {"result": values, "hasMore": more}
        if more or cursor.allow_retry:
            answer["id"] = cursor.number
        if more:
            answer["nextBatchId"] = str(cursor.batch + 1)
        cursor.latest = {**answer, **cursor.body}
        if not more and not cursor.allow_retry:
            # The last batch takes the cursor with it: a later close() finds nothing.
            del self._open[cursor.number]
        return dict(cursor.latest)


def _not_found() -> ServerError:
    return ServerError(CURSOR_NOT_FOUND, "cursor not found")
