"""Node and edge DataFrames as files for Neptune's bulk loader, written by Spark's executors.

``folder/vertices/`` and ``folder/edges/``, in S3 or on this machine, gzipped. The loader cuts large files
by itself and is slow with very many small ones: each Spark task writes one, and begins another
only when that is large.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

from pyspark import RDD
from pyspark.sql import DataFrame

from lineage_merge.errors import LineageMergeError
from lineage_merge.graph.neptune_csv import EDGE_FIELDS, VERTEX_FIELDS
from lineage_merge.graph.neptune_parts import (
    EDGES,
    LARGEST_FILE,
    VERTICES,
    Kind,
    Written,
    lines_of,
    write_parts,
)

# Of a file, where there are enough for several.
_FEWEST_ELEMENTS = 25_000


@dataclass(frozen=True, slots=True)
class _Outcome:
    written: Written
    # An error travels as data: raised in a worker it would reach the driver as text, after
    # Spark's own retries.
    error: LineageMergeError | None = None


def write(folder: str, nodes: DataFrame, edges: DataFrame) -> tuple[Written, Written]:
    """Write nodes and edges (`graph.schema.node_ddl`, `edge_ddl`) below `folder`.

    Files that stand there with other names stay. Raises `SourceError` where the folder cannot be
    written, and IntermediateError (a row without a key).
    """
    vertex_rows: Any = nodes.select(*VERTEX_FIELDS).rdd
    edge_rows: Any = edges.select(*EDGE_FIELDS).rdd
    return write_rows(folder, VERTICES, vertex_rows), write_rows(folder, EDGES, edge_rows)


def write_rows(
    folder: str,
    kind: Kind,
    rows: "RDD[tuple[Any, ...]]",
    elements: int | None = None,
    *,
    largest_file: int = LARGEST_FILE,
) -> Written:
    """Write rows of one kind, values in the order of `VERTEX_FIELDS` or `EDGE_FIELDS`.

    `elements` is how many there are, about: of few, few files are made. A file is as large as
    `largest_file` (bytes) at most, about. Errors as in `write`.
    """
    tasks = rows.context.defaultParallelism
    if elements is not None:
        tasks = max(1, min(tasks, elements // _FEWEST_ELEMENTS))
    if rows.getNumPartitions() > tasks:
        rows = rows.coalesce(tasks)
    task = partial(_write_partition, f"{folder.rstrip('/')}/{kind}", kind, largest_file)
    outcomes = rows.mapPartitionsWithIndex(task).collect()
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
