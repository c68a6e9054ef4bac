"""Connections: a time limit for a request's head, and a limit on requests in progress.

uvicorn has neither. It waits without limit for the first request of a connection, and for the rest of a
head that has begun; and its `limit_concurrency` counts connections, so that connections which send nothing
make all others see 503. Here a connection counts once its head is complete, that is as a request. Those
without one are closed after a time, and, above a number, those that have waited longest are closed at once:
a client that works has its head complete within milliseconds.
"""

import asyncio
from collections.abc import Awaitable, Callable
from http import HTTPStatus
from typing import Any

from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Receive, Scope, Send
from uvicorn.protocols.http.h11_impl import H11Protocol

# Of many clients that connect at the same moment, the heads are read after the last connection is accepted.
_YOUNG_SECONDS = 1.0

Application = Callable[[Scope, Receive, Send], Awaitable[None]]


def protocol(most_waiting: int, head_seconds: float) -> Callable[..., H11Protocol]:
    """Return what uvicorn makes its connections with: at most `most_waiting` are without a request."""

    def make(**given: Any) -> H11Protocol:
        return _Connection(most_waiting, head_seconds, **given)

    return make


class _Connection(H11Protocol):
    """A connection that is closed if no complete head comes over it.

    The time begins with the connection, or with the first bytes after an answer: in between uvicorn's
    keep-alive limit holds. What trickles in of a body that was refused unread counts as such bytes.
    """

    def __init__(self, most_waiting: int, head_seconds: float, **given: Any) -> None:
        super().__init__(**given)
        self._most_waiting = most_waiting
        self._head_seconds = head_seconds
        self._head_timer: asyncio.TimerHandle | None = None
        self._waits_since = 0.0

    @property
    def is_waiting(self) -> bool:
        """Whether no request is in progress."""
        return self.cycle is None or self.cycle.response_complete

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._waits_since = self.loop.time()
        self._time_head()
        self._close_longest_waiting()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if self.is_waiting:
            self._time_head()
        else:
            self._stop_timer()

    def on_response_complete(self) -> None:
        self._waits_since = self.loop.time()
        super().on_response_complete()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_timer()
        super().connection_lost(exc)

    def _time_head(self) -> None:
        if self._head_timer is None and not self.transport.is_closing():
            self._head_timer = self.loop.call_later(self._head_seconds, self._head_is_late)

    def _stop_timer(self) -> None:
        if self._head_timer is not None:
            self._head_timer.cancel()
            self._head_timer = None

    def _head_is_late(self) -> None:
        self._head_timer = None
        if self.is_waiting:
            self.transport.abort()

    def _close_longest_waiting(self) -> None:
        waiting = [
            each
            for each in self.connections
            if isinstance(each, _Connection) and each.is_waiting and not each.transport.is_closing()
        ]
        excess = len(waiting) - self._most_waiting
        if excess <= 0:
            return
        waiting.sort(key=lambda each: each._waits_since)
        now = self.loop.time()
        for number, each in enumerate(waiting[:excess]):
            # Twice as many are never exceeded, since they would take all file descriptors.
            is_young = now - each._waits_since < _YOUNG_SECONDS
            if number < excess - self._most_waiting or not is_young:
                # Not `close`, which would wait for a client that does not read its answer.
                each.transport.abort()


def limited(application: ASGIApp, most_requests: int) -> Application:
    """Return an application that answers 503 to requests above a number of those in progress."""
    in_progress = 0

    async def answer(scope: Scope, receive: Receive, send: Send) -> None:
        nonlocal in_progress
        if in_progress >= most_requests:
            headers = {"Retry-After": "5", "Connection": "close"}
            busy = PlainTextResponse(
                "too many requests at once: try again", HTTPStatus.SERVICE_UNAVAILABLE, headers
            )
            await busy(scope, receive, send)
            return
        in_progress += 1
        try:
            await application(scope, receive, send)
        finally:
            in_progress -= 1

    return answer
