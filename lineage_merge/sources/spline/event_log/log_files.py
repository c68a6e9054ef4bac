"""Event logs as files: single ones, folders of rolling ones, and the codecs of Spark.

Spark's lz4 and snappy are block streams of their own, not the usual frames.
"""

import io
import re
from collections.abc import Callable, Iterable, Iterator
from pathlib import PurePosixPath
from typing import Any, NamedTuple

from lineage_merge.infra import storage
from lineage_merge.infra.storage import Slice, StoredFile, find_files
from lineage_merge.model.elements import Problem
from lineage_merge.model.errors import SourceError, SourceMissing
from lineage_merge.naming import redact
from lineage_merge.sources import line_files

_ROLLING = "eventlog_v2_"
# What Spark kept of a part and those before it.
_COMPACTED = ".compact"
_PART = re.compile(r"^events_(?P<number>\d+)_")
UNFINISHED = ".inprogress"
_LZ4_MAGIC, _LZ4_HEADER = b"LZ4Block", 21
_LZ4_RAW = 0x10
_SNAPPY_MAGIC, _SNAPPY_HEADER = b"\x82SNAPPY\x00", 16
_MAX_BLOCK = 64 << 20


class EventLogFiles(NamedTuple):
    """A log: its location, and its files in order."""

    location: str
    parts: tuple[Slice, ...]


def find_logs(locations: Iterable[str]) -> list[EventLogFiles]:
    """List the logs at locations (a log, or a folder of logs). Raises `SourceMissing` for one without."""
    logs: dict[str, list[tuple[int, StoredFile]]] = {}
    for location in locations:
        found = False
        for file in find_files(location):
            folder, _, name = file.location.rpartition("/")
            if name.startswith((".", "_")) or name.endswith(".crc"):
                continue
            if folder.rpartition("/")[2].startswith(_ROLLING):
                part = _PART.match(name)
                if part is None:
                    continue
                logs.setdefault(folder, []).append((int(part["number"]), file))
            else:
                logs[file.location] = [(0, file)]
            found = True
        if not found:
            raise SourceMissing(f"{redact(location)}: no event logs found")
    return [EventLogFiles(log, _select_parts(files)) for log, files in sorted(logs.items())]


def _select_parts(files: Iterable[tuple[int, StoredFile]]) -> tuple[Slice, ...]:
    """Return the parts of a log in order, from the last one that stands for those before it."""
    ordered = sorted(set(files), key=lambda part: (part[0], part[1].location.endswith(_COMPACTED)))
    compacted = [place for place, (_, file) in enumerate(ordered) if file.location.endswith(_COMPACTED)]
    kept = ordered[compacted[-1] :] if compacted else ordered
    return tuple(Slice(file.location, 0, file.size) for _, file in kept)


def read_lines(log: EventLogFiles) -> Iterator[tuple[str, bytes]]:
    """Yield the lines of a log, each with its location; a file that ends too early ends the log there.

    Raises `SourceError` for a codec whose library is missing.
    """
    for part in log.parts:
        codec = PurePosixPath(part.location.removesuffix(UNFINISHED).removesuffix(_COMPACTED)).suffix
        unpack = _CODECS.get(codec)
        if unpack is None:
            for item in line_files.stop_at_damage(line_files.number_lines(part)):
                if not isinstance(item, Problem):
                    yield item
            continue
        with storage.open_stream(part.location) as packed:
            for number, line in enumerate(_lines(unpack(packed)), 1):
                yield f"{part.location}, line {number}", line


def _lines(blocks: Iterator[bytes]) -> Iterator[bytes]:
    partial = b""
    for block in blocks:
        *lines, partial = (partial + block).split(b"\n")
        yield from lines
        if len(partial) > storage.MAX_LINE_BYTES:
            return
    if partial:
        yield partial


def _read_zstd(packed: io.BufferedReader) -> Iterator[bytes]:
    pyarrow = _pyarrow()
    stream = pyarrow.CompressedInputStream(pyarrow.PythonFile(packed, "r"), "zstd")
    try:
        while block := stream.read(1 << 16):  # what is read with the damaged end is lost
            yield block
    except OSError:
        return  # of an application that runs, or was killed


def _read_lz4(packed: io.BufferedReader) -> Iterator[bytes]:
    codec = _pyarrow().Codec("lz4_raw")
    while len(header := packed.read(_LZ4_HEADER)) == _LZ4_HEADER and header.startswith(_LZ4_MAGIC):
        method = header[8] & 0xF0
        size, original = (int.from_bytes(header[at : at + 4], "little") for at in (9, 13))
        if not (0 < size <= _MAX_BLOCK and 0 < original <= _MAX_BLOCK):
            continue  # the end of a stream; another may follow
        block = packed.read(size)
        if len(block) < size:
            return
        yield block if method == _LZ4_RAW else codec.decompress(block, original, asbytes=True)


def _read_snappy(packed: io.BufferedReader) -> Iterator[bytes]:
    codec = _pyarrow().Codec("snappy")
    while head := packed.read(4):
        if head == _SNAPPY_MAGIC[:4]:
            packed.read(_SNAPPY_HEADER - 4)
            continue
        size = int.from_bytes(head, "big")
        block = packed.read(size) if len(head) == 4 and size <= _MAX_BLOCK else b""
        if len(block) < size or not block:
            return
        original = _read_varint(block)
        if original > _MAX_BLOCK:
            return
        yield codec.decompress(block, original, asbytes=True)


def _read_varint(block: bytes) -> int:
    value = shift = 0
    for byte in block[:5]:
        value |= (byte & 0x7F) << shift
        if not byte & 0x80:
            break
        shift += 7
    return value


def _pyarrow() -> Any:
    try:
        import pyarrow
    except ModuleNotFoundError:
        raise SourceError("reading compressed event logs needs the extra parquet") from None
    return pyarrow


_CODECS: dict[str, Callable[[io.BufferedReader], Iterator[bytes]]] = {
    ".zstd": _read_zstd,
    ".lz4": _read_lz4,
    ".snappy": _read_snappy,
}
