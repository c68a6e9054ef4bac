"""Locks and access of the files of embedded graphs. The system releases locks when a process ends."""

import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

from lineage_merge.infra.progress import ProgressCallback
from lineage_merge.model.errors import EmbeddedError

# A load takes seconds, a very large one some minutes.
LOAD_SECONDS = 30 * 60.0
_POLL_SECONDS = 0.1
# Access for the owner only.
_FILE = 0o600
_FOLDER = 0o700


@contextmanager
def hold_lock(file: Path, what: str, on_progress: ProgressCallback, seconds: float) -> Iterator[None]:
    """Hold an exclusive lock on a file; wait for it if another process has it. Raises `EmbeddedError`.

    `what`: its subject in messages.
    """
    try:
        held = open_private(file, "a")
    except OSError as error:
        raise EmbeddedError(f"{what} cannot be locked: {error.strerror or error}: {file}") from None
    with held:
        deadline = time.monotonic() + seconds
        said = False
        while not _lock(held):
            if not said:
                on_progress(f"another process loads {what}: waiting for it")
                said = True
            if time.monotonic() >= deadline:
                raise EmbeddedError(
                    f"{what} is still loaded by another process after {seconds / 60:g} minutes."
                    f" Fix: end that process, which holds {file}"
                )
            time.sleep(_POLL_SECONDS)
        yield


def _lock(held: IO[str]) -> bool:
    try:
        fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def make_folder(folder: Path, *, own: bool = False) -> None:
    """Create a folder with mode 0700 if it is missing.

    `own`: the folder contains only our files, so that an existing one gets this mode too.
    """
    folder.parent.mkdir(parents=True, exist_ok=True)
    folder.mkdir(mode=_FOLDER, exist_ok=True)
    if own:
        with suppress(PermissionError):  # another user's folder: the files have their own mode
            folder.chmod(_FOLDER)


def make_private(file: Path) -> None:
    """Give an existing file mode 0600."""
    with suppress(PermissionError):
        file.chmod(_FILE)


def open_private(file: Path, mode: str) -> IO[str]:
    """Open a text file with mode 0600, which is also set on an existing file."""
    opened: IO[str] = open(file, mode, encoding="utf-8", opener=_open_private)  # noqa: SIM115 - the caller closes it
    make_private(file)
    return opened


def open_private_bytes(file: Path) -> IO[bytes]:
    """Create a file with mode 0600 for bytes."""
    opened: IO[bytes] = open(file, "wb", opener=_open_private)  # noqa: SIM115 - the caller closes it
    make_private(file)
    return opened


def _open_private(path: str, flags: int) -> int:
    return os.open(path, flags, _FILE)
