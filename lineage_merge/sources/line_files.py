"""Line-oriented text files, local or in S3, read in independent slices."""

from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from math import ceil
from typing import NamedTuple, TypeVar

from lineage_merge.infra.engine.rows import Engine, Rows
from lineage_merge.infra.storage import (
    Slice,
    StoredFile,
    find_files,
    read_beginning,
    read_line_blocks,
    redact_location,
)
from lineage_merge.model.elements import Problem
from lineage_merge.model.errors import DocumentError, SourceMissing
from lineage_merge.naming import redact
from lineage_merge.sources import document_kind
from lineage_merge.sources.kinds import Kind

SLICE_BYTES = 32 << 20
# Files, and bytes of each, by which the kind of files is recognized.
_RECOGNIZED_FILES = 3
_RECOGNIZED_BYTES = 1 << 16
_TESTED_BYTES = 1 << 20
_TESTED_LINES = 2000

Found = TypeVar("Found")


def _any_file(_location: str) -> bool:
    return True


def _has_lines(_location: str) -> bool:
    return False


def find(
    locations: Iterable[str],
    is_wanted: Callable[[str], bool] = _any_file,
    is_whole: Callable[[str], bool] = _has_lines,
) -> list[Slice]:
    """List the files at locations (a file, a folder or a prefix each), without duplicates, cut into slices.

    `is_wanted` and `is_whole` decide by location whether a file is read, and whether it is read uncut. Raises
    `SourceMissing` for a location without files.
    """
    files = {file for location in locations for file in _list_wanted(location, is_wanted)}
    return [piece for file in sorted(files) for piece in cut(file, whole=is_whole(file.location))]


def _list_wanted(location: str, is_wanted: Callable[[str], bool]) -> list[StoredFile]:
    files = [file for file in find_files(location) if is_wanted(file.location)]
    if not files:
        raise SourceMissing(f"{redact(location)}: no files found")
    return files


def recognize(parts: Iterable[Slice]) -> Kind | None:
    """Return what files are by the beginnings of the first ones, None if that is unknown.

    For messages about files without any document of the expected kind.
    """
    locations = sorted({part.location for part in parts})[:_RECOGNIZED_FILES]
    kinds = [
        document_kind.recognize_bytes(read_beginning(location, _RECOGNIZED_BYTES)) for location in locations
    ]
    known = [kind for kind in kinds if kind is not None]
    return next((kind for kind in known if kind is not document_kind.EMPTY), known[0] if known else None)


def nothing_found(source: str, field: str, what: str, parts: Iterable[Slice], expected: Kind) -> Problem:
    """Return a notice that files contain no `what`, and what they contain instead, if it is known."""
    actual = recognize(parts)
    others = f", but {actual}" if actual is not None and actual is not expected else ""
    return Problem("notice", source, field, f"no {what} found in the configured files{others}")


def cut(file: StoredFile, *, whole: bool = False) -> Iterator[Slice]:
    """Yield a file as slices of `SLICE_BYTES`; a compressed file is one slice."""
    if whole or file.location.endswith(".gz"):
        yield Slice(file.location, 0, file.size)
        return
    for start in range(0, max(file.size, 1), SLICE_BYTES):
        yield Slice(file.location, start, min(start + SLICE_BYTES, file.size))


def sum_stored_bytes(parts: Iterable[Slice]) -> int:
    """Return the stored size of slices (compressed files: the compressed size)."""
    return sum(part.end - part.start for part in parts)


def list_bytes(locations: Iterable[str]) -> int:
    """List the files at locations; return their stored size. Raises `SourceError`."""
    return sum_stored_bytes(find(locations))


def estimate_unpacked_bytes(parts: Iterable[Slice]) -> int:
    """Estimate the uncompressed size of text slices."""
    return sum(StoredFile(part.location, part.end - part.start).text_bytes for part in parts)


class LineBlock(NamedTuple):
    """Consecutive lines of a slice; `number` of the first one, from 1, and the byte at which it starts."""

    part: Slice
    number: int
    offset: int
    lines: list[bytes]

    def locate_lines(self, start: int = 0, end: int | None = None) -> Iterator[tuple[str, bytes]]:
        """Yield the lines from index `start` to `end`, each with its location for messages."""
        offset = self.offset + sum(map(len, self.lines[:start]))
        for number, line in enumerate(self.lines[start:end], self.number + start):
            # Line numbers are known only when the file was read from its beginning.
            where = f"byte {offset}" if self.part.start else f"line {number}"
            yield f"{self.part.location}, {where}", line
            offset += len(line)


def blocks(part: Slice) -> Iterator[LineBlock]:
    """Yield the lines of a slice in blocks. Raises `DocumentError` if its file is no UTF-8 text."""
    number = 1
    for offset, lines in read_line_blocks(part):
        if not offset and (kind := document_kind.binary_kind(_beginning(lines))):
            raise DocumentError(redact_location(part.location), "", str(kind))
        yield LineBlock(part, number, offset, lines)
        number += len(lines)


def _beginning(lines: list[bytes]) -> bytes:
    """Return the first lines, at most as many bytes as kinds of files are recognized by."""
    return b"".join(islice(lines, _TESTED_LINES))[:_RECOGNIZED_BYTES]


def number_lines(part: Slice) -> Iterator[tuple[str, bytes]]:
    """Yield the lines of a slice, each with its location for messages."""
    for block in blocks(part):
        yield from block.locate_lines()


def first_lines(file: StoredFile) -> Iterator[tuple[str, bytes]]:
    """Yield numbered lines, enough to find documents in a log that begins with other lines."""
    is_packed = file.location.endswith(".gz")
    part = Slice(file.location, 0, file.size if is_packed else min(file.size, _TESTED_BYTES))
    return islice(number_lines(part), _TESTED_LINES)


def stop_at_damage(documents: Iterable[Found]) -> Iterator[Found | Problem]:
    """Yield what is found in a file of lines; if the file is corrupt, a problem replaces the rest.

    A log that was read while it was being compressed or copied loses only its end.
    """
    try:
        yield from documents
    except DocumentError as error:
        yield Problem("rejected", error.document, error.field, error.problem)


def parallel(engine: Engine, parts: list[Slice]) -> Rows[Slice]:
    """Distribute slices over partitions of similar size; many small files share one."""
    return engine.rows(parts, tasks(engine, parts))


def tasks(engine: Engine, parts: Iterable[Slice]) -> int:
    """Return the number of partitions for reading slices, and reserve their memory in the engine."""
    slices = list(parts)
    engine.reserve(estimate_unpacked_bytes(slices))
    return max(engine.parallelism, ceil(sum_stored_bytes(slices) / SLICE_BYTES))
