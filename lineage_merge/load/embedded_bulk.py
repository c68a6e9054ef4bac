"""Writes large differences into the embedded server as batches of columns instead of Gremlin requests.

What may be loaded in bulk, and what goes over Gremlin before and after it, is as for Neptune's bulk loader
(`load.neptune_bulk.bulk_load.parts`): upserts by id, vertices before edges. An edge with a missing end is an
error that names it.
"""

import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

from lineage_merge.graph_format.neptune_csv import EDGE_FIELDS, VERTEX_FIELDS
from lineage_merge.graph_format.schema import FIRST_SEEN
from lineage_merge.infra.batches import batched
from lineage_merge.infra.embedded.element_batches import Kind, arrow, encoded_tables, table_schema
from lineage_merge.infra.embedded.element_transfer import (
    ElementClient,
    ElementRejected,
    TransferConflict,
    TransferFailed,
)
from lineage_merge.infra.engine.rows import Counter, Rows
from lineage_merge.infra.progress import ProgressCallback
from lineage_merge.load.diff import Compared
from lineage_merge.load.gremlin.connection import Endpoint
from lineage_merge.load.merge_run import LoadTarget
from lineage_merge.load.neptune_bulk.bulk_load import Parts, reject_if_outdated
from lineage_merge.load.writer import reporting, writers
from lineage_merge.model.errors import GraphError, GraphRejected, GraphUnreachable

_FIELDS: dict[Kind, tuple[str, ...]] = {"vertices": VERTEX_FIELDS, "edges": EDGE_FIELDS}
_ROWS = 20_000
_TRIES = 20
_PAUSE_SECONDS = 0.05


@dataclass(frozen=True, slots=True)
class EmbeddedBulk:
    """Bulk loads into the embedded server, for more than `min_changes` elements."""

    min_changes: int = 2_000

    def choose(self, elements: int) -> tuple[Literal["gremlin", "bulk"], str]:
        """Return how so many elements are written; the reason is not shown."""
        return "bulk" if elements > self.min_changes else "gremlin", ""

    def await_earlier_loads(self, environment: str, dag_name: str, on_progress: ProgressCallback) -> None:
        """Return at once: a load ends with its process."""

    def load(
        self,
        target: LoadTarget,
        nodes: Rows[Compared],
        parts: Parts,
        counts: tuple[int, int],
        on_progress: ProgressCallback,
    ) -> None:
        """Write vertices, then edges.

        `nodes`: all compared nodes. `counts`: approximate numbers of nodes and edges to write. Raises
        GraphRejected (another comparison may help) and GraphUnreachable.
        """
        reject_if_outdated(nodes, target.endpoint)
        _write("vertices", parts.vertices, target.endpoint, counts[0], on_progress)
        _write("edges", parts.edges, target.endpoint, counts[1], on_progress)


def _write(
    kind: Kind, rows: Rows[tuple[Any, ...]], endpoint: Endpoint, total: int, on_progress: ProgressCallback
) -> None:
    def on_written(what: str, done: int, total: int) -> None:
        if done:
            on_progress(f"writing {what} ({done:,} of {total:,})")

    done = rows.engine.counter()
    partitions = rows.repartition(writers(rows.engine, endpoint))
    with reporting(on_written, kind, done, total):
        outcomes = partitions.map_partitions(partial(_write_partition, kind, endpoint, done)).collect()
    for error in outcomes:
        raise error


def _write_partition(
    kind: Kind, endpoint: Endpoint, done: Counter, rows: Iterable[tuple[Any, ...]]
) -> Iterator[GraphError]:
    """Write the rows of one partition; yields an error as data, because workers change raised ones."""
    try:
        with ElementClient(endpoint.url) as client:
            for chunk in batched(rows, _ROWS):
                for number, batch in encoded_tables(kind, _table(kind, chunk), created=(FIRST_SEEN,)):
                    _send(client, batch)
                    if endpoint.traffic:
                        endpoint.traffic.requests.add(1)
                    done.add(number)
    except ElementRejected as error:
        yield GraphRejected(error.message)
    except TransferConflict as error:
        yield GraphRejected(error.message)
    except TransferFailed as error:
        yield GraphUnreachable(f"{endpoint.address}: {error.message}")


def _send(client: ElementClient, batch: bytes) -> None:
    for attempt in range(_TRIES):
        try:
            client.merge(batch)
        except TransferConflict:
            if attempt == _TRIES - 1:
                raise
            time.sleep(_PAUSE_SECONDS * (attempt + 1))
        else:
            return


def _table(kind: Kind, rows: Sequence[tuple[Any, ...]]) -> Any:
    """Return rows, values in the order of the fields, as an Arrow table without empty columns."""
    pa = arrow()
    schema = table_schema(kind)
    arrays = {}
    for name, values in zip(_FIELDS[kind], zip(*rows, strict=True), strict=True):
        if any(value is not None for value in values):
            if kind == "vertices" and name == "dag_name":
                values = tuple(None if value is None else [value] for value in values)
            arrays[name] = pa.array(values, schema.field(name).type)
    return pa.table(arrays)
