"""Recovery of files that a killed receiver left: complete lines are preserved, a partial one is cut off."""

import errno
import fcntl
import os
import stat
from pathlib import Path

from lineage_merge.infra.progress import ProgressCallback
from lineage_merge.receiver.journal import KINDS, is_file_of, locate_unfinished, put_in_place

_BLOCK = 1 << 20


# Entries that a message names.
_MAX_NAMED = 20


def recover(root: Path, on_progress: ProgressCallback) -> None:
    """Finish files that no process writes any more; files of running receivers are skipped.

    Only regular files are opened, and links never followed: the target may belong to another program, whose
    last partial line would be cut off. Raises `OSError`.
    """
    entries = [(kind, path) for kind in KINDS for path in sorted(locate_unfinished(root, kind).iterdir())]
    # Names may contain anything, even line feeds.
    ignored = [
        f"{str(path).encode('unicode_escape').decode()} ({is_a})"
        for kind, path in entries
        if (is_a := _recover(root, kind, path, on_progress))
    ]
    if ignored:
        more = [f"and {len(ignored) - _MAX_NAMED:,} more"] if len(ignored) > _MAX_NAMED else []
        on_progress(f"ignored, not files of a receiver: {', '.join([*ignored[:_MAX_NAMED], *more])}")


def _recover(root: Path, kind: str, path: Path, on_progress: ProgressCallback) -> str:
    """Finish a file. Return what an entry is that no receiver created, and which is left unchanged."""
    try:
        is_a = _no_file(path.lstat().st_mode)
        if is_a or path.suffix != ".jsonl":
            return is_a
        # Do not follow a link or block on a FIFO that has replaced the file meanwhile.
        handle = os.open(path, os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK)
    except FileNotFoundError:
        return ""  # finished meanwhile
    except OSError as error:
        if error.errno in (errno.ELOOP, errno.EISDIR, errno.ENXIO):
            return "no file"
        raise
    try:
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            return "no file"
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        _finish(root, kind, path, handle, on_progress)
    except BlockingIOError:
        pass  # being written
    finally:
        os.close(handle)
    return ""


def _no_file(mode: int) -> str:
    """Return the kind of an entry that is no regular file; empty for a regular file."""
    if stat.S_ISREG(mode):
        return ""
    if stat.S_ISLNK(mode):
        return "a symbolic link"
    if stat.S_ISDIR(mode):
        return "a folder"
    return "a FIFO" if stat.S_ISFIFO(mode) else "no file"


def _finish(root: Path, kind: str, path: Path, handle: int, on_progress: ProgressCallback) -> None:
    if not is_file_of(path, handle):
        return  # its receiver finished it before the lock was acquired
    size = os.fstat(handle).st_size
    whole = _end_of_lines(handle, size)
    if whole < size:
        os.ftruncate(handle, whole)
    # Complete lines may be only in memory: their receiver was killed before the sync.
    os.fsync(handle)
    file = put_in_place(root, kind, path, whole)
    if size:
        cut = f", {size - whole:,} bytes of a partial line cut off" if whole < size else ""
        on_progress(f"recovered {(file or path).name}: {whole:,} bytes{cut}")


def _end_of_lines(handle: int, size: int) -> int:
    """Return the offset after the last line feed."""
    end = size
    while end:
        start = max(0, end - _BLOCK)
        newline = os.pread(handle, end - start, start).rfind(b"\n")
        if newline >= 0:
            return start + newline + 1
        end = start
    return 0
