"""Execution of traversals and batches of upserts, with retries.

Repeating a request whose response was lost is safe: writes are upserts by id, and deletions check their own
conditions.
"""

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from itertools import chain, islice
from typing import Any, TypeVar

from gremlin_python.process.graph_traversal import GraphTraversal, GraphTraversalSource
from gremlin_python.process.traversal import Bytecode

from lineage_merge.infra.traversal_source import source
from lineage_merge.load.gremlin import upserts
from lineage_merge.load.gremlin.connection import Endpoint
from lineage_merge.load.gremlin.error_classification import ErrorKind
from lineage_merge.load.gremlin.reconnecting_client import PendingRequest, ReconnectingClient, RequestFailed
from lineage_merge.load.gremlin.retry_policy import RetryState
from lineage_merge.load.gremlin.upserts import Upsert
from lineage_merge.model.errors import GraphError, GraphRejected

IDS_PER_REQUEST = 200
Item = TypeVar("Item")
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

    def once(self, build: BuildTraversal) -> list[Any]:
        """Return the results of a traversal that depends on values read before; raises Conflict at once."""
        return self._results(build(_g).bytecode, retry_conflicts=False)

    def _results(self, request: Bytecode, *, retry_conflicts: bool) -> list[Any]:
        retries = RetryState(self._client.endpoint.retry_seconds)
        while True:
            sent = self._client.send(request)
            try:
                return [each.object for each in self._client.results(sent) for _ in range(each.bulk)]
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
    with ReconnectingClient(endpoint) as client:
        yield GremlinExecutor(client)


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
    with ReconnectingClient(endpoint, limit) as client:
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
