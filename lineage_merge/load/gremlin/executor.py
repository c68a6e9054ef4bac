"""Execution of traversals and batches of upserts, with retries over connections that are reopened.

A failed connection is never reused: a late response to an earlier request would be taken for that to the
next one.

Repeating a request whose response was lost is safe: writes are upserts by id, and deletions check their own
conditions.
"""

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import CancelledError, Future
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import dataclass
from itertools import chain, islice
from typing import Any, TypeVar

from gremlin_python.driver.client import Client
from gremlin_python.process.graph_traversal import GraphTraversal, GraphTraversalSource
from gremlin_python.process.traversal import Bytecode

from lineage_merge.infra.traversal_source import source
from lineage_merge.load.gremlin import upserts
from lineage_merge.load.gremlin.connection import Endpoint, host_and_port, open_client, time_limit
from lineage_merge.load.gremlin.error_classification import ClassifiedError, ErrorKind, RetryState, classify
from lineage_merge.load.gremlin.upserts import Upsert
from lineage_merge.model.errors import GraphError, GraphRejected

# Backstop for waits that the transport's read and write timeouts do not end.
_SPARE_SECONDS = 30.0


@dataclass(frozen=True, slots=True)
class PendingRequest:
    """A sent request: the number of the connections it was sent over, and its future response."""

    connections: int
    response: "Future[Any]"


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
        self._size = connections
        self._timeout_seconds = 2 * endpoint.timeout_seconds + _SPARE_SECONDS
        self._opened = 0
        self._open: ExitStack | None = None
        self._client: Client | None = None
        self._in_flight: list[Future[Any]] = []

    def send(self, request: Bytecode) -> PendingRequest:
        """Send a request. All errors, also of the connection, are raised by `results`."""
        response: Future[Any]
        if self.endpoint.traffic:
            self.endpoint.traffic.requests.add(1)
        try:
            response = self._opened_client().submit_async(request, request_options=time_limit(self.endpoint))
        except Exception as error:  # noqa: BLE001 # it is raised by `results`
            response = Future()
            response.set_exception(error)
        self._in_flight.append(response)
        return PendingRequest(self._opened, response)

    def results(self, sent: PendingRequest) -> list[Any]:
        """Wait for the response. Raises GraphFault; then call `reset` before the next `send`."""
        try:
            results: list[Any] = (
                sent.response.result(self._timeout_seconds).all().result(self._timeout_seconds)
            )
        except Exception as error:
            failure = classify(error, self.endpoint.address)
            if failure is None:
                raise
            raise RequestFailed(failure) from None
        finally:
            if sent.response in self._in_flight:
                self._in_flight.remove(sent.response)
        if self.endpoint.traffic:
            self.endpoint.traffic.read.add(len(results))
        return results

    def reset(self, sent: PendingRequest) -> None:
        """Close the connections over which a request was sent, unless they are already closed."""
        if sent.connections == self._opened:
            self.close()

    def _opened_client(self) -> Client:
        if self._client is None:
            self._open = ExitStack()
            self._client = self._open.enter_context(open_client(self.endpoint, self._size))
            self._opened += 1
        return self._client

    def close(self) -> None:
        """Close all connections; the next request opens them again."""
        # A client only closes idle connections. Each wait is limited, and the requests in flight were sent at
        # about the same time.
        for response in self._in_flight:
            _wait_quietly(response, self._timeout_seconds)
        self._client = None
        if self._open is not None:
            self._open.close()
            self._open = None


def _wait_quietly(response: "Future[Any]", seconds: float) -> None:
    with suppress(TimeoutError, CancelledError):
        if response.exception(seconds) is None:
            response.result().all().exception(seconds)


IDS_PER_REQUEST = 200
Item = TypeVar("Item")
Result = TypeVar("Result")
BuildTraversal = Callable[[GraphTraversalSource], GraphTraversal]

# The server executes one request while the next one is serialized.
REQUESTS_IN_FLIGHT = 2

# Builds traversals, which are then sent over any connection.
_g = source()


class Conflict(GraphRejected):
    """A request had no effect because of a concurrent writer. Internal to this package."""


class GremlinExecutor:
    """Executes traversals one after another over one connection, which is reopened if it fails."""

    def __init__(self, client: ReconnectingClient) -> None:
        self._client = client

    def __call__(self, build: BuildTraversal) -> list[Any]:
        """Return the results of a traversal. Raises GraphError."""
        return self._results(build(_g).bytecode, retry_conflicts=True)

    def in_batches(
        self, build: Callable[[GraphTraversalSource, list[Item]], GraphTraversal], items: Iterable[Item]
    ) -> list[Any]:
        """Return the results of a traversal of items, as many per request as one may name."""
        results: list[Any] = []
        for batch in by_request(items):
            results += self._results(build(_g, batch).bytecode, retry_conflicts=True)
        return results

    def once(self, build: BuildTraversal) -> list[Any]:
        """Return the results of a traversal that depends on values read before; raises Conflict at once."""
        return self._results(build(_g).bytecode, retry_conflicts=False)

    def _results(self, request: Bytecode, *, retry_conflicts: bool) -> list[Any]:
        retries = RetryState(self._client.endpoint.retry_seconds)
        while True:
            sent = self._client.send(request)
            try:
                return [result.object for result in self._client.results(sent) for _ in range(result.bulk)]
            except RequestFailed as failed:
                failure = failed.failure
            if failure.broken:
                self._client.reset(sent)
            if failure.kind is ErrorKind.CONFLICT and not retry_conflicts:
                raise Conflict(failure.error.message)
            retries.wait(failure)


@contextmanager
def open_executor(endpoint: Endpoint) -> Iterator[GremlinExecutor]:
    """Provide an executor; its connection is opened by the first traversal."""
    with closing(ReconnectingClient(endpoint)) as client:
        yield GremlinExecutor(client)


def read_batches(
    endpoint: Endpoint,
    readers: Sequence[Callable[[GremlinExecutor, list[Item]], Iterable[Result]]],
    items: Iterable[Item],
) -> Iterator[Result]:
    """Yield what the readers return for items, as many at a time as one request may name."""
    with open_executor(endpoint) as execute:
        for batch in by_request(items):
            for read in readers:
                yield from read(execute, batch)


def by_request(items: Iterable[Item]) -> Iterator[list[Item]]:
    """Yield the items in lists of as many as one request may name."""
    remaining = iter(items)
    while batch := list(islice(remaining, IDS_PER_REQUEST)):
        yield batch


def send(endpoint: Endpoint, batches: Iterator[list[Upsert]]) -> int:
    """Send all batches, a few of them concurrently; returns their number.

    Raises GraphUnreachable, GraphDenied, and GraphRejected with the rejected element.
    """
    sent = 0
    first = next(batches, None)
    if first is None:
        return sent  # no rows, no connection
    limit = min(REQUESTS_IN_FLIGHT, endpoint.writers or REQUESTS_IN_FLIGHT)
    with closing(ReconnectingClient(endpoint, limit)) as client:
        in_flight: deque[tuple[list[Upsert], PendingRequest]] = deque()
        for batch in chain([first], batches):
            # An element too large for one request continues in the next: concurrent writes to it would
            # conflict.
            while in_flight and (len(in_flight) == limit or in_flight[-1][0][-1].id == batch[0].id):
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
            raise _with_element(error, batch) from None
        if can_split and failure.kind in _SPLIT_AFTER_PAUSE:
            _send_parts(client, batch, (len(batch) + 1) // 2, retries)
            return
        sent = client.send(upserts.bytecode(batch))


def _send_parts(client: ReconnectingClient, batch: list[Upsert], size: int, retries: RetryState) -> None:
    for start in range(0, len(batch), size):
        part = batch[start : start + size]
        _complete(client, part, client.send(upserts.bytecode(part)), retries.for_part())


def _with_element(error: GraphError, batch: list[Upsert]) -> GraphError:
    """Return the error with the rejected element; errors not about an element stay unchanged."""
    if type(error) is not GraphRejected:
        return error
    others = f" and {len(batch) - 1} more" if len(batch) > 1 else ""
    return GraphRejected(f"{batch[0]}{others}: {error.message}")
