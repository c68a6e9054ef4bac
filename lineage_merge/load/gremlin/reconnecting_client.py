"""Connections to the graph that are opened when they are needed, and anew where they broke.

A connection that failed is never used again: a late answer of an earlier request would be taken
for that of the next one.
"""

from concurrent.futures import CancelledError, Future
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from types import TracebackType
from typing import Any

from gremlin_python.driver.client import Client
from gremlin_python.process.traversal import Bytecode

from lineage_merge.load.gremlin.connection import Endpoint, host_and_port, open_client, time_limit
from lineage_merge.load.gremlin.error_classification import ClassifiedError, classify

# A write and a read have limits of their own; this ends a wait that they do not.
_SPARE_SECONDS = 30.0


@dataclass(frozen=True, slots=True)
class Sent:
    """A request on its way, over which connections (they are counted), and its answer to be."""

    connections: int
    answer: "Future[Any]"


class GraphFault(Exception):
    """A request failed; `fault` says how. It never leaves this package."""

    def __init__(self, fault: ClassifiedError) -> None:
        super().__init__(fault.name)
        self.fault = fault


class ReconnectingClient:
    """Requests to one endpoint, up to `connections` of them under way at once. Not for several threads."""

    def __init__(self, endpoint: Endpoint, connections: int = 1) -> None:
        host_and_port(endpoint)  # a wrong address stays wrong: not to be tried again
        self.endpoint = endpoint
        self._size = connections
        self._limit = 2 * endpoint.timeout_seconds + _SPARE_SECONDS
        self._opened = 0
        self._open: ExitStack | None = None
        self._client: Client | None = None
        self._under_way: list[Future[Any]] = []

    def __enter__(self) -> "ReconnectingClient":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._close()

    def send(self, request: Bytecode) -> Sent:
        """Begin. Whatever goes wrong, already with the connection, shows when the answer is awaited."""
        answer: Future[Any]
        if self.endpoint.traffic:
            self.endpoint.traffic.requests.add(1)
        try:
            answer = self._opened_client().submit_async(request, request_options=time_limit(self.endpoint))
        except Exception as error:  # noqa: BLE001 # it is raised by `results`
            answer = Future()
            answer.set_exception(error)
        self._under_way.append(answer)
        return Sent(self._opened, answer)

    def results(self, sent: Sent) -> list[Any]:
        """Wait for the answer. Raises GraphFault; after one, `renew` is called before the next `send`."""
        try:
            found: list[Any] = sent.answer.result(self._limit).all().result(self._limit)
        except Exception as error:
            fault = classify(error, self.endpoint.address)
            if fault is None:
                raise
            raise GraphFault(fault) from None
        finally:
            if sent.answer in self._under_way:
                self._under_way.remove(sent.answer)
        if self.endpoint.traffic:
            self.endpoint.traffic.read.add(len(found))
        return found

    def renew(self, sent: Sent) -> None:
        """Give the connections up over which a request was sent, unless that has been done."""
        if sent.connections == self._opened:
            self._close()

    def _opened_client(self) -> Client:
        if self._client is None:
            self._open = ExitStack()
            self._client = self._open.enter_context(open_client(self.endpoint, self._size))
            self._opened += 1
        return self._client

    def _close(self) -> None:
        # A client closes only the connections that wait for nothing. Each wait has its limit, and
        # the requests under way were sent at about the same time.
        for answer in self._under_way:
            _wait_quietly(answer, self._limit)
        self._client = None
        if self._open is not None:
            self._open.close()
            self._open = None


def _wait_quietly(answer: "Future[Any]", seconds: float) -> None:
    with suppress(TimeoutError, CancelledError):
        if answer.exception(seconds) is None:
            answer.result().all().exception(seconds)
