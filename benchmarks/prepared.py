"""Minimal client of load.py: prepared batches, sent by several processes without checks.

Before the measurement each process has its elements as bytecode, and one open connection. It sends batches,
two concurrently, and ignores the content of responses. All processes write vertices before edges. This is the
maximum rate of the graph with gremlinpython.
"""

import multiprocessing
import time
from collections import deque
from typing import Any

from gremlin_python.driver.client import Client

from benchmarks.made_lineage import Lineage, Row
from lineage_merge.load.gremlin import upserts

_WAIT_SECONDS = 600


def rate(url: str, made: Lineage, processes: int) -> float:
    """Return elements per second."""
    context = multiprocessing.get_context("spawn")
    barrier = context.Barrier(processes + 1)
    workers = [
        context.Process(
            target=_work,
            args=(url, made.nodes[number::processes], made.edges[number::processes], barrier),
            daemon=True,
        )
        for number in range(processes)
    ]
    for worker in workers:
        worker.start()
    barrier.wait(_WAIT_SECONDS)  # all are ready
    started = time.perf_counter()
    for _ in ("vertices", "edges"):
        barrier.wait(_WAIT_SECONDS)
    seconds = time.perf_counter() - started
    for worker in workers:
        worker.join()
    return len(made) / seconds


def _work(url: str, nodes: list[Row], edges: list[Row], barrier: Any) -> None:
    of_nodes = [upsert for row in nodes for upsert in upserts.vertex_upserts(row)]
    of_edges = [upserts.edge_upsert(row) for row in edges]
    prepared = [
        [upserts.bytecode(batch) for batch in upserts.batches(upserts)] for upserts in (of_nodes, of_edges)
    ]
    client = Client(url, "g", pool_size=2)
    client.submit("g.inject(1)").all().result()
    barrier.wait(_WAIT_SECONDS)
    for batches in prepared:
        in_flight: deque[Any] = deque()
        for batch in batches:
            if len(in_flight) == 2:
                in_flight.popleft().result().all().result()
            in_flight.append(client.submit_async(batch))
        while in_flight:
            in_flight.popleft().result().all().result()
        barrier.wait(_WAIT_SECONDS)
    client.close()
