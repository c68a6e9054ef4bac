"""A file of which parts are read, each with what is near it, by requests for ranges of bytes."""

import io
import os
from collections.abc import Callable
from typing import Any

# Takes about as long to transfer as S3 takes to answer.
BLOCK = 1 << 20
# The rest is read at once when this part of the file has been read: then it is read as a whole.
_PART = 0.25
# Maximum blocks of a request when a file is read in sequence.
_MOST_AHEAD = 16

# Takes the value of the header `Range`; returns the bytes and the size of the file.
Fetch = Callable[[str], tuple[bytes, int]]


class RangedFile(io.RawIOBase):
    """A seekable file that retains what was read. Its end, where Parquet has its schema, is read first.

    Raises the errors of `fetch`.
    """

    def __init__(self, fetch: Fetch) -> None:
        self._fetch = fetch
        end, self.size = fetch(f"bytes=-{BLOCK}")
        self._position = 0
        self._next, self._ahead = (
            -1,
            1,
        )  # of reading in sequence: the next block, and blocks of the last request
        self._blocks: dict[int, bytes] = {}
        first = -(-max(0, self.size - len(end)) // BLOCK)
        self._retain(first, end[first * BLOCK - (self.size - len(end)) :])

    def readable(self) -> bool:
        """Return True."""
        return True

    def seekable(self) -> bool:
        """Return True."""
        return True

    def tell(self) -> int:
        """Return the position."""
        return self._position

    def seek(self, offset: int, whence: int = os.SEEK_SET, /) -> int:
        """Move the position."""
        start = {os.SEEK_SET: 0, os.SEEK_CUR: self._position, os.SEEK_END: self.size}[whence]
        self._position = max(0, start + offset)
        return self._position

    def readinto(self, buffer: Any, /) -> int:
        """Read as many bytes as the buffer has, or up to the end."""
        start, stop = self._position, min(self._position + len(buffer), self.size)
        if start >= stop:
            return 0
        first, last = start // BLOCK, (stop - 1) // BLOCK
        self._load(first, last)
        content = b"".join(self._blocks[number] for number in range(first, last + 1))
        buffer[: stop - start] = memoryview(content)[start - first * BLOCK : stop - first * BLOCK]
        self._position = stop
        return stop - start

    def _load(self, first: int, last: int) -> None:
        missing = [number for number in range(first, last + 1) if number not in self._blocks]
        blocks = -(-self.size // BLOCK)
        if missing and missing[0] == self._next:  # read in sequence: twice as much as the last time
            self._ahead = min(2 * self._ahead, _MOST_AHEAD)
            end = min(max(last + 1, missing[0] + self._ahead), blocks)
            missing = [number for number in range(missing[0], end) if number not in self._blocks]
        elif missing:
            self._ahead = 1
        if missing and len(self._blocks) + len(missing) > max(2, blocks * _PART):
            missing = [number for number in range(blocks) if number not in self._blocks]
        if missing:
            self._next = missing[-1] + 1
            start, stop = missing[0] * BLOCK, min((missing[-1] + 1) * BLOCK, self.size)
            self._retain(missing[0], self._fetch(f"bytes={start}-{stop - 1}")[0])

    def _retain(self, first: int, content: bytes) -> None:
        for number, start in enumerate(range(0, len(content), BLOCK), first):
            self._blocks[number] = content[start : start + BLOCK]
