"""Writes node and edge rows as gzipped files for Neptune's bulk loader, in partitions.

The files are in ``folder/vertices/`` and ``folder/edges/``, in S3 or local. The loader splits large files
itself and is slow with many small ones: each partition writes one file, and starts another only when it is
large.
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

# Minimum number of elements per file, if there are enough for several files.
_FEWEST_ELEMENTS = 25_000


@dataclass(frozen=True, slots=True)
class _Outcome:
    written: Written
    # Returned as data: raised in a worker, it would reach the driver as text, after Spark's own retries.
    error: LineageMergeError | None = None


def write(folder: str, nodes: Rows[dict[str, Any]], edges: Rows[dict[str, Any]]) -> tuple[Written, Written]:
    """Write nodes and edges (`graph_format.schema`) below `folder`.

    Other files in the folder stay. Raises `SourceError` if the folder is not writable, and IntermediateError
    (a row without a key).
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

    `elements`: approximate number of rows, for a suitable number of files. `largest_file`: approximate
    maximum size in bytes. Errors as in `write`.
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
    folder: str, kind: Kind, largest: int, partition: int, rows: Iterable[tuple[Any, ...]]
) -> Iterator[_Outcome]:
    try:
        # File names contain the partition number.
        lines = map(lines_of(kind), rows)
        yield _Outcome(write_parts(folder, kind, lines, f"part-{partition:05d}", largest_file=largest))
    except LineageMergeError as error:
        yield _Outcome(Written(), error)
