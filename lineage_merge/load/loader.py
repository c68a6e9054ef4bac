"""Node and edge DataFrames into the graph, from Spark's executors."""

import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from threading import Event, Thread
from typing import TYPE_CHECKING

from lineage_merge.errors import LineageMergeError
from lineage_merge.load import requests
from lineage_merge.load.connection import Endpoint, check
from lineage_merge.load.outcome import Loaded
from lineage_merge.load.requests import Upsert
from lineage_merge.load.sending import send
from lineage_merge.load.texts import Values

if TYPE_CHECKING:
    from pyspark import RDD, Accumulator
    from pyspark.sql import DataFrame

Progress = Callable[[str, int, int], None]

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
    nodes: "DataFrame",
    edges: "DataFrame",
    endpoint: Endpoint,
    *,
    partitions: int | None = None,
    on_progress: Progress | None = None,
) -> Loaded:
    """Upsert all nodes, then all edges.

    The DataFrames have the schemas `graph.schema.node_ddl` and `edge_ddl`; each id stands
    once. Unknown (null) properties are left as they are in the graph. Loading the same
    again changes nothing, and a load that was killed can be run again.

    `partitions` is how many connections write at once (default: Spark's parallelism).
    `on_progress(what, done, all)` is told the partitions that are done, `what` being
    ``"nodes"`` or ``"edges"``; it is called from another thread.

    Raises GraphUnreachable, GraphRejected (the message names the element that the graph
    refused) and IntermediateError (a row without a key).
    """
    check(endpoint)
    started = time.monotonic()
    node_count, node_requests = write("nodes", _values(nodes), endpoint, partitions, on_progress)
    edge_count, edge_requests = write("edges", _values(edges), endpoint, partitions, on_progress)
    return Loaded(node_count, edge_count, node_requests + edge_requests, time.monotonic() - started)


def _values(rows: "DataFrame") -> "RDD[Values]":
    return rows.rdd.map(lambda row: row.asDict())


def write(
    what: str,
    rows: "RDD[Values]",
    endpoint: Endpoint,
    partitions: int | None = None,
    on_progress: Progress | None = None,
) -> tuple[int, int]:
    """Upsert the rows of one kind (``"nodes"``, ``"edges"``); how many, and in how many requests.

    A row is what is to be written of an element, with its keys.
    Edges need their ends in the graph. The rest as in `load`.
    """
    context = rows.context
    rows = _spread(rows, partitions or context.defaultParallelism)
    count = rows.getNumPartitions()
    done = context.accumulator(0)
    with _reporting(on_progress, what, done, count):
        outcomes = rows.mapPartitions(partial(_write_partition, what, endpoint, done)).collect()
    for outcome in outcomes:
        if outcome.error is not None:
            raise outcome.error
    return sum(outcome.records for outcome in outcomes), sum(outcome.requests for outcome in outcomes)


def _spread(rows: "RDD[Values]", partitions: int) -> "RDD[Values]":
    """The rows in that many partitions; each id stands once, so any split has disjoint ids.

    Fewer partitions are made by reading several in turn. Only if there are too few are the
    rows moved about, which costs as much as loading a small graph.
    """
    present = rows.getNumPartitions()
    if present == partitions:
        return rows
    return rows.coalesce(partitions) if present > partitions else rows.repartition(partitions)


@contextmanager
def _reporting(
    on_progress: Progress | None, what: str, done: "Accumulator[int]", total: int
) -> Iterator[None]:
    if on_progress is None:
        yield
        return
    finished = Event()

    def report() -> None:
        told = -1
        while True:
            last = finished.wait(_POLL_SECONDS if told >= 0 else 0)
            if done.value != told:
                told = done.value
                on_progress(what, told, total)
            if last:
                return

    reporter = Thread(target=report, name=f"progress of {what}", daemon=True)
    reporter.start()
    try:
        yield
    finally:
        finished.set()
        reporter.join()


def _write_partition(
    what: str, endpoint: Endpoint, done: "Accumulator[int]", rows: Iterable[Values]
) -> Iterator[_Outcome]:
    counted = _Counted(rows)
    upserts = _node_upserts(counted) if what == "nodes" else _edge_upserts(counted)
    try:
        sent = send(endpoint, requests.batches(upserts))
        outcome = _Outcome(counted.count, sent)
    except LineageMergeError as error:
        outcome = _Outcome(0, 0, error)
    done.add(1)
    yield outcome


class _Counted:
    """Counts the rows that pass: a row may be several upserts."""

    def __init__(self, rows: Iterable[Values]) -> None:
        self._rows = rows
        self.count = 0

    def __iter__(self) -> Iterator[Values]:
        for row in self._rows:
            self.count += 1
            yield row


def _node_upserts(rows: Iterable[Values]) -> Iterator[Upsert]:
    for row in rows:
        yield from requests.vertex_upserts(row)


def _edge_upserts(rows: Iterable[Values]) -> Iterator[Upsert]:
    for row in rows:
        yield requests.edge_upsert(row)
