"""Connection limits of HTTP servers: a timeout for request heads, and a maximum of requests in progress.

uvicorn has neither. It waits without limit for the first request of a connection and for the rest of a
partial head; its `limit_concurrency` counts connections, so that idle connections make all others receive
503. Here a connection is counted from the moment its head is complete, as a request. Connections without one
are closed after a timeout; above a limit those waiting longest are closed at once, because a working client
completes its head within milliseconds.
"""

import asyncio
from collections.abc import Awaitable, Callable
from http import HTTPStatus
from typing import Any

from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Receive, Scope, Send
from uvicorn.protocols.http.h11_impl import H11Protocol

# If many clients connect at once, their heads are read after the last connection is accepted.
_YOUNG_SECONDS = 1.0

Application = Callable[[Scope, Receive, Send], Awaitable[None]]


def protocol(max_waiting: int, head_seconds: float) -> Callable[..., H11Protocol]:
    """Return the protocol factory for uvicorn: at most `max_waiting` connections are without a request."""

    def make(**given: Any) -> H11Protocol:
        return _Connection(max_waiting, head_seconds, **given)

    return make


class _Connection(H11Protocol):
    """A connection that is closed if no complete head arrives.

    The timeout starts with the connection, or with the first bytes after a response; in between, uvicorn's
    keep-alive limit applies. The remainder of a rejected, unread body counts as such bytes.
    """

    def __init__(self, max_waiting: int, head_seconds: float, **given: Any) -> None:
        super().__init__(**given)
        self._max_waiting = max_waiting
        self._head_seconds = head_seconds
        self._head_timer: asyncio.TimerHandle | None = None
        self._waits_since = 0.0

    @property
    def is_waiting(self) -> bool:
        """Return whether no request is in progress."""
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
            connection
            for connection in self.connections
            if isinstance(connection, _Connection)
            and connection.is_waiting
            and not connection.transport.is_closing()
        ]
        excess = len(waiting) - self._max_waiting
        if excess <= 0:
            return
        waiting.sort(key=lambda connection: connection._waits_since)
        now = self.loop.time()
        for number, connection in enumerate(waiting[:excess]):
            # The hard limit, to protect file descriptors.
            is_young = now - connection._waits_since < _YOUNG_SECONDS
            if number < excess - self._max_waiting or not is_young:
                # Not `close`, which would wait for a client that does not read its response.
                connection.transport.abort()


def limit_requests(application: ASGIApp, max_requests: int) -> Application:
    """Return an application that responds with 503 above a number of concurrent requests."""
    in_progress = 0

    async def answer(scope: Scope, receive: Receive, send: Send) -> None:
        nonlocal in_progress
        if in_progress >= max_requests:
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
