"""Files that a killed receiver left unfinished: their whole lines are kept, and half a line is cut off."""

import fcntl
import os
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from lineage_merge.receive import places
from lineage_merge.receive.journal import put_in_place

_BLOCK = 1 << 20


class Recovered(NamedTuple):
    """A file that was finished: how many bytes it has, and how many of half a line were cut off."""

    file: Path
    size: int
    cut: int


def recover(root: Path) -> Iterator[Recovered]:
    """Finish what nobody writes any more. Files of receivers that live stay as they are."""
    for kind in places.KINDS:
        for path in sorted(places.unfinished(root, kind).glob("*.jsonl")):
            try:
                handle = os.open(path, os.O_RDWR)
            except FileNotFoundError:
                continue  # finished meanwhile
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                found = _finish(root, kind, path, handle)
            except BlockingIOError:
                continue
            finally:
                os.close(handle)
            if found:
                yield found


def _finish(root: Path, kind: str, path: Path, handle: int) -> Recovered | None:
    if not path.exists():
        return None  # its receiver finished it between our looking and our lock
    size = os.fstat(handle).st_size
    whole = _end_of_lines(handle, size)
    if whole < size:
        os.ftruncate(handle, whole)
    # Whole lines may be in memory only: their receiver was killed before it had them on the disk.
    os.fsync(handle)
    file = put_in_place(root, kind, path, whole)
    return Recovered(file or path, whole, size - whole) if size else None


def _end_of_lines(handle: int, size: int) -> int:
    """The byte behind the last line feed."""
    end = size
    while end:
        start = max(0, end - _BLOCK)
        found = os.pread(handle, end - start, start).rfind(b"\n")
        if found >= 0:
            return start + found + 1
        end = start
    return 0
