"""Writes the gzipped CSV files that Neptune's bulk loader reads, each with a header. No Spark.

The loader splits large files itself and is slow with many small ones, so another file is started only when
the current one is large.
"""

import gzip
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Literal

from lineage_merge.graph_format.neptune_csv import (
    EDGE_HEADER,
    VERTEX_HEADER,
    edge_line,
    vertex_lines,
)
from lineage_merge.infra.storage import make_folder, write_file

Kind = Literal["vertices", "edges"]
VERTICES: Kind = "vertices"
EDGES: Kind = "edges"

# Approximate maximum size of a gzipped file, in bytes.
LARGEST_FILE = 64 * 1024 * 1024
_ELEMENTS_PER_BLOCK = 1000


@dataclass(frozen=True, slots=True)
class Written:
    """Numbers of elements and files."""

    elements: int = 0
    files: int = 0


def lines_of(kind: Kind) -> Callable[[Sequence[Any]], Iterable[str]]:
    """Return the function from a row (in the order of `VERTEX_FIELDS` or `EDGE_FIELDS`) to its lines."""
    return vertex_lines if kind == VERTICES else _edge_lines


def write_parts(
    folder: str, kind: Kind, elements: Iterable[Iterable[str]], name: str, *, largest_file: int = LARGEST_FILE
) -> Written:
    """Write the lines of all elements to ``folder/NAME-000.csv.gz`` and following; no file without elements.

    `largest_file`: approximate maximum size in bytes. Raises `SourceError` if the folder is not writable.
    """
    blocks = _blocks(iter(elements))
    written = files = 0
    with TemporaryDirectory(prefix="lineage-merge-") as temporary:
        file = Path(temporary, "part.csv.gz")
        for first in blocks:
            if not files:
                make_folder(folder)
            written += _write_file(file, kind, chain([first], blocks), largest_file)
            write_file(f"{folder}/{name}-{files:03d}.csv.gz", file)
            files += 1
    return Written(written, files)


def _edge_lines(row: Sequence[Any]) -> tuple[str]:
    return (edge_line(row),)


def _blocks(elements: Iterator[Iterable[str]]) -> Iterator[tuple[int, str]]:
    """Yield numbers of elements, with their lines as one text."""
    while block := list(islice(elements, _ELEMENTS_PER_BLOCK)):
        yield len(block), "\n".join(chain.from_iterable(block)) + "\n"


def _write_file(file: Path, kind: Kind, blocks: Iterator[tuple[int, str]], largest: int) -> int:
    header = VERTEX_HEADER if kind == "vertices" else EDGE_HEADER
    elements = 0
    # Without time and name in the header, so that equal rows give equal bytes.
    with file.open("wb") as raw, gzip.GzipFile("", "wb", 6, raw, mtime=0) as packed:
        packed.write(f"{header}\n".encode())
        for count, text in blocks:
            packed.write(text.encode())
            elements += count
            if raw.tell() >= largest:
                break
    return elements
