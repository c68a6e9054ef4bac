"""The file that lines of one kind are appended to, until its size or age limit finishes it.

::

    DIR/spline/TIME-ID.jsonl                   finished: complete and immutable
    DIR/openlineage/TIME-ID.jsonl
    DIR/.unfinished/spline/TIME-ID.jsonl       being written, locked by its process

Names are unique and sort by the time at which a file was begun: any number of receivers may write
below one folder.
"""

import errno
import fcntl
import os
import time
import uuid
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from lineage_merge.infra.storage import sync_folder
from lineage_merge.receiver.documents import Kind

KINDS: tuple[Kind, ...] = ("spline", "openlineage")
_UNFINISHED = ".unfinished"


def locate_finished(root: Path, kind: str) -> Path:
    """Return the folder that a source reads."""
    return root / kind


def locate_unfinished(root: Path, kind: str) -> Path:
    """Return the folder of incomplete files."""
    return root / _UNFINISHED / kind


def new_name() -> str:
    """Return a unique file name."""
    return f"{datetime.now(UTC):%Y%m%dT%H%M%S%fZ}-{uuid.uuid4().hex[:12]}.jsonl"


def is_file_of(path: Path, handle: int) -> bool:
    """Return whether a path names the open file itself, not a symbolic link to it."""
    try:
        status = path.lstat()
    except OSError:
        return False
    return os.path.samestat(status, os.fstat(handle))


@dataclass(frozen=True, slots=True)
class Limits:
    """When a file is finished: `size` in bytes, `age` in seconds since its first line."""

    size: int
    age: float


class Journal:
    """Appends lines durably. Used by one thread at a time; other processes have their own files.

    Methods raise the `OSError` of the disk. After an error in `append`, no part of its data is in a file: it
    is truncated, or, if that fails too, the file is left to `recovery`.
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
        """Write complete lines durably. Return the file if that finished it."""
        if self._path is None:
            self._path = self._begin()
        try:
            _write(self._handle, data)
            os.fsync(self._handle)
            # Writes to a file whose folder was deleted succeed, but the file is lost when closed.
            if not is_file_of(self._path, self._handle):
                raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(self._path))
        except OSError:
            self._roll_back()
            raise
        self._size += len(data)
        if self._size < self._limits.size:
            return None
        # The content is on disk: if the file cannot be moved, the next start does it.
        with suppress(OSError):
            return self.finish()
        return None

    def seconds_left(self) -> float | None:
        """Return how long the file may stay open; None without an open file."""
        return None if self._path is None else max(0.0, self._begun + self._limits.age - time.monotonic())

    def finish(self) -> Path | None:
        """Move the file into place if it has lines."""
        path, self._path = self._path, None
        if path is None:
            return None
        try:
            return put_in_place(self._root, self.kind, path, self._size)
        finally:
            os.close(self._handle)

    def _begin(self) -> Path:
        folder = locate_unfinished(self._root, self.kind)
        while True:
            path = folder / new_name()
            handle = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_EXCL, 0o640)
            try:
                # The lock marks a running process: `recovery` ignores the file.
                fcntl.flock(handle, fcntl.LOCK_EX)
                sync_folder(folder)
                is_there = path.exists()
            except OSError:
                os.close(handle)
                raise
            if is_there:
                break
            # Another receiver, starting at the same time, found an empty unlocked file and deleted it.
            os.close(handle)
        self._handle, self._size, self._begun = handle, 0, time.monotonic()
        return path

    def _roll_back(self) -> None:
        """Truncate an incomplete write and close the file: the next file may succeed."""
        with suppress(OSError):
            os.ftruncate(self._handle, self._size)
            os.fsync(self._handle)
            self.finish()
        if self._path is not None:
            self._path = None
            os.close(self._handle)


def put_in_place(root: Path, kind: str, path: Path, size: int) -> Path | None:
    """Move a complete file of `unfinished` into place; delete an empty one."""
    if not size:
        path.unlink()
        return None
    folder = locate_finished(root, kind)
    target = path.rename(folder / path.name)
    sync_folder(folder)
    return target


def _write(handle: int, data: bytes) -> None:
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(handle, rest) :]
