"""Upserts node and edge rows into the graph, in partitions."""

import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from itertools import count
from threading import Event, Thread

from lineage_merge.graph_format.schema import RUN_LABELS, Row
from lineage_merge.infra.engine.rows import Counter, Engine, Rows
from lineage_merge.load.gremlin import upserts
from lineage_merge.load.gremlin.connection import Endpoint, check
from lineage_merge.load.gremlin.executor import REQUESTS_IN_FLIGHT, send
from lineage_merge.load.gremlin.upserts import Upsert
from lineage_merge.load.result import LoadResult, WriteProgress
from lineage_merge.model.errors import LineageMergeError

_POLL_SECONDS = 0.2
# Requests in flight of one partition; each has a connection.
_MAX_IN_FLIGHT = 8


@dataclass(frozen=True, slots=True)
class _PartitionOutcome:
    """The outcome of one partition.

    Errors are returned as data: raised in a worker, they would reach the driver as text inside a Spark error,
    after Spark's own retries.
    """

    records: int
    requests: int
    error: LineageMergeError | None = None


def load(
    nodes: Rows[Row],
    edges: Rows[Row],
    endpoint: Endpoint,
    *,
    partitions: int | None = None,
    on_written: WriteProgress | None = None,
) -> LoadResult:
    """Upsert all nodes, then all edges.

    The rows have the properties of `graph_format.schema`, each id once. Unknown (missing or None) properties
    stay unchanged in the graph. Loading the same rows again changes nothing, and a killed load can be
    repeated.

    `partitions`: number of concurrent connections (default: the engine's parallelism). `on_written(kind,
    done, total)` reports the written partitions of ``"nodes"`` or ``"edges"``, from another thread.

    Raises GraphUnreachable, GraphRejected (the message names the rejected element) and IntermediateError (a
    row without a key).
    """
    check(endpoint)
    started = time.monotonic()
    node_count, node_requests = write("nodes", nodes, endpoint, partitions, on_written)
    edge_count, edge_requests = write("edges", edges, endpoint, partitions, on_written)
    return LoadResult(node_count, edge_count, node_requests + edge_requests, time.monotonic() - started)


def write(
    kind: str,
    rows: Rows[Row],
    endpoint: Endpoint,
    partitions: int | None = None,
    on_written: WriteProgress | None = None,
) -> tuple[int, int]:
    """Upsert rows of one kind (``"nodes"``, ``"edges"``); returns the numbers of rows and requests.

    A row has the keys and the properties to write. Edges need both ends in the graph. Other parameters and
    errors as in `load`.
    """
    number = partitions or writers(rows.engine, endpoint)
    # Edges of one vertex are written by one partition: concurrent writers at a vertex conflict.
    if kind == "edges" and number > 1:
        rows = rows.repartition_by(lambda edge: edge.get("from") or "", number)
    else:
        rows = rows.repartition(number)
    done = rows.engine.counter()
    in_flight = min(endpoint.writers // number, _MAX_IN_FLIGHT) if endpoint.writers else REQUESTS_IN_FLIGHT
    with reporting(on_written, kind, done, rows.partition_count):
        write_partition = partial(_write_partition, kind, endpoint, max(1, in_flight), done)
        outcomes = rows.map_partitions(write_partition).collect()
    for outcome in outcomes:
        if outcome.error is not None:
            raise outcome.error
    return sum(outcome.records for outcome in outcomes), sum(outcome.requests for outcome in outcomes)


def writers(engine: Engine, endpoint: Endpoint) -> int:
    """Return how many partitions write concurrently; each has a few requests in flight.

    `Endpoint.writers` requests in flight are more in each partition than by default if the engine has fewer
    partitions: on a slow network.
    """
    limit = max(1, endpoint.writers // REQUESTS_IN_FLIGHT) if endpoint.writers else engine.parallelism
    return min(limit, engine.parallelism)


@contextmanager
def reporting(on_written: WriteProgress | None, kind: str, done: Counter, total: int) -> Iterator[None]:
    """Report a counter while it grows, from another thread."""
    if on_written is None:
        yield
        return
    finished = Event()

    def report() -> None:
        reported = -1
        while True:
            is_last = finished.wait(_POLL_SECONDS if reported >= 0 else 0)
            if done.value != reported:
                reported = done.value
                on_written(kind, reported, total)
            if is_last:
                return

    reporter = Thread(target=report, name=f"progress of {kind}", daemon=True)
    reporter.start()
    try:
        yield
    finally:
        finished.set()
        reporter.join()


def _write_partition(
    kind: str, endpoint: Endpoint, in_flight: int, done: Counter, rows: Iterable[Row]
) -> Iterator[_PartitionOutcome]:
    # A row may become several upserts.
    number = count()
    counted = (row for row, _ in zip(rows, number, strict=False))
    edges: Iterator[Upsert] = map(upserts.edge_upsert, counted)
    batches = _node_batches(counted) if kind == "nodes" else upserts.batches(edges)
    try:
        sent = send(endpoint, batches, in_flight)
        outcome = _PartitionOutcome(next(number), sent)
    except LineageMergeError as error:
        outcome = _PartitionOutcome(0, 0, error)
    done.add(1)
    yield outcome


def _node_batches(rows: Iterable[Row]) -> Iterator[list[Upsert]]:
    """Yield batches of vertices; jobs and assertions last, in separate requests.

    Their upserts have a step that Neptune does not run natively, and neither any step after it.
    """
    jobs: list[Row] = []

    def others() -> Iterator[Row]:
        for row in rows:
            if row.get("label") in RUN_LABELS:
                jobs.append(row)
            else:
                yield row

    for group in (others(), jobs):
        group_upserts: Iterator[Upsert] = (upsert for row in group for upsert in upserts.vertex_upserts(row))
        yield from upserts.batches(group_upserts)
