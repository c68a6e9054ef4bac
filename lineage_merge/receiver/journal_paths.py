"""Paths and names of a receiver's files.

::

    DIR/spline/TIME-ID.jsonl                   finished: complete and immutable
    DIR/openlineage/TIME-ID.jsonl
    DIR/.unfinished/spline/TIME-ID.jsonl       being written, locked by its process

Names are unique and sort by the time at which a file was begun: any number of receivers may write
below one folder.
"""

import os
import uuid
from datetime import UTC, datetime
from pathlib import Path

KINDS = ("spline", "openlineage")
_UNFINISHED = ".unfinished"


def finished(root: Path, kind: str) -> Path:
    """Return the folder that a source reads."""
    return root / kind


def unfinished(root: Path, kind: str) -> Path:
    """Return the folder of incomplete files."""
    return root / _UNFINISHED / kind


def new_name() -> str:
    """Return a unique file name."""
    return f"{datetime.now(UTC):%Y%m%dT%H%M%S%fZ}-{uuid.uuid4().hex[:12]}.jsonl"


def sync_folder(folder: Path) -> None:
    """Sync a folder, which makes new file names durable."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def is_file_of(path: Path, handle: int) -> bool:
    """Return whether a path names the open file itself, not a symbolic link to it."""
    try:
        found = path.lstat()
    except OSError:
        return False
    return os.path.samestat(found, os.fstat(handle))
