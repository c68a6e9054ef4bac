"""Classification of the graph's errors, retries and messages."""

import json
import time
from collections.abc import Callable, Iterator

import pytest
from gremlin_python.driver.protocol import GremlinServerError
from gremlin_python.process.graph_traversal import GraphTraversalSource

from lineage_merge.load.gremlin import error_classification, upserts
from lineage_merge.load.gremlin.connection import Endpoint, check
from lineage_merge.load.gremlin.error_classification import ErrorKind, classify
from lineage_merge.load.gremlin.executor import open_executor, send
from lineage_merge.load.gremlin.upserts import EdgeUpsert, Upsert, VertexUpsert
from lineage_merge.model.errors import (
    GraphDenied,
    GraphError,
    GraphRejected,
    GraphUnreachable,
    GraphUnsupported,
)
from tests.graph_reading import whole
from tests.load.neptune_proxy import DETAIL, Answer, Fault, NeptuneProxy, neptune_proxy

# AWS, "Graph engine error messages and codes", and botocore's model of neptunedata.
NEPTUNE = {
    "AccessDeniedException": (ErrorKind.PERMANENT, GraphDenied),
    "BadRequestException": (ErrorKind.REJECTED, GraphRejected),
    "CancelledByMaintenanceException": (ErrorKind.UNAVAILABLE, GraphUnreachable),
    "CancelledByUserException": (ErrorKind.INTERNAL, GraphRejected),
    "ConcurrentModificationException": (ErrorKind.CONFLICT, GraphRejected),
    "ConstraintViolationException": (ErrorKind.CONFLICT, GraphRejected),
    "InternalFailureException": (ErrorKind.INTERNAL, GraphRejected),
    "InvalidParameterException": (ErrorKind.PERMANENT, GraphUnsupported),
    "MalformedQueryException": (ErrorKind.PERMANENT, GraphUnsupported),
    "MemoryLimitExceededException": (ErrorKind.RESOURCE_EXHAUSTED, GraphRejected),
    "MissingParameterException": (ErrorKind.PERMANENT, GraphUnsupported),
    "QueryLimitExceededException": (ErrorKind.THROTTLED, GraphUnreachable),
    "QueryLimitException": (ErrorKind.TOO_LARGE, GraphRejected),
    "QueryTooLargeException": (ErrorKind.TOO_LARGE, GraphRejected),
    "ReadOnlyViolationException": (ErrorKind.READ_ONLY, GraphUnreachable),
    "ServerShutdownException": (ErrorKind.UNAVAILABLE, GraphUnreachable),
    "ThrottlingException": (ErrorKind.THROTTLED, GraphUnreachable),
    "TimeLimitExceededException": (ErrorKind.RESOURCE_EXHAUSTED, GraphRejected),
    "TooManyRequestsException": (ErrorKind.THROTTLED, GraphUnreachable),
    "UnsupportedOperationException": (ErrorKind.PERMANENT, GraphUnsupported),
    "SomethingNewException": (ErrorKind.REJECTED, GraphRejected),
}


@pytest.mark.parametrize(("code", "expected"), NEPTUNE.items())
def test_an_error_of_neptune_is_classified_and_keeps_its_text(
    code: str, expected: tuple[ErrorKind, type[GraphError]]
) -> None:
    message = json.dumps({"requestId": "0dbcded3", "code": code, "detailedMessage": "as\nit says"})
    fault = classify(GremlinServerError({"code": 500, "message": message, "attributes": {}}), "wss://g")
    assert fault
    assert (fault.kind, type(fault.error)) == expected
    assert fault.error.message == f"rejected by wss://g: as\nit says ({code})".replace("\n", " ")


@pytest.fixture
def proxy(gremlin_url: str, gremlin: GraphTraversalSource) -> Iterator[NeptuneProxy]:
    with neptune_proxy(gremlin_url) as running:
        yield running


def first(*faults: Fault) -> Callable[[bytes], Fault | None]:
    """Return a function that yields these faults, then none."""
    left = list(faults)
    return lambda _: left.pop(0) if left else None


def vertices(count: int) -> list[Upsert]:
    return [
        VertexUpsert(f"dev|wh|t{i}", "table", (("name", f"t{i}"),), (("dag_name", "d"),))
        for i in range(count)
    ]


@pytest.mark.jvm
@pytest.mark.parametrize(
    "fault",
    [
        Answer("ConcurrentModificationException"),
        Answer("ReadOnlyViolationException", 400),
        Answer("ThrottlingException"),
        Answer("TooManyRequestsException", 429),
        Answer("QueryLimitExceededException"),
        Answer("MemoryLimitExceededException"),
        Answer("TimeLimitExceededException"),
        Answer("InternalFailureException"),
        Answer("ServerShutdownException"),
        "close before",
        "close after",
        "cut after",
        "hang",
        "late",
        "text",
        "foreign",
    ],
)
@pytest.mark.usefixtures("quick")
def test_a_query_and_a_write_with_one_temporary_error_succeed_on_retry(
    proxy: NeptuneProxy, gremlin: GraphTraversalSource, fault: Fault
) -> None:
    endpoint = Endpoint(proxy.url, timeout_seconds=0.5)
    proxy.choose_fault = first(fault)
    with open_executor(endpoint) as execute:
        assert execute(lambda g: g.inject(7, 8)) == [7, 8]
        # Not the late answer to the first.
        assert execute(lambda g: g.inject(9)) == [9]
    proxy.choose_fault = first(fault, fault)
    assert send(endpoint, upserts.batches(vertices(90), records=60)) == 5
    assert set(whole(gremlin)[0]) == {f"dev|wh|t{i}" for i in range(90)}


@pytest.mark.jvm
@pytest.mark.parametrize(
    ("answer", "error"),
    [
        (Answer("MalformedQueryException", 400), GraphUnsupported),
        (Answer("UnsupportedOperationException", 400), GraphUnsupported),
        (Answer("AccessDeniedException", 403), GraphDenied),
    ],
)
def test_a_permanent_error_is_not_retried_and_is_one_line(
    proxy: NeptuneProxy, answer: Answer, error: type[GraphError]
) -> None:
    proxy.choose_fault = lambda _: answer
    endpoint = Endpoint(proxy.url)
    with pytest.raises(error) as query_error, open_executor(endpoint) as execute:
        execute(lambda g: g.inject(1))
    assert proxy.requests == 1
    with pytest.raises(error) as sent:
        send(endpoint, iter([vertices(30)]))
    assert proxy.requests == 2
    message = f"rejected by {proxy.url}: {DETAIL} ({answer.code})"
    assert (query_error.value.message, sent.value.message) == (message, message)


@pytest.mark.jvm
def test_elements_of_a_rejected_request_are_sent_singly_to_name_the_invalid_one(
    proxy: NeptuneProxy,
) -> None:
    proxy.choose_fault = lambda request: (
        Answer("BadRequestException", 400) if b"dev|wh|t2" in request else None
    )
    with pytest.raises(GraphRejected, match=r"^table dev\|wh\|t2: rejected by .*BadRequestException"):
        send(Endpoint(proxy.url), iter([vertices(5)]))
    assert proxy.requests == 4  # all, t0, t1, t2


@pytest.mark.jvm
def test_a_request_that_exhausts_the_server_is_split_in_halves(
    proxy: NeptuneProxy, gremlin: GraphTraversalSource, quick: None
) -> None:
    sizes = []

    def only_small(request: bytes) -> Fault | None:
        sizes.append(request.count(b"mergeV"))
        return Answer("MemoryLimitExceededException") if sizes[-1] > 10 else None

    proxy.choose_fault = only_small
    send(Endpoint(proxy.url), iter([vertices(32)]))
    assert sizes == [32, 16, 8, 8, 16, 8, 8]
    assert len(whole(gremlin)[0]) == 32


@pytest.mark.jvm
def test_an_edge_with_a_missing_end_is_named_although_neptune_reports_a_conflict(
    proxy: NeptuneProxy, gremlin: GraphTraversalSource, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(
        error_classification.BACKOFF, ErrorKind.CONFLICT, error_classification.Backoff(0.01, 0.01, attempts=3)
    )
    proxy.choose_fault = lambda request: (
        Answer("ConstraintViolationException", 400) if b"lost" in request else None
    )
    send(Endpoint(proxy.url), iter([vertices(2)]))
    edges: list[Upsert] = [
        EdgeUpsert(name, "feeds", "dev|wh|t0", "dev|wh|t1", ()) for name in ("good", "lost", "other")
    ]
    with pytest.raises(GraphRejected, match=r"^edge lost .*ConstraintViolationException\) \(tried 3 times\)"):
        send(Endpoint(proxy.url), iter([edges]))
    assert set(whole(gremlin)[1]) == {"good"}


@pytest.mark.jvm
def test_retries_of_an_unavailable_graph_end_at_the_time_limit(proxy: NeptuneProxy) -> None:
    proxy.gate = lambda _: (503, "")
    started = time.monotonic()
    with pytest.raises(GraphUnreachable, match=r"HTTP 503 \(tried for 1.5 s\)$"):
        send(Endpoint(proxy.url, retry_seconds=1.5), iter([vertices(3), vertices(3)]))
    assert 1.4 < time.monotonic() - started < 20
    assert proxy.requests == 0


@pytest.mark.jvm
def test_retries_of_a_graph_without_responses_end(proxy: NeptuneProxy) -> None:
    proxy.choose_fault = lambda _: "hang"
    started = time.monotonic()
    with pytest.raises(GraphUnreachable, match=r"no response in time \(tried for 1 s\)$"):
        send(Endpoint(proxy.url, timeout_seconds=0.2, retry_seconds=1), iter([vertices(3)] * 3))
    assert time.monotonic() - started < 30


@pytest.mark.jvm
def test_without_retry_time_only_conflicts_are_retried(proxy: NeptuneProxy) -> None:
    endpoint = Endpoint(proxy.url, retry_seconds=0)
    proxy.choose_fault = first(*[Answer("ConcurrentModificationException")] * 3)
    send(endpoint, iter([vertices(3)]))
    assert proxy.requests == 4
    proxy.choose_fault = first("close before")
    with pytest.raises(GraphUnreachable, match=r"the server closed the connection$"):
        send(endpoint, iter([vertices(3)]))


def test_an_invalid_address_is_not_retried() -> None:
    with pytest.raises(GraphUnreachable, match="a Gremlin endpoint is ws://"):
        send(Endpoint("https://graph.example.com"), iter([vertices(1)]))


@pytest.mark.jvm
@pytest.mark.parametrize("status", [429, 500, 502, 503, 504])
@pytest.mark.usefixtures("quick")
def test_a_first_connection_rejected_temporarily_is_retried(proxy: NeptuneProxy, status: int) -> None:
    proxy.gate = lambda _: (status, "") if proxy.handshakes < 4 else None
    check(Endpoint(proxy.url))
    assert (proxy.handshakes, proxy.requests) == (4, 1)


@pytest.mark.jvm
@pytest.mark.parametrize(
    "answer", [Answer("ThrottlingException"), Answer("TimeLimitExceededException"), Answer("none", 598)]
)
@pytest.mark.usefixtures("quick")
def test_a_first_query_that_is_throttled_is_retried(proxy: NeptuneProxy, answer: Answer) -> None:
    proxy.choose_fault = first(answer, answer)
    check(Endpoint(proxy.url))
    assert proxy.requests == 3


@pytest.mark.jvm
def test_a_first_connection_is_retried_for_the_configured_time(proxy: NeptuneProxy) -> None:
    proxy.gate = lambda _: (503, "")
    with pytest.raises(GraphUnreachable, match=r"HTTP 503 \(tried for 0.5 s\)$"):
        check(Endpoint(proxy.url, retry_seconds=0.5))
    assert proxy.handshakes > 1
    proxy.handshakes = 0
    with pytest.raises(GraphUnreachable, match=r"HTTP 503$"):
        check(Endpoint(proxy.url, retry_seconds=0))
    assert proxy.handshakes == 1


@pytest.mark.jvm
@pytest.mark.parametrize("fault", ["text", "foreign", "hang"])
def test_an_invalid_first_response_is_a_lost_connection(proxy: NeptuneProxy, fault: Fault) -> None:
    proxy.choose_fault = lambda _: fault
    with pytest.raises(GraphUnreachable, match=r"belongs to no request$|no response in time$"):
        check(Endpoint(proxy.url, timeout_seconds=0.5))


@pytest.mark.jvm
def test_requests_contain_the_time_limit(proxy: NeptuneProxy) -> None:
    seen: list[bytes] = []
    proxy.choose_fault = lambda request: seen.append(request)
    endpoint = Endpoint(proxy.url, timeout_seconds=7)
    with open_executor(endpoint) as execute:
        execute(lambda g: g.inject(1))
    send(endpoint, iter([vertices(1)]))
    wanted = b"evaluationTimeout" + b"\x01\x00" + (7000).to_bytes(4, "big")
    assert [wanted in request for request in seen] == [True, True]


@pytest.mark.jvm
@pytest.mark.usefixtures("quick")
@pytest.mark.parametrize("fault", ["close before", "close after", Answer("ThrottlingException")])
def test_reads_in_flight_over_a_lost_connection_are_repeated_and_stay_in_order(
    proxy: NeptuneProxy, fault: Fault
) -> None:
    names = [f"dev|wh|t{i}" for i in range(1_500)]
    send(Endpoint(proxy.url), upserts.batches(vertices(len(names))))
    proxy.choose_fault = first(fault, fault)
    with open_executor(Endpoint(proxy.url, retry_seconds=30)) as execute:
        batches = list(execute.reads(lambda g, ids: g.V(*ids).id_(), names))
    assert [set(batch) for batch in batches] == [set(names[at : at + 200]) for at in range(0, 1_500, 200)]
