"""Minimal client of load.py: prepared batches, sent by several processes without checks.

Before the measurement each process has its elements as bytecode, and one open connection. It sends batches,
two concurrently, and ignores the content of responses. All processes write vertices before edges. This is the
maximum rate of the graph with gremlinpython.
"""

import multiprocessing
import time
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import ExitStack
from typing import Any

from gremlin_python.driver.client import Client

from benchmarks.made_lineage import Lineage, Row
from lineage_merge.load.gremlin import upserts
from lineage_merge.load.gremlin.upserts import Upsert

# Of a worker process: its connection, and its requests.
_client: Client
_requests: dict[str, list[Any]] = {}


def rate(url: str, made: Lineage, processes: int) -> float:
    """Return elements per second. Raises the exception of a worker, or BrokenProcessPool if one dies."""
    context = multiprocessing.get_context("spawn")
    with ExitStack() as stack:
        # A pool per worker: each call goes to all of them.
        workers = [stack.enter_context(ProcessPoolExecutor(1, context)) for _ in range(processes)]
        parts = [(url, made.nodes[at::processes], made.edges[at::processes]) for at in range(processes)]
        _in_all(workers, _prepare, parts)
        started = time.perf_counter()
        for kind in ("vertices", "edges"):
            _in_all(workers, _send, [(kind,)] * processes)
        seconds = time.perf_counter() - started
        _in_all(workers, _close, [()] * processes)
    return len(made) / seconds


def _in_all(
    workers: Sequence[ProcessPoolExecutor],
    function: Callable[..., None],
    arguments: Sequence[tuple[Any, ...]],
) -> None:
    """Call a function in all workers and wait for them."""
    calls = [worker.submit(function, *each) for worker, each in zip(workers, arguments, strict=True)]
    for call in calls:
        call.result()


def _prepare(url: str, nodes: list[Row], edges: list[Row]) -> None:
    global _client
    vertices: list[Upsert] = [upsert for row in nodes for upsert in upserts.vertex_upserts(row)]
    _requests["vertices"] = [upserts.bytecode(batch) for batch in upserts.batches(vertices)]
    _requests["edges"] = [
        upserts.bytecode(batch) for batch in upserts.batches(upserts.edge_upsert(row) for row in edges)
    ]
    _client = Client(url, "g", pool_size=2)
    _client.submit("g.inject(1)").all().result()


def _send(kind: str) -> None:
    in_flight: deque[Any] = deque()
    for request in _requests[kind]:
        if len(in_flight) == 2:
            in_flight.popleft().result().all().result()
        in_flight.append(_client.submit_async(request))
    while in_flight:
        in_flight.popleft().result().all().result()


def _close() -> None:
    _client.close()
