"""The files that Neptune's bulk loader reads: gzipped, each with its header. Without Spark.

The loader cuts large files by itself and is slow with very many small ones, so another file is begun
only when one is large.
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

# Of a gzipped file, more or less.
LARGEST_FILE = 64 * 1024 * 1024
_ELEMENTS_AT_ONCE = 1000


@dataclass(frozen=True, slots=True)
class Written:
    """How many elements, in how many files."""

    elements: int = 0
    files: int = 0


def lines_of(kind: Kind) -> Callable[[Sequence[Any]], Iterable[str]]:
    """The lines of a row, values in the order of `VERTEX_FIELDS` or `EDGE_FIELDS`."""
    return vertex_lines if kind == VERTICES else _edge_lines


def write_parts(
    place: str, kind: Kind, elements: Iterable[Iterable[str]], name: str, *, largest_file: int = LARGEST_FILE
) -> Written:
    """Write the lines of each element into ``place/NAME-000.csv.gz`` and on; of none no file.

    A file is as large as `largest_file` (bytes) at most, about. Raises `SourceError` where the place
    cannot be written.
    """
    blocks = _blocks(iter(elements))
    written = files = 0
    with TemporaryDirectory(prefix="lineage-merge-") as temporary:
        file = Path(temporary, "part.csv.gz")
        for first in blocks:
            if not files:
                make_folder(place)
            written += _write_file(file, kind, chain([first], blocks), largest_file)
            write_file(f"{place}/{name}-{files:03d}.csv.gz", file)
            files += 1
    return Written(written, files)


def _edge_lines(row: Sequence[Any]) -> tuple[str]:
    return (edge_line(row),)


def _blocks(elements: Iterator[Iterable[str]]) -> Iterator[tuple[int, str]]:
    """How many elements, and their lines."""
    while some := list(islice(elements, _ELEMENTS_AT_ONCE)):
        yield len(some), "\n".join(chain.from_iterable(some)) + "\n"


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
