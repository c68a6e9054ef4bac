"""Connections to a Gremlin endpoint, and what may go wrong with them.

Every connection of the package is opened here, so that encryption, signatures and the
wording of errors have one place.
"""

import asyncio
import logging
import socket
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import SplitResult, urlsplit

import aiohttp
from gremlin_python.driver.aiohttp.transport import AiohttpTransport
from gremlin_python.driver.client import Client
from gremlin_python.driver.driver_remote_connection import DriverRemoteConnection
from gremlin_python.driver.protocol import ConfigurationError, GremlinServerError
from gremlin_python.process.anonymous_traversal import traversal
from gremlin_python.process.graph_traversal import GraphTraversalSource

from lineage_merge.errors import GraphError, GraphRejected, GraphUnreachable
from lineage_merge.load.serializer import serializer

_CONNECT_SECONDS = 10.0
_CHECK_SECONDS = 5.0
_DEFAULT_PORTS = {"ws": 80, "wss": 443}
_LONGEST_MESSAGE = 500

# gremlinpython raises these as RuntimeError.
_CLOSED = ("Connection was closed", "Connection was already closed", "Received error on read")

# How servers say that a request met another writer and did nothing wrong by itself:
# Neptune, TinkerTransactionGraph, and two requests that create the same vertex at once.
_CONFLICTS = (
    "ConcurrentModification",
    "TransactionException",
    "Conflict: element modified in another transaction",
    "with id already exists",
)


class GraphConflict(GraphRejected):
    """A request met another writer; the same request may pass when sent again."""


@dataclass(frozen=True, slots=True, repr=False)
class Endpoint:
    """Where the graph is: `url` as ``ws://host:8182/gremlin`` or ``wss://...``.

    `timeout_seconds` is how long one answer may take.
    """

    url: str
    timeout_seconds: float = 60

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
    """

    def __init__(self, connect_seconds: float, **options: Any) -> None:
        super().__init__(**options)
        self._connect_seconds = connect_seconds

    def connect(self, url: str, headers: Any = None) -> None:
        async def handshake() -> None:
            async with asyncio.timeout(self._connect_seconds):
                self._client_session = aiohttp.ClientSession()
                self._websocket = await self._client_session.ws_connect(
                    url, headers=headers, **self._aiohttp_kwargs
                )

        try:
            self._loop.run_until_complete(handshake())
        except BaseException:
            self.close()  # the driver forgets a connection that never opened
            raise


def _host_and_port(endpoint: Endpoint) -> tuple[str, int]:
    parts = _split(endpoint.url)
    if parts is None or parts.scheme not in _DEFAULT_PORTS or not parts.hostname:
        raise GraphUnreachable(
            f"{endpoint.address}: a Gremlin endpoint is ws://host:port/gremlin or wss://..."
        )
    return parts.hostname, parts.port or _DEFAULT_PORTS[parts.scheme]


def _driver_options(endpoint: Endpoint, connections: int) -> dict[str, Any]:
    """What every connection is opened with."""
    _host_and_port(endpoint)
    logger = logging.getLogger("gremlinpython")
    if logger.level == logging.NOTSET:
        # It logs the whole of an error's answer, Java stack trace included. The error says it.
        logger.setLevel(logging.CRITICAL)

    def transport() -> AiohttpTransport:
        return _Transport(
            min(_CONNECT_SECONDS, endpoint.timeout_seconds),
            call_from_event_loop=_inside_event_loop(),
            read_timeout=endpoint.timeout_seconds,
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
    with translated_errors(endpoint):
        connection = DriverRemoteConnection(**_driver_options(endpoint, 1))
        try:
            yield traversal().with_remote(connection)
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
    """One cheap query. Raises GraphUnreachable or GraphRejected within a few seconds."""
    quick = replace(endpoint, timeout_seconds=min(endpoint.timeout_seconds, _CHECK_SECONDS))
    address = _host_and_port(quick)
    try:
        # By itself, because a name or port that nobody answers shows here soonest.
        socket.create_connection(address, timeout=_CHECK_SECONDS).close()
    except OSError as error:
        raise GraphUnreachable(f"{quick.address}: no connection: {_reason(error)}") from None
    with connect(quick) as g:
        g.inject(1).iterate()


def _reason(error: BaseException) -> str:
    if isinstance(error, TimeoutError):
        return "no answer in time"
    return getattr(error, "strerror", None) or type(error).__name__


@contextmanager
def translated_errors(endpoint: Endpoint) -> Iterator[None]:
    """Errors of gremlinpython and aiohttp, raised as ours, in one line that names the endpoint."""
    try:
        yield
    except GremlinServerError as error:
        raise _refusal(endpoint, error) from None
    except ConfigurationError:
        raise GraphRejected(f"{endpoint.address}: the server asks for a user and password") from None
    except aiohttp.WSServerHandshakeError as error:
        # Not its text: that repeats the whole URL.
        problem = f"no Gremlin endpoint, the answer was HTTP {error.status}"
        raise GraphUnreachable(f"{endpoint.address}: {problem}") from None
    except TimeoutError:
        raise GraphUnreachable(f"{endpoint.address}: no answer in time") from None
    except (aiohttp.ClientError, ConnectionError) as error:
        raise GraphUnreachable(f"{endpoint.address}: no connection: {_reason(error)}") from None
    except RuntimeError as error:
        if not str(error).startswith(_CLOSED):
            raise  # not the driver's
        raise GraphUnreachable(f"{endpoint.address}: the server closed the connection") from None


def _refusal(endpoint: Endpoint, error: GremlinServerError) -> GraphError:
    message = " ".join(str(error.status_message).split())
    if "Server disconnected" in message:
        return GraphUnreachable(f"{endpoint.address}: the server closed the connection")
    attributes = error.status_attributes or {}
    told = f"{message} {attributes.get('exceptions', '')}"
    if len(message) > _LONGEST_MESSAGE:
        message = message[: _LONGEST_MESSAGE - 3] + "..."
    kind = GraphConflict if any(sign in told for sign in _CONFLICTS) else GraphRejected
    return kind(f"refused by {endpoint.address}: {message} (status {error.status_code})")
