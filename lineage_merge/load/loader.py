"""Node and edge DataFrames into the graph, from Spark's executors."""

import random
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from itertools import chain
from threading import Event, Thread
from typing import TYPE_CHECKING, Any

from gremlin_python.driver.client import Client

from lineage_merge.errors import GraphRejected, LineageMergeError
from lineage_merge.load import requests
from lineage_merge.load.connection import Endpoint, GraphConflict, check, open_client, translated_errors
from lineage_merge.load.requests import Upsert

if TYPE_CHECKING:
    from pyspark import RDD, Accumulator
    from pyspark.sql import DataFrame, Row

Progress = Callable[[str, int, int], None]

# One request is worked on by the server while the next is being written.
_UNDER_WAY = 2
_ATTEMPTS = 6
_LONGEST_PAUSE_SECONDS = 1.0
_POLL_SECONDS = 0.2


@dataclass(frozen=True, slots=True)
class Loaded:
    """What a load wrote: elements upserted, requests sent for them, and how long it took."""

    nodes: int
    edges: int
    requests: int
    seconds: float


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
    node_count, node_requests = _write("nodes", nodes, endpoint, partitions, on_progress)
    edge_count, edge_requests = _write("edges", edges, endpoint, partitions, on_progress)
    return Loaded(node_count, edge_count, node_requests + edge_requests, time.monotonic() - started)


def _write(
    what: str, frame: "DataFrame", endpoint: Endpoint, partitions: int | None, on_progress: Progress | None
) -> tuple[int, int]:
    context = frame.sparkSession.sparkContext
    rows = _spread(frame.rdd, partitions or context.defaultParallelism)
    count = rows.getNumPartitions()
    done = context.accumulator(0)
    with _reporting(on_progress, what, done, count):
        outcomes = rows.mapPartitions(partial(_write_partition, what, endpoint, done)).collect()
    for outcome in outcomes:
        if outcome.error is not None:
            raise outcome.error
    return sum(outcome.records for outcome in outcomes), sum(outcome.requests for outcome in outcomes)


def _spread(rows: "RDD[Row]", partitions: int) -> "RDD[Row]":
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
    what: str, endpoint: Endpoint, done: "Accumulator[int]", rows: Iterable["Row"]
) -> Iterator[_Outcome]:
    counted = _Counted(rows)
    upserts = _node_upserts(counted) if what == "nodes" else _edge_upserts(counted)
    try:
        sent = _send_all(endpoint, requests.batches(upserts))
        outcome = _Outcome(counted.count, sent)
    except LineageMergeError as error:
        outcome = _Outcome(0, 0, error)
    done.add(1)
    yield outcome


class _Counted:
    """Counts the rows that pass: a row may be several upserts."""

    def __init__(self, rows: Iterable["Row"]) -> None:
        self._rows = rows
        self.count = 0

    def __iter__(self) -> Iterator["Row"]:
        for row in self._rows:
            self.count += 1
            yield row


def _node_upserts(rows: Iterable["Row"]) -> Iterator[Upsert]:
    for row in rows:
        yield from requests.vertex_upserts(row.asDict())


def _edge_upserts(rows: Iterable["Row"]) -> Iterator[Upsert]:
    for row in rows:
        yield requests.edge_upsert(row.asDict())


def _send_all(endpoint: Endpoint, batches: Iterator[list[Upsert]]) -> int:
    """Send every batch, a few under way at a time; how many there were."""
    sent = 0
    first = next(batches, None)
    if first is None:
        return sent  # no rows, no connection
    with open_client(endpoint, _UNDER_WAY) as client:
        under_way: deque[tuple[list[Upsert], Future[Any]]] = deque()
        try:
            for batch in chain([first], batches):
                if len(under_way) == _UNDER_WAY:
                    _settle(client, endpoint, *under_way.popleft())
                under_way.append((batch, _submit(client, batch)))
                sent += 1
            while under_way:
                _settle(client, endpoint, *under_way.popleft())
        finally:
            for _, answer in under_way:
                _wait_quietly(answer)
    return sent


def _submit(client: Client, batch: list[Upsert]) -> "Future[Any]":
    answer: Future[Any] = client.submit_async(requests.bytecode(batch))
    return answer


def _wait_quietly(answer: "Future[Any]") -> None:
    # After an error the others do not matter, but a client closes only the connections that
    # wait for nothing.
    if answer.exception() is None:
        answer.result().all().exception()


def _settle(client: Client, endpoint: Endpoint, batch: list[Upsert], answer: "Future[Any]") -> None:
    """Wait for the answer to a batch. Sends it again, or in parts, if that may help."""
    for attempt in range(1, _ATTEMPTS + 1):
        try:
            with translated_errors(endpoint):
                answer.result().all().result()
        except GraphConflict as error:
            if attempt == _ATTEMPTS:
                raise GraphRejected(f"{_named(batch)}: tried {_ATTEMPTS} times: {error.message}") from None
            time.sleep(random.uniform(0, _LONGEST_PAUSE_SECONDS * attempt / _ATTEMPTS))  # noqa: S311 # jitter
            answer = _submit(client, batch)
        except GraphRejected as error:
            if len(batch) == 1:
                raise GraphRejected(f"{_named(batch)}: {error.message}") from None
            # The server refuses a whole request and need not say which element is wrong.
            for upsert in batch:
                _settle(client, endpoint, [upsert], _submit(client, [upsert]))
            return
        else:
            return


def _named(batch: list[Upsert]) -> str:
    others = f" and {len(batch) - 1} more" if len(batch) > 1 else ""
    return f"{batch[0]}{others}"
