"""Connections to a Gremlin endpoint, and what may go wrong with them.

Every connection of the package is opened here, so that encryption, signatures and the
wording of errors have one place.
"""

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

from lineage_merge.load.gremlin.error_classification import (
    ClassifiedError,
    UnexpectedAnswer,
    classify,
    reason_of,
)
from lineage_merge.load.gremlin.retry_policy import RetryState
from lineage_merge.load.gremlin.serializer import serializer
from lineage_merge.load.gremlin.signing import Iam, signed_headers
from lineage_merge.load.gremlin.traffic import Traffic
from lineage_merge.load.gremlin.traversal_source import source
from lineage_merge.model.errors import GraphError, GraphUnreachable

_CONNECT_SECONDS = 10.0
_CHECK_SECONDS = 5.0
_FAREWELL_SECONDS = 1.0
# The graph is told to give a request up when the time is over (`Endpoint.timeout_seconds`): what
# nobody waits for any more must not be carried out later. It gets this much longer to say so.
_GRACE_SECONDS = 1.0
# What a GraphBinary answer with an id begins with.
_ANSWER = b"\x81\x00"
_DEFAULT_PORTS = {"ws": 80, "wss": 443}


@dataclass(frozen=True, slots=True, repr=False)
class Endpoint:
    """Where the graph is: `url` as ``ws://host:8182/gremlin`` or ``wss://...``.

    `timeout_seconds` is how long one answer may take, `retry_seconds` how long a request is tried again while
    the graph is away or busy (0: not at all). With `iam` each connection is signed. `reader_url`: a replica
    for those who only read; it may lag behind. `writers`: most requests under way at once that write (0: as
    many as the engine has partitions for). `traffic` counts all requests.

    It holds no secret but what somebody wrote into a URL, so it may go to Spark's workers.
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
        """For questions. What reads before it writes must not use it, because replicas lag."""
        return replace(self, url=self.reader_url or self.url)

    @property
    def address(self) -> str:
        """The URL for messages: without user, password and query, which may hold secrets."""
        parts = _split(self.url)
        if parts is None or not parts.netloc:
            return "the Gremlin endpoint"
        return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"

    def __repr__(self) -> str:
        return f"Endpoint({self.address!r})"


def _split(url: str) -> SplitResult | None:
    try:
        parts = urlsplit(url)
        _ = parts.port  # a port that is no number shows only when it is asked for
    except ValueError:
        return None
    return parts


class _Transport(AiohttpTransport):  # type: ignore[misc] # gremlinpython has no types
    """gremlinpython's transport, with a limit on the handshake.

    A tunnel or a load balancer accepts a connection even when nobody is behind it; without
    the limit that takes aiohttp's five minutes to notice.

    The driver has one request at a time under way on a connection, but takes any frame for its answer. A
    frame that is none, or the answer to another request, is an `UnexpectedAnswer`.
    """

    def __init__(self, connect_seconds: float, iam: Iam | None, **options: Any) -> None:
        super().__init__(**options)
        self._connect_seconds = connect_seconds
        self._iam = iam
        self._request_id = b""

    def write(self, message: bytes) -> None:
        # A request: length of the MIME type, MIME type, version, id.
        start = 1 + message[0] + 1
        self._request_id = message[start : start + 16]
        self._refuse_if_closed()
        super().write(message)

    def _refuse_if_closed(self) -> None:
        """Raise what the loop would, which leaves a coroutine that Python warns of."""
        if self._loop.is_closed():
            raise RuntimeError("Event loop is closed")

    def read(self) -> Any:
        self._refuse_if_closed()
        message = super().read()
        # An answer: version, whether the id is null, id. None: the connection was closed.
        if message is not None and message[:18] != _ANSWER + self._request_id:
            raise UnexpectedAnswer
        return message

    def connect(self, url: str, headers: Any = None) -> None:
        async def handshake(signed: dict[str, str]) -> None:
            async with asyncio.timeout(self._connect_seconds):
                # A session of its own also asks DNS anew: after a failover the name leads elsewhere.
                self._client_session = aiohttp.ClientSession()
                self._websocket = await self._client_session.ws_connect(
                    url, headers={**(headers or {}), **signed}, **self._aiohttp_kwargs
                )

        try:
            signed = signed_headers(url, self._iam) if self._iam else {}
            self._loop.run_until_complete(handshake(signed))
        except BaseException:
            self.close()  # the driver forgets a connection that never opened
            raise

    def close(self) -> None:
        async def farewell() -> None:
            # A server that hangs or has gone does not answer the farewell.
            with suppress(OSError, RuntimeError, aiohttp.ClientError):
                async with asyncio.timeout(_FAREWELL_SECONDS):
                    if self._websocket is not None:
                        await self._websocket.close()
            if self._client_session is not None:
                await self._client_session.close()
            await asyncio.sleep(0)  # the sockets are closed in the loop's next round

        if not self._loop.is_closed():
            self._loop.run_until_complete(farewell())
            self._loop.close()


def host_and_port(endpoint: Endpoint) -> tuple[str, int]:
    """Where to connect to. Raises GraphUnreachable where the URL is none of a Gremlin server."""
    parts = _split(endpoint.url)
    if parts is None or parts.scheme not in _DEFAULT_PORTS or not parts.hostname:
        raise GraphUnreachable(
            f"{endpoint.address}: a Gremlin endpoint is ws://host:port/gremlin or wss://..."
        )
    return parts.hostname, parts.port or _DEFAULT_PORTS[parts.scheme]


def _driver_options(endpoint: Endpoint, connections: int) -> dict[str, Any]:
    """What every connection is opened with."""
    host_and_port(endpoint)
    logger = logging.getLogger("gremlinpython")
    if logger.level == logging.NOTSET:
        # It logs the whole of an error's answer, Java stack trace included. The error says it.
        logger.setLevel(logging.CRITICAL)

    def transport() -> AiohttpTransport:
        return _Transport(
            min(_CONNECT_SECONDS, endpoint.timeout_seconds),
            endpoint.iam,
            call_from_event_loop=_inside_event_loop(),
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


def _inside_event_loop() -> bool:
    """Whether the caller runs in an event loop, as a notebook's cells do."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True


@contextmanager
def connect(endpoint: Endpoint) -> Iterator[GraphTraversalSource]:
    """A traversal source over a fresh connection, closed at the end of the `with` block.

    Raises GraphUnreachable (no connection, no answer in time) and GraphRejected (the server
    refused a traversal), also for what happens inside the block.
    """
    with translated_errors(endpoint), _connected(endpoint) as g:
        yield g


@contextmanager
def _connected(endpoint: Endpoint) -> Iterator[GraphTraversalSource]:
    connection = DriverRemoteConnection(**_driver_options(endpoint, 1))
    try:
        yield source(connection)
    finally:
        _close(connection)


@contextmanager
def open_client(endpoint: Endpoint, connections: int) -> Iterator[Client]:
    """A client for ready-made requests, with up to `connections` of them under way at once.

    Errors as in `connect`.
    """
    with translated_errors(endpoint):
        client = Client(**_driver_options(endpoint, connections))
        try:
            yield client
        finally:
            _close(client)


def _close(connection: Any) -> None:
    # A server that has gone cannot take the farewell; the error that led here says more.
    with suppress(OSError, RuntimeError, aiohttp.ClientError):
        connection.close()


def check(endpoint: Endpoint) -> None:
    """One cheap query. Raises GraphUnreachable or GraphRejected.

    An endpoint that is not reachable is reported within a few seconds. One that answers that it is busy or
    unavailable (HTTP 429 and 503, a status of Gremlin) is asked again for `retry_seconds`.
    """
    quick = replace(endpoint, timeout_seconds=min(endpoint.timeout_seconds, _CHECK_SECONDS))
    address = host_and_port(quick)
    try:
        # By itself, because a name or port that nobody answers shows here soonest.
        socket.create_connection(address, timeout=_CHECK_SECONDS).close()
    except OSError as error:
        raise GraphUnreachable(f"{quick.address}: no connection: {reason_of(error)}") from None
    retries = RetryState(endpoint.retry_seconds)
    while fault := _failure(quick):
        if not fault.answered:
            raise fault.error
        retries.wait(fault)


def _failure(endpoint: Endpoint) -> ClassifiedError | None:
    """Ask one cheap query over a connection of its own; what went wrong, or None."""
    try:
        with _connected(endpoint) as g:
            g.inject(1).to_list()
    except Exception as error:
        fault = classify(error, endpoint.address)
        if fault is None:
            raise
        return fault
    return None


@contextmanager
def translated_errors(endpoint: Endpoint) -> Iterator[None]:
    """Errors of gremlinpython and aiohttp, raised as ours, in one line that names the endpoint."""
    try:
        yield
    except GraphError:
        raise
    except Exception as error:
        fault = classify(error, endpoint.address)
        if fault is None:
            raise
        raise fault.error from None


def time_limit(endpoint: Endpoint) -> dict[str, int]:
    """What a request says to the server: when to give it up, in ms."""
    return {"evaluationTimeout": max(1, int(endpoint.timeout_seconds * 1000))}
