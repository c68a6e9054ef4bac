"""Whole loads to a graph with all failures of Neptune: they end as without failures."""

import random
import threading
from collections import Counter
from datetime import UTC, datetime

import pytest

from lineage_merge.infra.engine.rows import Engine
from lineage_merge.load.gremlin.connection import Endpoint
from lineage_merge.load.gremlin.signing import SERVICE, Iam
from lineage_merge.load.server.update import update
from lineage_merge.model.errors import GraphDenied, GraphUnsupported
from tests.load.changing_pipeline import after, before, graph, restore
from tests.load.engines import on_both_engines
from tests.load.neptune_proxy import Answer, Fault, Refusal, neptune_proxy
from tests.load.sigv4 import Keys, Refused, Request, verify

pytestmark = pytest.mark.jvm

REGION = "us-east-1"
FAULTS: list[Fault] = [
    *map(
        Answer,
        [
            "ConcurrentModificationException",
            "ReadOnlyViolationException",
            "ServerShutdownException",
            "ThrottlingException",
            "TooManyRequestsException",
            "QueryLimitExceededException",
            "MemoryLimitExceededException",
            "TimeLimitExceededException",
            "InternalFailureException",
        ],
    ),
    "close before",
    "close after",
    "cut after",
]
# Nothing listens, a load balancer without a target, too many connections.
REFUSALS: list[Refusal] = [(0, ""), (503, ""), (429, "")]


class Trouble:
    """Every fault twice and one missing response, in a random order at random requests (by the seed).

    After a closed socket the next connections are refused with several errors. Each connection must be
    signed.
    """

    def __init__(self, seed: int) -> None:
        self._chance = random.Random(seed)
        self.left: list[Fault] = [*FAULTS * 2, "hang"]
        self._chance.shuffle(self.left)
        self._refusals: list[Refusal] = []
        self.refused: Counter[int] = Counter()
        self.unsigned = 0
        self.begun = False

    def gate(self, request: Request) -> Refusal | None:
        try:
            verify(request, {"testing": Keys("testing")}.get, REGION, SERVICE, datetime.now(UTC))
        except Refused:
            self.unsigned += 1
            return 403, ""
        if not self._refusals:
            return None
        refusal = self._refusals.pop(0)
        self.refused[refusal[0]] += 1
        return refusal

    def fault(self, _: bytes) -> Fault | None:
        # The first request of a load asks whether the graph is there at all, once.
        begun, self.begun = self.begun, True
        if not begun or not self.left or self._chance.random() < 0.4:
            return None
        fault = self.left.pop()
        if fault in ("close before", "cut after"):
            self._refusals += REFUSALS
        return fault


@pytest.fixture
def server(conflicting_url: str) -> Endpoint:
    endpoint = Endpoint(conflicting_url)
    restore(endpoint, ({}, {}))
    return endpoint


@pytest.mark.usefixtures("quick")
def test_a_load_with_all_faults_ends_in_the_graph_of_a_fault_free_one(
    engine: Engine, server: Endpoint
) -> None:
    first, second = before().merge(engine), after().merge(engine)
    update(first, server, "dev", "d")
    start = graph(server)
    update(second, server, "dev", "d")
    quiet = graph(server)
    restore(server, start)
    trouble = Trouble(seed=5)
    with neptune_proxy(server.url, trouble.gate, trouble.fault) as proxy:
        update(second, Endpoint(proxy.url, timeout_seconds=2, iam=Iam(REGION)), "dev", "d")
    found = graph(server)
    assert found[0] == quiet[0]
    assert found[1] == quiet[1]
    assert (trouble.left, trouble.unsigned) == ([], 0)
    assert set(trouble.refused) == {0, 503, 429}


@on_both_engines
@pytest.mark.parametrize(
    ("answer", "error"),
    [
        (Answer("AccessDeniedException", 403), GraphDenied),
        (Answer("MalformedQueryException", 400), GraphUnsupported),
    ],
)
def test_a_permanent_rejection_is_not_retried_and_reported_in_one_line(
    engine: Engine, server: Endpoint, answer: Answer, error: type[Exception]
) -> None:
    merge = after().merge(engine)
    refused: Counter[bytes] = Counter()
    lock = threading.Lock()

    def writes_are_refused(request: bytes) -> Fault | None:
        if b"mergeV" not in request or b"merge_run" in request:
            return None
        content = request[1 + request[0] + 18 :]  # without its id
        with lock:
            refused[content] += 1
        return answer

    with (
        neptune_proxy(server.url, choose_fault=writes_are_refused) as proxy,
        pytest.raises(error) as raised,
    ):
        update(merge, Endpoint(proxy.url), "dev", "d")
    assert set(refused.values()) == {1}
    assert str(raised.value) == f"rejected by {proxy.url}: from the proxy ({answer.code})"
