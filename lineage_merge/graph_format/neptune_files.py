"""Node and edge rows as files for Neptune's bulk loader, written a partition at a time.

``folder/vertices/`` and ``folder/edges/``, in S3 or on this machine, gzipped. The loader cuts large files
by itself and is slow with very many small ones: each partition writes one, and begins another
only when that is large.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

from lineage_merge.graph_format.neptune_csv import EDGE_FIELDS, VERTEX_FIELDS
from lineage_merge.graph_format.neptune_parts import (
    EDGES,
    LARGEST_FILE,
    VERTICES,
    Kind,
    Written,
    lines_of,
    write_parts,
)
from lineage_merge.infra.engine.rows import Rows
from lineage_merge.model.errors import LineageMergeError

# Of a file, where there are enough for several.
_FEWEST_ELEMENTS = 25_000


@dataclass(frozen=True, slots=True)
class _Outcome:
    written: Written
    # An error travels as data: raised in a worker it would reach the driver as text, after
    # Spark's own retries.
    error: LineageMergeError | None = None


def write(folder: str, nodes: Rows[dict[str, Any]], edges: Rows[dict[str, Any]]) -> tuple[Written, Written]:
    """Write nodes and edges (`graph_format.schema`) below `folder`.

    Other files that are there stay. Raises `SourceError` where the folder cannot be
    written, and IntermediateError (a row without a key).
    """
    vertex_rows = nodes.map(partial(_fields, VERTEX_FIELDS))
    edge_rows = edges.map(partial(_fields, EDGE_FIELDS))
    return write_rows(folder, VERTICES, vertex_rows), write_rows(folder, EDGES, edge_rows)


def _fields(names: tuple[str, ...], row: dict[str, Any]) -> tuple[Any, ...]:
    return tuple(map(row.get, names))


def write_rows(
    folder: str,
    kind: Kind,
    rows: Rows[tuple[Any, ...]],
    elements: int | None = None,
    *,
    largest_file: int = LARGEST_FILE,
) -> Written:
    """Write rows of one kind, values in the order of `VERTEX_FIELDS` or `EDGE_FIELDS`.

    `elements` is how many there are, about: of few, few files are made. A file is as large as
    `largest_file` (bytes) at most, about. Errors as in `write`.
    """
    tasks = rows.engine.parallelism
    if elements is not None:
        tasks = max(1, min(tasks, elements // _FEWEST_ELEMENTS))
    if rows.partition_count > tasks:
        rows = rows.repartition(tasks)
    task = partial(_write_partition, f"{folder.rstrip('/')}/{kind}", kind, largest_file)
    outcomes = rows.map_numbered_partitions(task).collect()
    for outcome in outcomes:
        if outcome.error is not None:
            raise outcome.error
    return Written(
        sum(outcome.written.elements for outcome in outcomes),
        sum(outcome.written.files for outcome in outcomes),
    )


def _write_partition(
    place: str, kind: Kind, largest: int, partition: int, rows: Iterable[tuple[Any, ...]]
) -> Iterator[_Outcome]:
    try:
        # Each partition has a number of its own among the files.
        lines = map(lines_of(kind), rows)
        yield _Outcome(write_parts(place, kind, lines, f"part-{partition:05d}", largest_file=largest))
    except LineageMergeError as error:
        yield _Outcome(Written(), error)
