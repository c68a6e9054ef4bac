"""Writes node and edge rows into the graph, a partition at a time."""

import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from threading import Event, Thread

from lineage_merge.graph_format.schema import Row
from lineage_merge.infra.engine.rows import Counter, Engine, Rows
from lineage_merge.load.gremlin import upserts
from lineage_merge.load.gremlin.connection import Endpoint, check
from lineage_merge.load.gremlin.executor import UNDER_WAY, send
from lineage_merge.load.gremlin.upserts import Upsert
from lineage_merge.load.result import LoadResult
from lineage_merge.model.errors import LineageMergeError

WriteProgress = Callable[[str, int, int], None]

_POLL_SECONDS = 0.2


@dataclass(frozen=True, slots=True)
class _Outcome:
    """What became of one partition.

    An error travels as data: raised in a worker, it would reach the driver as text inside a
    Spark error, after Spark's own retries.
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

    The rows have the properties of `graph_format.schema`, each id once. Unknown (absent or None) properties
    are left as they are in the graph. Loading the same again changes nothing, and a load that was killed can
    be run again.

    `partitions` is how many connections write at once (default: the engine's parallelism).
    `on_written(what, done, all)` gets the partitions that are done, `what` being
    ``"nodes"`` or ``"edges"``; it is called from another thread.

    Raises GraphUnreachable, GraphRejected (the message names the element that the graph
    refused) and IntermediateError (a row without a key).
    """
    check(endpoint)
    started = time.monotonic()
    node_count, node_requests = write("nodes", nodes, endpoint, partitions, on_written)
    edge_count, edge_requests = write("edges", edges, endpoint, partitions, on_written)
    return LoadResult(node_count, edge_count, node_requests + edge_requests, time.monotonic() - started)


def write(
    what: str,
    rows: Rows[Row],
    endpoint: Endpoint,
    partitions: int | None = None,
    on_written: WriteProgress | None = None,
) -> tuple[int, int]:
    """Upsert the rows of one kind (``"nodes"``, ``"edges"``); how many, and in how many requests.

    A row is what is to be written of an element, with its keys.
    Edges need their ends in the graph. The rest as in `load`.
    """
    number = partitions or writers(rows.engine, endpoint)
    # Edges of one vertex go together: writers in several places would be in each other's way there.
    rows = (
        rows.repartition_by(_start_of, number) if what == "edges" and number > 1 else rows.repartition(number)
    )
    done = rows.engine.counter()
    with _reporting(on_written, what, done, rows.partition_count):
        outcomes = rows.map_partitions(partial(_write_partition, what, endpoint, done)).collect()
    for outcome in outcomes:
        if outcome.error is not None:
            raise outcome.error
    return sum(outcome.records for outcome in outcomes), sum(outcome.requests for outcome in outcomes)


def _start_of(edge: Row) -> str:
    return edge.get("from") or ""


def writers(engine: Engine, endpoint: Endpoint) -> int:
    """Return how many partitions write at once: each has a few requests under way."""
    most = max(1, endpoint.writers // UNDER_WAY) if endpoint.writers else engine.parallelism
    return min(most, engine.parallelism)


@contextmanager
def _reporting(on_written: WriteProgress | None, what: str, done: Counter, total: int) -> Iterator[None]:
    if on_written is None:
        yield
        return
    finished = Event()

    def report() -> None:
        told = -1
        while True:
            last = finished.wait(_POLL_SECONDS if told >= 0 else 0)
            if done.value != told:
                told = done.value
                on_written(what, told, total)
            if last:
                return

    reporter = Thread(target=report, name=f"progress of {what}", daemon=True)
    reporter.start()
    try:
        yield
    finally:
        finished.set()
        reporter.join()


def _write_partition(what: str, endpoint: Endpoint, done: Counter, rows: Iterable[Row]) -> Iterator[_Outcome]:
    counted = _Counted(rows)
    batches = _node_batches(counted) if what == "nodes" else upserts.batches(map(_edge_upsert, counted))
    try:
        sent = send(endpoint, batches)
        outcome = _Outcome(counted.count, sent)
    except LineageMergeError as error:
        outcome = _Outcome(0, 0, error)
    done.add(1)
    yield outcome


class _Counted:
    """Counts the rows that pass: a row may be several upserts."""

    def __init__(self, rows: Iterable[Row]) -> None:
        self._rows = rows
        self.count = 0

    def __iter__(self) -> Iterator[Row]:
        for row in self._rows:
            self.count += 1
            yield row


def _node_batches(rows: Iterable[Row]) -> Iterator[list[Upsert]]:
    """Yield the batches of vertices; jobs come last in requests of their own.

    Theirs have a step that Neptune does not run natively, nor anything after it.
    """
    jobs: list[Row] = []

    def others() -> Iterator[Row]:
        for row in rows:
            if row.get("label") == "job":
                jobs.append(row)
            else:
                yield row

    for some in (others(), jobs):
        found: Iterator[Upsert] = (upsert for row in some for upsert in upserts.vertex_upserts(row))
        yield from upserts.batches(found)


def _edge_upsert(row: Row) -> Upsert:
    return upserts.edge_upsert(row)
