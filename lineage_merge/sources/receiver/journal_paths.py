"""Where the files of a receiver lie, and what they are called.

::

    DIR/spline/TIME-ID.jsonl                   finished: whole, and never changed again
    DIR/openlineage/TIME-ID.jsonl
    DIR/.unfinished/spline/TIME-ID.jsonl       being written, locked by who writes it

Names sort by the time at which a file was begun, and no two are equal: any number of receivers may write
below one folder.
"""

import os
import uuid
from datetime import UTC, datetime
from pathlib import Path

KINDS = ("spline", "openlineage")
_UNFINISHED = ".unfinished"


def finished(root: Path, kind: str) -> Path:
    """The folder that a source reads."""
    return root / kind


def unfinished(root: Path, kind: str) -> Path:
    """The folder of what is not whole yet."""
    return root / _UNFINISHED / kind


def new_name() -> str:
    """A name that no file has."""
    return f"{datetime.now(UTC):%Y%m%dT%H%M%S%fZ}-{uuid.uuid4().hex[:12]}.jsonl"


def sync_folder(folder: Path) -> None:
    """A file's name too must be on the disk before anybody relies on it."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def is_file_of(path: Path, handle: int) -> bool:
    """Return whether a path names the very file that is open; a symbolic link does not."""
    try:
        found = path.lstat()
    except OSError:
        return False
    return os.path.samestat(found, os.fstat(handle))
