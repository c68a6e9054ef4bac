"""Requests on their way: several at once, and sent again where that may help.

Sending a request again whose answer was lost is safe: every write is an upsert by id, every
removal asks for itself whether it still holds.
"""

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from itertools import chain, islice
from typing import Any, TypeVar

from gremlin_python.process.graph_traversal import GraphTraversal, GraphTraversalSource
from gremlin_python.process.traversal import Bytecode

from lineage_merge.load.gremlin import upserts
from lineage_merge.load.gremlin.connection import Endpoint
from lineage_merge.load.gremlin.error_classification import ErrorKind
from lineage_merge.load.gremlin.reconnecting_client import GraphFault, ReconnectingClient, Sent
from lineage_merge.load.gremlin.retry_policy import RetryState
from lineage_merge.load.gremlin.traversal_source import source
from lineage_merge.load.gremlin.upserts import Upsert
from lineage_merge.model.errors import GraphError, GraphRejected

IDS_A_REQUEST = 200
Item = TypeVar("Item")

# One request is worked on by the server while the next is being written.
UNDER_WAY = 2

# Traversals are written down here and sent over whichever connection there is.
_g = source()


class Conflict(GraphRejected):
    """A request met another writer and did nothing. It does not leave this package."""


class GremlinExecutor:
    """One request after another, over one connection that is made anew where it breaks."""

    def __init__(self, link: ReconnectingClient) -> None:
        self._link = link

    def __call__(self, ask: Callable[[GraphTraversalSource], GraphTraversal]) -> list[Any]:
        """The results of one traversal. Raises GraphError."""
        return self._results(ask(_g).bytecode, conflicts=True)

    def once(self, ask: Callable[[GraphTraversalSource], GraphTraversal]) -> list[Any]:
        """The same, but raises Conflict at once: for a request that is made anew from what is there then."""
        return self._results(ask(_g).bytecode, conflicts=False)

    def _results(self, request: Bytecode, *, conflicts: bool) -> list[Any]:
        patience = RetryState(self._link.endpoint.retry_seconds)
        while True:
            sent = self._link.send(request)
            try:
                return [each.object for each in self._link.results(sent) for _ in range(each.bulk)]
            except GraphFault as failed:
                fault = failed.fault
            if fault.broken:
                self._link.renew(sent)
            if fault.kind is ErrorKind.CONFLICT and not conflicts:
                raise Conflict(fault.error.message)
            patience.wait(fault)


@contextmanager
def open_executor(endpoint: Endpoint) -> Iterator[GremlinExecutor]:
    """To ask, or to tell, the graph one thing after another. A connection is opened at the first."""
    with ReconnectingClient(endpoint) as link:
        yield GremlinExecutor(link)


def by_request(items: Iterable[Item]) -> Iterator[list[Item]]:
    """As many items at a time as one request may name."""
    remaining = iter(items)
    while some := list(islice(remaining, IDS_A_REQUEST)):
        yield some


def send(endpoint: Endpoint, batches: Iterator[list[Upsert]]) -> int:
    """Send every batch, a few under way at a time; how many there were.

    Raises GraphUnreachable, GraphDenied, and GraphRejected with the name of the element that was
    refused.
    """
    sent = 0
    first = next(batches, None)
    if first is None:
        return sent  # no rows, no connection
    most = min(UNDER_WAY, endpoint.writers or UNDER_WAY)
    with ReconnectingClient(endpoint, most) as link:
        under_way: deque[tuple[list[Upsert], Sent]] = deque()
        for batch in chain([first], batches):
            # What is too large for one request goes on in the next: two at one vertex would conflict.
            while under_way and (len(under_way) == most or under_way[-1][0][-1].id == batch[0].id):
                _settle(link, *under_way.popleft(), RetryState(endpoint.retry_seconds))
            under_way.append((batch, link.send(upserts.bytecode(batch))))
            sent += 1
        while under_way:
            _settle(link, *under_way.popleft(), RetryState(endpoint.retry_seconds))
    return sent


# What smaller requests may help against: at once, after a pause, when nothing else did.
_SMALLER = frozenset({ErrorKind.REJECTED, ErrorKind.TOO_LARGE})
_SMALLER_LATER = frozenset({ErrorKind.RESOURCE_EXHAUSTED})
_SMALLER_AT_LAST = frozenset({ErrorKind.CONFLICT, ErrorKind.INTERNAL})


def _settle(link: ReconnectingClient, batch: list[Upsert], sent: Sent, patience: RetryState) -> None:
    """Wait for the answer to a batch. Sends it again, or in parts, if that may help."""
    while True:
        try:
            link.results(sent)
        except GraphFault as failed:
            fault = failed.fault
        else:
            return
        if fault.broken:
            link.renew(sent)
        several = len(batch) > 1
        if several and fault.kind in _SMALLER:
            # The server refuses a whole request and need not say which element is wrong.
            size = 1 if fault.kind is ErrorKind.REJECTED else (len(batch) + 1) // 2
            _send_parts(link, batch, size, patience)
            return
        try:
            patience.wait(fault)
        except GraphError as error:
            if several and fault.kind in _SMALLER_AT_LAST:
                _send_parts(link, batch, 1, patience)
                return
            raise _named(error, batch) from None
        if several and fault.kind in _SMALLER_LATER:
            _send_parts(link, batch, (len(batch) + 1) // 2, patience)
            return
        sent = link.send(upserts.bytecode(batch))


def _send_parts(link: ReconnectingClient, batch: list[Upsert], size: int, patience: RetryState) -> None:
    for start in range(0, len(batch), size):
        part = batch[start : start + size]
        _settle(link, part, link.send(upserts.bytecode(part)), patience.of_part())


def _named(error: GraphError, batch: list[Upsert]) -> GraphError:
    """The error with what was refused; one that says nothing of an element stays as it is."""
    if type(error) is not GraphRejected:
        return error
    others = f" and {len(batch) - 1} more" if len(batch) > 1 else ""
    return GraphRejected(f"{batch[0]}{others}: {error.message}")
