"""Execution of traversals and batches of upserts, with retries over connections that are reopened.

A failed connection is never reused: a late response to an earlier request would be taken for that to the
next one.

Repeating a request whose response was lost is safe: writes are upserts by id, and deletions check their own
conditions.
"""

import sys
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import CancelledError, Future, ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass
from itertools import chain
from threading import Lock
from typing import Any, TypeVar

from gremlin_python.driver.client import Client
from gremlin_python.process.graph_traversal import GraphTraversal, GraphTraversalSource
from gremlin_python.process.traversal import Bytecode

from lineage_merge.infra.batches import batched
from lineage_merge.infra.traversal_source import source
from lineage_merge.load.gremlin import upserts
from lineage_merge.load.gremlin.connection import Endpoint, host_and_port, open_client, time_limit
from lineage_merge.load.gremlin.error_classification import ClassifiedError, ErrorKind, RetryState, classify
from lineage_merge.load.gremlin.upserts import Upsert
from lineage_merge.model.errors import GraphError, GraphRejected

# Backstop for waits that the transport's read and write timeouts do not end.
_SPARE_SECONDS = 30.0


@dataclass(slots=True, eq=False)
class PendingRequest:
    """A sent request: the number of the connections it was sent over, and its future response."""

    connections: int
    response: "Future[Any]"
    _results: "Future[list[Any]] | None" = None

    def results(self, seconds: float) -> "Future[list[Any]]":
        """Return the future of all results, after the request was sent: the driver's can be read once."""
        if self._results is None:
            self._results = self.response.result(seconds).all()
        return self._results


class RequestFailed(Exception):
    """A request failed with a classified error. Internal to this package."""

    def __init__(self, failure: ClassifiedError) -> None:
        super().__init__(failure.name)
        self.failure = failure


class ReconnectingClient:
    """Requests to one endpoint, up to `connections` of them concurrently. Not thread-safe."""

    def __init__(self, endpoint: Endpoint, connections: int = 1) -> None:
        host_and_port(endpoint)  # an invalid address is not retried
        self.endpoint = endpoint
        self.connections = connections
        self._timeout_seconds = 2 * endpoint.timeout_seconds + _SPARE_SECONDS
        self._opened = 0
        self._open: ExitStack | None = None
        self._client: Client | None = None
        self._in_flight: list[PendingRequest] = []

    def send(self, request: Bytecode) -> PendingRequest:
        """Send a request. All errors, also of the connection, are raised by `results`."""
        response: Future[Any]
        if self.endpoint.traffic:
            self.endpoint.traffic.requests.add(1)
        try:
            response = self._open_client().submit_async(request, request_options=time_limit(self.endpoint))
        except Exception as error:  # noqa: BLE001 # it is raised by `results`
            response = Future()
            response.set_exception(error)
        sent = PendingRequest(self._opened, response)
        self._in_flight.append(sent)
        return sent

    def results(self, sent: PendingRequest) -> list[Any]:
        """Wait for the response. Raises GraphFault; then call `reset` before the next `send`."""
        try:
            results = sent.results(self._timeout_seconds).result(self._timeout_seconds)
        except Exception as error:
            failure = classify(error, self.endpoint.address)
            if failure is None:
                raise
            raise RequestFailed(failure) from None
        finally:
            if sent in self._in_flight:
                self._in_flight.remove(sent)
        if self.endpoint.traffic:
            self.endpoint.traffic.read.add(len(results))
        return results

    def reset(self, sent: PendingRequest) -> None:
        """Close the connections over which a request was sent, unless they are already closed."""
        if sent.connections == self._opened:
            self.close()

    def _open_client(self) -> Client:
        if self._client is None:
            self._open = ExitStack()
            self._client = self._open.enter_context(open_client(self.endpoint, self.connections))
            self._opened += 1
        return self._client

    def close(self) -> None:
        """Close all connections; the next request opens them again."""
        # A client only closes idle connections. Each wait is limited, and the requests in flight were sent at
        # about the same time.
        for sent in self._in_flight:
            _wait_quietly(sent, self._timeout_seconds)
        self._client = None
        if self._open is not None:
            self._open.close()
            self._open = None


def _wait_quietly(sent: PendingRequest, seconds: float) -> None:
    with suppress(TimeoutError, CancelledError):
        if sent.response.exception(seconds) is None:
            sent.results(seconds).exception(seconds)


IDS_PER_REQUEST = 200
Item = TypeVar("Item")
BuildTraversal = Callable[[GraphTraversalSource], GraphTraversal]

# The server executes one request while the next one is serialized.
REQUESTS_IN_FLIGHT = 2
# Reads do not conflict; more in flight hide the network.
READS_IN_FLIGHT = 4
# Networks drop connections that are idle for some minutes.
_IDLE_SECONDS = 60.0

# Builds traversals, which are then sent over any connection.
_g = source()


class Conflict(GraphRejected):
    """A request had no effect because of a concurrent writer. Internal to this package."""


class GremlinExecutor:
    """Executes traversals one after another over one connection; `concurrent` is for `reads` of many items.

    Connections are opened by the first traversal, and again if they fail.
    """

    def __init__(self, client: ReconnectingClient, concurrent: ReconnectingClient) -> None:
        self._client = client
        self._concurrent = concurrent

    def __call__(self, build: BuildTraversal) -> list[Any]:
        """Return the results of a traversal. Raises GraphError."""
        return self._results(build(_g).bytecode)

    def run_in_batches(
        self, build: Callable[[GraphTraversalSource, list[Item]], GraphTraversal], items: Iterable[Item]
    ) -> list[Any]:
        """Return the results of a traversal of items, as many per request as one may name."""
        results: list[Any] = []
        for batch in split_by_request(items):
            results += self._results(build(_g, batch).bytecode)
        return results

    def reads(
        self, build: Callable[[GraphTraversalSource, list[Item]], GraphTraversal], items: Iterable[Item]
    ) -> Iterator[list[Any]]:
        """Yield the results of a read of items per request, in their order; a few requests are in flight."""
        in_flight: deque[tuple[Bytecode, PendingRequest]] = deque()
        client = self._client
        for batch in split_by_request(items):
            if len(batch) == IDS_PER_REQUEST:
                client = self._concurrent  # more may follow
            if len(in_flight) == READS_IN_FLIGHT:
                yield _response(client, *in_flight.popleft())
            request = build(_g, batch).bytecode
            in_flight.append((request, client.send(request)))
        while in_flight:
            yield _response(client, *in_flight.popleft())

    def once(self, build: BuildTraversal) -> list[Any]:
        """Return the results of a traversal that depends on values read before; raises Conflict at once."""
        return self._results(build(_g).bytecode, retry_conflicts=False)

    def _results(self, request: Bytecode, *, retry_conflicts: bool = True) -> list[Any]:
        return _response(self._client, request, self._client.send(request), retry_conflicts=retry_conflicts)


def _response(
    client: ReconnectingClient, request: Bytecode, sent: PendingRequest, *, retry_conflicts: bool = True
) -> list[Any]:
    """Wait for the response to a request; retries it."""
    retries = RetryState(client.endpoint.retry_seconds)
    while True:
        try:
            return [result.object for result in client.results(sent) for _ in range(result.bulk)]
        except RequestFailed as failed:
            failure = failed.failure
        if failure.broken:
            client.reset(sent)
        if failure.kind is ErrorKind.CONFLICT and not retry_conflicts:
            raise Conflict(failure.error.message)
        retries.wait(failure)
        sent = client.send(request)


class _IdleClients:
    """Clients between two executors, with the time since when."""

    def __init__(self) -> None:
        self._clients: list[tuple[float, ReconnectingClient]] = []
        self._lock = Lock()

    def take(self, endpoint: Endpoint, connections: int) -> ReconnectingClient:
        """Return an idle client, or a new one; for several connections also one that has more of them.

        One request after another would open all connections of a client, each by a round trip.
        """
        most = 1 if connections == 1 else sys.maxsize
        while True:
            with self._lock:
                suitable = [
                    (client.connections, since, index)
                    for index, (since, client) in enumerate(self._clients)
                    if client.endpoint == endpoint and connections <= client.connections <= most
                ]
                if not suitable:
                    return ReconnectingClient(endpoint, connections)
                since, client = self._clients.pop(min(suitable)[-1])
            if time.monotonic() - since < _IDLE_SECONDS:
                return client
            client.close()

    def keep(self, client: ReconnectingClient) -> None:
        """Add a client whose requests have been answered."""
        with self._lock:
            self._clients.append((time.monotonic(), client))

    def close(self) -> None:
        """Close all clients, at once: each waits for the server."""
        clients = [client for _, client in self._clients]
        self._clients.clear()
        if clients:
            with ThreadPoolExecutor(len(clients)) as pool:
                list(pool.map(ReconnectingClient.close, clients))


_idle: ContextVar[_IdleClients | None] = ContextVar("_idle", default=None)


@contextmanager
def reuse_connections() -> Iterator[None]:
    """In the block, executors of this process continue to use the connections of earlier ones.

    A connection takes several round trips to open, as many as most stages of an unchanged load.
    """
    clients = _IdleClients()
    before = _idle.set(clients)
    try:
        yield
    finally:
        _idle.reset(before)
        clients.close()


@contextmanager
def _client(endpoint: Endpoint, connections: int) -> Iterator[ReconnectingClient]:
    """Provide a client; its connections are opened by the first requests."""
    idle = _idle.get()
    client = idle.take(endpoint, connections) if idle else ReconnectingClient(endpoint, connections)
    try:
        yield client
    except BaseException:
        client.close()
        raise
    if idle:
        idle.keep(client)
    else:
        client.close()


@contextmanager
def open_executor(endpoint: Endpoint) -> Iterator[GremlinExecutor]:
    """Provide an executor; its connections are opened by the first traversals."""
    with _client(endpoint, 1) as client, _client(endpoint, READS_IN_FLIGHT) as concurrent:
        yield GremlinExecutor(client, concurrent)


def split_by_request(items: Iterable[Item]) -> Iterator[list[Item]]:
    """Yield the items in lists of as many as one request may name."""
    return batched(items, IDS_PER_REQUEST)


def send(
    endpoint: Endpoint, batches: Iterator[list[Upsert]], in_flight_limit: int = REQUESTS_IN_FLIGHT
) -> int:
    """Send all batches, up to `in_flight_limit` of them concurrently; returns their number.

    Raises GraphUnreachable, GraphDenied, and GraphRejected with the rejected element.
    """
    sent = 0
    first = next(batches, None)
    if first is None:
        return sent  # no rows, no connection
    with _client(endpoint, in_flight_limit) as client:
        in_flight: deque[tuple[list[Upsert], PendingRequest]] = deque()
        for batch in chain([first], batches):
            # An element too large for one request continues in the next: concurrent writes to it would
            # conflict.
            while in_flight and (len(in_flight) == in_flight_limit or in_flight[-1][0][-1].id == batch[0].id):
                _complete(client, *in_flight.popleft(), RetryState(endpoint.retry_seconds))
            in_flight.append((batch, client.send(upserts.bytecode(batch))))
            sent += 1
        while in_flight:
            _complete(client, *in_flight.popleft(), RetryState(endpoint.retry_seconds))
    return sent


# Errors after which a batch is split: immediately, after a pause, or when retries are exhausted.
_SPLIT_NOW = frozenset({ErrorKind.REJECTED, ErrorKind.TOO_LARGE})
_SPLIT_AFTER_PAUSE = frozenset({ErrorKind.RESOURCE_EXHAUSTED})
_SPLIT_LAST = frozenset({ErrorKind.CONFLICT, ErrorKind.INTERNAL})


def _complete(
    client: ReconnectingClient, batch: list[Upsert], sent: PendingRequest, retries: RetryState
) -> None:
    """Wait for the response to a batch; retries it, or splits it, if that may help."""
    while True:
        try:
            client.results(sent)
        except RequestFailed as failed:
            failure = failed.failure
        else:
            return
        if failure.broken:
            client.reset(sent)
        can_split = len(batch) > 1
        if can_split and failure.kind in _SPLIT_NOW:
            # The server rejects the whole request and need not name the element.
            size = 1 if failure.kind is ErrorKind.REJECTED else (len(batch) + 1) // 2
            _send_parts(client, batch, size, retries)
            return
        try:
            retries.wait(failure)
        except GraphError as error:
            if can_split and failure.kind in _SPLIT_LAST:
                _send_parts(client, batch, 1, retries)
                return
            raise _add_element(error, batch) from None
        if can_split and failure.kind in _SPLIT_AFTER_PAUSE:
            _send_parts(client, batch, (len(batch) + 1) // 2, retries)
            return
        sent = client.send(upserts.bytecode(batch))


def _send_parts(client: ReconnectingClient, batch: list[Upsert], size: int, retries: RetryState) -> None:
    for part in batched(batch, size):
        _complete(client, part, client.send(upserts.bytecode(part)), retries.copy_for_part())


def _add_element(error: GraphError, batch: list[Upsert]) -> GraphError:
    """Return the error with the rejected element; errors not about an element stay unchanged."""
    if type(error) is not GraphRejected:
        return error
    others = f" and {len(batch) - 1} more" if len(batch) > 1 else ""
    return GraphRejected(f"{batch[0]}{others}: {error.message}")
