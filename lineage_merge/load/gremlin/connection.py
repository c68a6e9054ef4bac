"""Connections to a Gremlin endpoint: encryption, signatures, timeouts and translated errors."""

import asyncio
import logging
import socket
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from typing import Any
from urllib.parse import SplitResult, urlsplit

import aiohttp
from gremlin_python.driver.aiohttp.transport import AiohttpTransport
from gremlin_python.driver.client import Client
from gremlin_python.driver.driver_remote_connection import DriverRemoteConnection
from gremlin_python.process.graph_traversal import GraphTraversalSource

from lineage_merge.infra.engine.rows import Counter, Engine
from lineage_merge.infra.traversal_source import is_in_event_loop, source
from lineage_merge.load.gremlin.error_classification import (
    ClassifiedError,
    RetryState,
    UnexpectedResponse,
    classify,
    reason_of,
)
from lineage_merge.load.gremlin.serializer import serializer
from lineage_merge.load.gremlin.signing import Iam, sign_headers
from lineage_merge.model.errors import GraphError, GraphUnreachable


@dataclass(frozen=True, slots=True)
class Traffic:
    """Numbers of requests sent, including retries, and of elements, ids and values read."""

    requests: Counter
    read: Counter


def make_traffic(engine: Engine) -> Traffic:
    """Return new counters."""
    return Traffic(engine.counter(), engine.counter())


_CONNECT_SECONDS = 10.0
_CHECK_SECONDS = 5.0
_CLOSE_SECONDS = 1.0
# The server aborts a request after `Endpoint.timeout_seconds`, so that it has no effect after the client has
# stopped waiting. The client waits this much longer for the server's error.
_GRACE_SECONDS = 1.0
# First bytes of a GraphBinary response with an id.
_RESPONSE_PREFIX = b"\x81\x00"
_DEFAULT_PORTS = {"ws": 80, "wss": 443}


@dataclass(frozen=True, slots=True, repr=False)
class Endpoint:
    """Address and limits of a graph; `url` is ``ws://host:8182/gremlin`` or ``wss://...``.

    `timeout_seconds`: limit for one response. `retry_seconds`: limit for retries while the graph is
    unavailable or throttles requests (0: no retries). `iam`: sign connections. `reader_url`: replica for
    read-only clients; it may lag behind. `writers`: maximum number of concurrent write requests (0: limited
    by the engine's partitions). `traffic`: counts all requests.

    Contains no secret unless the URL does, so it may be sent to Spark's workers.
    """

    url: str
    timeout_seconds: float = 60
    retry_seconds: float = 300
    iam: Iam | None = None
    reader_url: str = ""
    writers: int = 0
    traffic: Traffic | None = field(default=None, compare=False)

    @property
    def reader(self) -> "Endpoint":
        """Return the endpoint for queries. Reads before writes must not use it, because replicas lag."""
        return replace(self, url=self.reader_url or self.url)

    @property
    def address(self) -> str:
        """Return the URL without user, password and query, which may be secrets, for messages."""
        parts = _split(self.url)
        if parts is None or not parts.netloc:
            return "the Gremlin endpoint"
        return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"

    def __repr__(self) -> str:
        return f"Endpoint({self.address!r})"


def _split(url: str) -> SplitResult | None:
    try:
        parts = urlsplit(url)
        _ = parts.port  # raises ValueError if the port is not a number
    except ValueError:
        return None
    return parts


class _Transport(AiohttpTransport):  # type: ignore[misc] # gremlinpython has no types
    """gremlinpython's transport with a timeout for the handshake and a check of responses.

    A tunnel or load balancer accepts a connection even if its target is unavailable; without the timeout,
    aiohttp notices after five minutes.

    The driver sends one request at a time per connection, but takes any frame for its response. A frame that
    is no response, or one to another request, raises `UnexpectedResponse`.
    """

    def __init__(self, connect_seconds: float, iam: Iam | None, **options: Any) -> None:
        super().__init__(**options)
        self._connect_seconds = connect_seconds
        self._iam = iam
        self._request_id = b""

    def write(self, message: bytes) -> None:
        # Format of a request: length of the MIME type, MIME type, version, id.
        start = 1 + message[0] + 1
        self._request_id = message[start : start + 16]
        self._check_open()
        super().write(message)

    def _check_open(self) -> None:
        """Raise the error of a closed loop, without leaving a coroutine that was never awaited."""
        if self._loop.is_closed():
            raise RuntimeError("Event loop is closed")

    def read(self) -> Any:
        self._check_open()
        message = super().read()
        # Format of a response: version, whether the id is null, id. None: the connection was closed.
        if message is not None and message[:18] != _RESPONSE_PREFIX + self._request_id:
            raise UnexpectedResponse
        return message

    def connect(self, url: str, headers: Any = None) -> None:
        async def handshake(signed: dict[str, str]) -> None:
            async with asyncio.timeout(self._connect_seconds):
                # A new session resolves the name again, which changes with a failover.
                self._client_session = aiohttp.ClientSession()
                self._websocket = await self._client_session.ws_connect(
                    url, headers={**(headers or {}), **signed}, **self._aiohttp_kwargs
                )

        try:
            signed = sign_headers(url, self._iam) if self._iam else {}
            self._loop.run_until_complete(handshake(signed))
        except BaseException:
            self.close()  # the driver does not close a connection that failed to open
            raise

    def close(self) -> None:
        async def close_connection() -> None:
            # An unavailable server does not answer the close frame.
            with suppress(OSError, RuntimeError, aiohttp.ClientError):
                async with asyncio.timeout(_CLOSE_SECONDS):
                    if self._websocket is not None:
                        await self._websocket.close()
            if self._client_session is not None:
                await self._client_session.close()
            await asyncio.sleep(0)  # the sockets are closed in the loop's next iteration

        if not self._loop.is_closed():
            self._loop.run_until_complete(close_connection())
            self._loop.close()


def host_and_port(endpoint: Endpoint) -> tuple[str, int]:
    """Return host and port. Raises GraphUnreachable if the URL is not that of a Gremlin server."""
    parts = _split(endpoint.url)
    if parts is None or parts.scheme not in _DEFAULT_PORTS or not parts.hostname:
        raise GraphUnreachable(
            f"{endpoint.address}: a Gremlin endpoint is ws://host:port/gremlin or wss://..."
        )
    return parts.hostname, parts.port or _DEFAULT_PORTS[parts.scheme]


def _driver_options(endpoint: Endpoint, connections: int) -> dict[str, Any]:
    """Return the driver's options for every connection."""
    host_and_port(endpoint)
    logger = logging.getLogger("gremlinpython")
    if logger.level == logging.NOTSET:
        # It logs complete error responses, with Java stack traces. The raised error has the message.
        logger.setLevel(logging.CRITICAL)

    def transport() -> AiohttpTransport:
        return _Transport(
            min(_CONNECT_SECONDS, endpoint.timeout_seconds),
            endpoint.iam,
            call_from_event_loop=is_in_event_loop(),
            read_timeout=endpoint.timeout_seconds + _GRACE_SECONDS,
            write_timeout=endpoint.timeout_seconds,
            max_content_length=10 * 1024 * 1024,
        )

    return {
        "url": endpoint.url,
        "traversal_source": "g",
        "transport_factory": transport,
        "message_serializer": serializer(),
        "pool_size": connections,
    }


@contextmanager
def connect(endpoint: Endpoint) -> Iterator[GraphTraversalSource]:
    """Provide a traversal source over a new connection, closed at the end of the `with` block.

    Raises GraphUnreachable (no connection, timeout) and GraphRejected (the server rejected a traversal), also
    for errors inside the block.
    """
    with translate_errors(endpoint), _connect(endpoint) as g:
        yield g


@contextmanager
def _connect(endpoint: Endpoint) -> Iterator[GraphTraversalSource]:
    with _closing(DriverRemoteConnection(**_driver_options(endpoint, 1))) as connection:
        yield source(connection)


@contextmanager
def open_client(endpoint: Endpoint, connections: int) -> Iterator[Client]:
    """Provide a client for prepared requests, up to `connections` of them concurrently.

    Errors as in `connect`.
    """
    with translate_errors(endpoint), _closing(Client(**_driver_options(endpoint, connections))) as client:
        yield client


@contextmanager
def _closing(connection: Any) -> Iterator[Any]:
    try:
        yield connection
    finally:
        # An unavailable server cannot acknowledge the close; the original error is more useful.
        with suppress(OSError, RuntimeError, aiohttp.ClientError):
            connection.close()


def check(endpoint: Endpoint) -> None:
    """Run one cheap query. Raises GraphUnreachable or GraphRejected.

    An unreachable endpoint is reported within a few seconds. If the endpoint responds that it is throttled or
    unavailable (HTTP 429 and 503, a Gremlin status), the query is retried for `retry_seconds`.
    """
    quick = replace(endpoint, timeout_seconds=min(endpoint.timeout_seconds, _CHECK_SECONDS))
    address = host_and_port(quick)
    try:
        # A separate TCP connection fails fastest for an unknown host or a closed port.
        socket.create_connection(address, timeout=_CHECK_SECONDS).close()
    except OSError as error:
        raise GraphUnreachable(f"{quick.address}: no connection: {reason_of(error)}") from None
    retries = RetryState(endpoint.retry_seconds)
    while failure := _probe(quick):
        if not failure.answered:
            raise failure.error
        retries.wait(failure)


def _probe(endpoint: Endpoint) -> ClassifiedError | None:
    """Run one cheap query over a new connection; returns its error, or None."""
    try:
        with _connect(endpoint) as g:
            g.inject(1).to_list()
    except Exception as error:
        failure = classify(error, endpoint.address)
        if failure is None:
            raise
        return failure
    return None


@contextmanager
def translate_errors(endpoint: Endpoint) -> Iterator[None]:
    """Translate errors of gremlinpython and aiohttp to one-line errors that name the endpoint."""
    try:
        yield
    except GraphError:
        raise
    except Exception as error:
        failure = classify(error, endpoint.address)
        if failure is None:
            raise
        raise failure.error from None


def time_limit(endpoint: Endpoint) -> dict[str, int]:
    """Return the request option with the server's time limit, in ms."""
    return {"evaluationTimeout": max(1, int(endpoint.timeout_seconds * 1000))}
