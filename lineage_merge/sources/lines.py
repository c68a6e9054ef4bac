"""Text files of lines, local or in S3, cut into slices that Spark's workers read."""

from collections.abc import Iterable, Iterator
from math import ceil
from typing import TYPE_CHECKING

from lineage_merge.storage import Slice, StoredFile, find_files, read_lines

if TYPE_CHECKING:
    from pyspark import RDD
    from pyspark.sql import SparkSession

SLICE_BYTES = 32 << 20
MOST_SLICES = 1000


def find(locations: Iterable[str]) -> list[Slice]:
    """The files at locations (a file, a folder or a prefix each), each file once, cut into slices.

    Raises `SourceMissing` where a location has none.
    """
    files = {file for location in locations for file in find_files(location)}
    return [piece for file in sorted(files) for piece in cut(file)]


def cut(file: StoredFile) -> Iterator[Slice]:
    """A file as slices of `SLICE_BYTES`; a packed one cannot be cut."""
    if file.location.endswith(".gz"):
        yield Slice(file.location, 0, file.size)
        return
    for start in range(0, max(file.size, 1), SLICE_BYTES):
        yield Slice(file.location, start, min(start + SLICE_BYTES, file.size))


def numbered(part: Slice) -> Iterator[tuple[str, bytes]]:
    """The lines of a slice, each with its place as a person finds it again."""
    for number, (offset, line) in enumerate(read_lines(part), 1):
        # A line's number is known only where the file was read from its beginning.
        place = f"{part.location}, byte {offset}" if part.start else f"{part.location}, line {number}"
        yield place, line


def parallel(spark: "SparkSession", parts: list[Slice]) -> "RDD[Slice]":
    """Slices as tasks of about the same size: many small files share one."""
    size = sum(part.end - part.start for part in parts)
    tasks = max(spark.sparkContext.defaultParallelism, ceil(size / SLICE_BYTES))
    return spark.sparkContext.parallelize(parts, max(1, min(len(parts), tasks, MOST_SLICES)))
