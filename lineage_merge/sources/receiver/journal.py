"""The file that lines of one kind are appended to, until it is full or old and becomes a finished one."""

import errno
import fcntl
import os
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from lineage_merge.sources.receiver import journal_paths


@dataclass(frozen=True, slots=True)
class Limits:
    """When a file is finished: `size` in bytes, `age` in seconds since its first line."""

    size: int
    age: float


class Journal:
    """Appends durably. One thread at a time may use it; other processes have files of their own.

    Methods raise `OSError` as the disk gives it. What `append` raised for is in no file: it was cut off
    again, or, where even that failed, its file is left alone, and `recovery` cuts it.
    """

    def __init__(self, root: Path, kind: str, limits: Limits) -> None:
        self.kind = kind
        self._root = root
        self._limits = limits
        self._path: Path | None = None
        self._handle = -1
        self._size = 0
        self._begun = 0.0

    def append(self, data: bytes) -> Path | None:
        """Write whole lines; they are on the disk when this returns. The file, if that finished one."""
        if self._path is None:
            self._path = self._begin()
        try:
            _write(self._handle, data)
            os.fsync(self._handle)
            # A file whose folder was removed takes writes as ever, and is nowhere when it is closed.
            if not journal_paths.is_file_of(self._path, self._handle):
                raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(self._path))
        except OSError:
            self._take_back()
            raise
        self._size += len(data)
        if self._size < self._limits.size:
            return None
        # What is in it is on the disk: if it cannot be moved, the next start does it.
        with suppress(OSError):
            return self.finish()
        return None

    def seconds_left(self) -> float | None:
        """How long the file may stay open; None where there is none."""
        return None if self._path is None else max(0.0, self._begun + self._limits.age - time.monotonic())

    def finish(self) -> Path | None:
        """Give the file its place, if there is one with lines."""
        path, self._path = self._path, None
        if path is None:
            return None
        try:
            return put_in_place(self._root, self.kind, path, self._size)
        finally:
            os.close(self._handle)

    def _begin(self) -> Path:
        folder = journal_paths.unfinished(self._root, self.kind)
        while True:
            path = folder / journal_paths.new_name()
            handle = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_EXCL, 0o640)
            try:
                # Who has the lock is alive: `recovery` leaves the file alone.
                fcntl.flock(handle, fcntl.LOCK_EX)
                journal_paths.sync_folder(folder)
                is_there = path.exists()
            except OSError:
                os.close(handle)
                raise
            if is_there:
                break
            # Another receiver that started just now saw an empty file without a lock, and took it away.
            os.close(handle)
        self._handle, self._size, self._begun = handle, 0, time.monotonic()
        return path

    def _take_back(self) -> None:
        """Cut off what could not be written whole, and end the file: the next one may have more luck."""
        with suppress(OSError):
            os.ftruncate(self._handle, self._size)
            os.fsync(self._handle)
            self.finish()
        if self._path is not None:
            self._path = None
            os.close(self._handle)


def put_in_place(root: Path, kind: str, path: Path, size: int) -> Path | None:
    """Make a whole file of `unfinished` a finished one; an empty one goes."""
    if not size:
        path.unlink()
        return None
    folder = journal_paths.finished(root, kind)
    target = path.rename(folder / path.name)
    journal_paths.sync_folder(folder)
    return target


def _write(handle: int, data: bytes) -> None:
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(handle, rest) :]
