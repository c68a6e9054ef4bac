"""Unpacks gzip streams, whose size is limited: a small file may unpack to any size."""

import gzip
import zlib
from typing import IO

from lineage_merge.infra.storage.locations import redact_location
from lineage_merge.model.errors import DocumentError

# Raised for a gzip file that is truncated, damaged, or not a gzip file.
INVALID_GZIP = (gzip.BadGzipFile, EOFError, zlib.error)
# Maximum ratio of unpacked to packed size. Column lineage of wide joins reaches 130, gzip at most 1,030.
MAX_RATIO = 300


class GzipReader:
    """Reads a gzip stream while its ratio is below the limit."""

    def __init__(
        self, location: str, packed: IO[bytes], min_bytes_for_ratio: int, bytes_per_line: int = 0
    ) -> None:
        self._location = location
        self._packed = _CountingStream(packed)
        self._stream = gzip.GzipFile(fileobj=self._packed)  # type: ignore[call-overload] # only `read` is called
        self._min_bytes_for_ratio = min_bytes_for_ratio
        self._bytes_per_line = bytes_per_line
        self._size = 0

    def read1(self, limit: int) -> bytes:
        """Read available bytes, at most `limit`: all intact data before a damaged position.

        Raises `DocumentError` if the stream is damaged or a gzip bomb.
        """
        try:
            data: bytes = self._stream.read1(limit)
        except INVALID_GZIP:
            raise DocumentError(redact_location(self._location), "", "not a valid gzip file") from None
        self._size += len(data)
        if self._bytes_per_line:
            self._size += self._bytes_per_line * data.count(b"\n")
        if self._size > max(self._min_bytes_for_ratio, self._packed.size * MAX_RATIO):
            problem = f"unpacks to more than {MAX_RATIO} times its size"
            raise DocumentError(redact_location(self._location), "", problem)
        return data


class _CountingStream:
    """A stream that counts the bytes read."""

    def __init__(self, stream: IO[bytes]) -> None:
        self._stream = stream
        self.size = 0

    def read(self, limit: int = -1) -> bytes:
        """Read at most `limit` bytes."""
        data = self._stream.read(limit)
        self.size += len(data)
        return data
