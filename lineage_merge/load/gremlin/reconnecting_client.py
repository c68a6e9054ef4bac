"""Client that opens its connections on demand and reopens them after failures.

A failed connection is never reused: a late response to an earlier request would be taken for that to the next
one.
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

    def __enter__(self) -> "ReconnectingClient":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._close()

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
            found: list[Any] = sent.response.result(self._timeout_seconds).all().result(self._timeout_seconds)
        except Exception as error:
            failure = classify(error, self.endpoint.address)
            if failure is None:
                raise
            raise RequestFailed(failure) from None
        finally:
            if sent.response in self._in_flight:
                self._in_flight.remove(sent.response)
        if self.endpoint.traffic:
            self.endpoint.traffic.read.add(len(found))
        return found

    def reset(self, sent: PendingRequest) -> None:
        """Close the connections over which a request was sent, unless they are already closed."""
        if sent.connections == self._opened:
            self._close()

    def _opened_client(self) -> Client:
        if self._client is None:
            self._open = ExitStack()
            self._client = self._open.enter_context(open_client(self.endpoint, self._size))
            self._opened += 1
        return self._client

    def _close(self) -> None:
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
