"""Reads the lines of slices of files, in blocks."""

import io
from collections.abc import Iterator
from itertools import accumulate
from typing import IO

from lineage_merge.infra import input_budget
from lineage_merge.infra.storage.access import open_stream, translate_errors
from lineage_merge.infra.storage.locations import Slice, redact_location
from lineage_merge.infra.storage.packed import GzipReader
from lineage_merge.model.errors import DocumentError

# Maximum length of a line, which contains one document; `receive` accepts 64 MB.
MAX_LINE_BYTES = 128 << 20
MIN_LINE_BYTES_FOR_RATIO = MAX_LINE_BYTES
_BLOCK_BYTES = 1 << 20
# The bytes that take as much time as a line, however short: a bomb may consist of line feeds.
_BYTES_PER_LINE = 64
_LINE_BLOCK_BYTES = 256 << 10  # short lines take ten times their bytes of memory


def read_lines(part: Slice) -> Iterator[tuple[int, bytes]]:
    """Read the lines of a slice with the byte at which each starts. Raises as `read_line_blocks`."""
    for offset, lines in read_line_blocks(part):
        for line in lines:
            yield offset, line
            offset += len(line)


def read_line_blocks(part: Slice) -> Iterator[tuple[int, list[bytes]]]:
    """Read the lines of a slice in blocks, with the byte at which each block starts.

    Packed files are never sliced. Raises `DocumentError` after the last complete line of a packed file that
    is truncated or damaged, and if a line or a packed file exceeds the limits.
    """
    if part.location.endswith(".gz"):
        with translate_errors(part.location), open_stream(part.location) as packed:
            unpacked = GzipReader(part.location, packed, MIN_LINE_BYTES_FOR_RATIO, _BYTES_PER_LINE)
            yield from _line_blocks(part.location, unpacked, 0, None)
        return
    with translate_errors(part.location), open_stream(part.location, max(part.start - 1, 0)) as stream:
        offset = part.start
        if part.start:
            # A line across the boundary belongs to the previous slice, unless the byte before the boundary
            # ends it.
            offset += _skip_line(stream, part.end - part.start + 1) - 1
        yield from _line_blocks(part.location, stream, offset, part.end)


def _skip_line(stream: IO[bytes], limit: int) -> int:
    """Skip the rest of a line, at most `limit` bytes; return the number of skipped bytes."""
    skipped = 0
    while skipped < limit and (piece := stream.readline(min(_BLOCK_BYTES, limit - skipped))):
        skipped += len(piece)
        if piece.endswith(b"\n"):
            break
    return skipped


def _line_blocks(
    location: str, stream: "io.BufferedReader | GzipReader", offset: int, end: int | None
) -> Iterator[tuple[int, list[bytes]]]:
    partial: list[bytes] = []  # the start of an incomplete line
    size = 0
    while end is None or offset < end:
        block = stream.read1(input_budget.limit_read(_LINE_BLOCK_BYTES))
        input_budget.count(len(block))
        partial.append(block)
        size += len(block)
        if block and b"\n" not in block and size <= MAX_LINE_BYTES:
            continue
        lines = io.BytesIO(b"".join(partial)).readlines()
        is_cut = bool(block) and not lines[-1].endswith(b"\n") and len(lines[-1]) <= MAX_LINE_BYTES
        partial = [lines.pop()] if is_cut else []
        complete, size = size, sum(map(len, partial))
        complete -= size
        if end is not None and offset + complete > end:
            lines = _starting_before(end, offset, lines)
        if complete > MAX_LINE_BYTES:
            yield from _check_lengths(location, offset, lines)
        elif lines:
            yield offset, lines
        offset += complete
        if not block:
            return


def _starting_before(end: int, offset: int, lines: list[bytes]) -> list[bytes]:
    starts = accumulate(map(len, lines), initial=offset)
    return [line for start, line in zip(starts, lines, strict=False) if start < end]


def _check_lengths(location: str, offset: int, lines: list[bytes]) -> Iterator[tuple[int, list[bytes]]]:
    for line in lines:
        if len(line) > MAX_LINE_BYTES:
            problem = f"byte {offset}: a line of more than {MAX_LINE_BYTES:,} bytes; the rest is not read"
            raise DocumentError(redact_location(location), "", problem)
        yield offset, [line]
        offset += len(line)
