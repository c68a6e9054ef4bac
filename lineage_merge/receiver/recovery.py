"""Recovery of files that a killed receiver left: complete lines are preserved, a partial one is cut off."""

import errno
import fcntl
import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from lineage_merge.receiver.journal import KINDS, is_file_of, put_in_place, unfinished_folder

_BLOCK = 1 << 20


class Recovered(NamedTuple):
    """A finished file: its size, and the size of the partial line that was cut off."""

    file: Path
    size: int
    cut: int


class Ignored(NamedTuple):
    """An entry that no receiver created, which is left unchanged."""

    path: Path
    is_a: str


def recover(root: Path) -> Iterator[Recovered | Ignored]:
    """Finish files that no process writes any more; files of running receivers are skipped.

    Only regular files are opened, and links never followed: the target may belong to another program, whose
    last partial line would be cut off. Raises `OSError`.
    """
    for kind in KINDS:
        for path in sorted(unfinished_folder(root, kind).iterdir()):
            found = _recover(root, kind, path)
            if found:
                yield found


def _recover(root: Path, kind: str, path: Path) -> Recovered | Ignored | None:
    try:
        is_a = _no_file(path.lstat().st_mode)
        if is_a or path.suffix != ".jsonl":
            return Ignored(path, is_a) if is_a else None
        # Do not follow a link or block on a FIFO that has replaced the file meanwhile.
        handle = os.open(path, os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK)
    except FileNotFoundError:
        return None  # finished meanwhile
    except OSError as error:
        if error.errno in (errno.ELOOP, errno.EISDIR, errno.ENXIO):
            return Ignored(path, "no file")
        raise
    try:
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            return Ignored(path, "no file")
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return _finish(root, kind, path, handle)
    except BlockingIOError:
        return None
    finally:
        os.close(handle)


def _no_file(mode: int) -> str:
    """Return the kind of an entry that is no regular file; empty for a regular file."""
    if stat.S_ISREG(mode):
        return ""
    if stat.S_ISLNK(mode):
        return "a symbolic link"
    if stat.S_ISDIR(mode):
        return "a folder"
    return "a FIFO" if stat.S_ISFIFO(mode) else "no file"


def _finish(root: Path, kind: str, path: Path, handle: int) -> Recovered | None:
    if not is_file_of(path, handle):
        return None  # its receiver finished it before the lock was acquired
    size = os.fstat(handle).st_size
    whole = _end_of_lines(handle, size)
    if whole < size:
        os.ftruncate(handle, whole)
    # Complete lines may be only in memory: their receiver was killed before the sync.
    os.fsync(handle)
    file = put_in_place(root, kind, path, whole)
    return Recovered(file or path, whole, size - whole) if size else None


def _end_of_lines(handle: int, size: int) -> int:
    """Return the offset after the last line feed."""
    end = size
    while end:
        start = max(0, end - _BLOCK)
        found = os.pread(handle, end - start, start).rfind(b"\n")
        if found >= 0:
            return start + found + 1
        end = start
    return 0
