"""Node and edge DataFrames as files for Neptune's bulk loader, written by Spark's executors.

``folder/vertices/`` and ``folder/edges/``, in S3 or on this machine, gzipped. The loader cuts large files
by itself and is slow with very many small ones: each Spark task writes one, and begins another
only when that is large.
"""

import gzip
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import chain, islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Literal

from pyspark import RDD
from pyspark.sql import DataFrame

from lineage_merge.errors import LineageMergeError
from lineage_merge.graph.neptune_csv import (
    EDGE_FIELDS,
    EDGE_HEADER,
    VERTEX_FIELDS,
    VERTEX_HEADER,
    edge_line,
    vertex_lines,
)
from lineage_merge.storage import make_folder, write_file

Kind = Literal["vertices", "edges"]
VERTICES: Kind = "vertices"
EDGES: Kind = "edges"

# Of a gzipped file, more or less.
LARGEST_FILE = 64 * 1024 * 1024
# Of a file, where there are enough for several.
_FEWEST_ELEMENTS = 25_000
_LINES_AT_ONCE = 1000


@dataclass(frozen=True, slots=True)
class Written:
    """How many elements, in how many files."""

    elements: int = 0
    files: int = 0


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
    blocks = _blocks(kind, iter(rows))
    elements = files = 0
    try:
        with TemporaryDirectory(prefix="lineage-merge-") as temporary:
            file = Path(temporary, "part.csv.gz")
            for first in blocks:
                if not files:
                    make_folder(place)
                elements += _write_file(file, kind, chain([first], blocks), largest)
                write_file(f"{place}/part-{partition:05d}-{files:03d}.csv.gz", file)
                files += 1
        yield _Outcome(Written(elements, files))
    except LineageMergeError as error:
        yield _Outcome(Written(), error)


def _blocks(kind: Kind, rows: Iterator[tuple[Any, ...]]) -> Iterator[tuple[int, str]]:
    """How many elements, and their lines."""
    lines: Callable[[tuple[Any, ...]], Iterable[str]] = vertex_lines if kind == "vertices" else _edge_lines
    while some := list(islice(rows, _LINES_AT_ONCE)):
        yield len(some), "\n".join(chain.from_iterable(map(lines, some))) + "\n"


def _edge_lines(row: tuple[Any, ...]) -> tuple[str]:
    return (edge_line(row),)


def _write_file(file: Path, kind: Kind, blocks: Iterator[tuple[int, str]], largest: int) -> int:
    header = VERTEX_HEADER if kind == "vertices" else EDGE_HEADER
    elements = 0
    # No time and no name in it: the same rows make the same bytes.
    with file.open("wb") as raw, gzip.GzipFile("", "wb", 6, raw, mtime=0) as packed:
        packed.write(f"{header}\n".encode())
        for count, text in blocks:
            packed.write(text.encode())
            elements += count
            if raw.tell() >= largest:
                break
    return elements
