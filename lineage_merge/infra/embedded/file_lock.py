"""Locks of an embedded graph: one owner that serves it, and users of its server.

Next to ``graph`` are ``graph.server`` (mode 0600; locked exclusively by the owner; JSON: its
process id, and its URL with the password of this start) and ``graph.users`` (shared lock of each
user of the server). The system releases locks when a process ends, so a crash needs no cleanup.
"""

import fcntl
import json
import os
import time
from contextlib import suppress
from pathlib import Path
from typing import IO

_POLL_SECONDS = 0.2
# Access for the owner only.
_FILE = 0o600
_FOLDER = 0o700


class Hold:
    """A lock on a file, held until `release`."""

    def __init__(self, held: IO[str]) -> None:
        self._held = held

    def release(self) -> None:
        self._held.close()

    def write(self, text: str) -> None:
        """Replace the locked file's content."""
        self._held.seek(0)
        self._held.truncate()
        self._held.write(text)
        self._held.flush()


def own(graph_file: Path) -> Hold | None:
    """Acquire ownership of the file; None if another process has it."""
    hold = _locked(_state_file(graph_file), fcntl.LOCK_EX)
    if hold:
        hold.write("")
    return hold


def announce(owner: Hold, url: str) -> None:
    """Publish the URL of the owner's server."""
    owner.write(json.dumps({"pid": os.getpid(), "url": url}))


def use(graph_file: Path) -> Hold | None:
    """Register as a user of the owner's server, which then waits at its end; None if it is ending."""
    return _locked(_users_file(graph_file), fcntl.LOCK_SH)


def wait_for_users(graph_file: Path, seconds: float) -> Hold | None:
    """Wait for the last user and block new ones; None if one remains after `seconds`."""
    deadline = time.monotonic() + seconds
    while not (hold := _locked(_users_file(graph_file), fcntl.LOCK_EX)):
        if time.monotonic() >= deadline:
            return None
        time.sleep(_POLL_SECONDS)
    return hold


def served_at(graph_file: Path) -> str | None:
    """Return the URL, with user and password, that the last owner published.

    The caller checks whether it still responds.
    """
    try:
        url = json.loads(_state_file(graph_file).read_text())["url"]
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return url if isinstance(url, str) else None


def _locked(path: Path, kind: int) -> Hold | None:
    make_folder(path.parent)
    held = open_private(path, "a+")
    try:
        fcntl.flock(held, kind | fcntl.LOCK_NB)
    except BlockingIOError:
        held.close()
        return None
    return Hold(held)


def _state_file(graph_file: Path) -> Path:
    return Path(f"{graph_file}.server")


def _users_file(graph_file: Path) -> Path:
    return Path(f"{graph_file}.users")


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

    def opener(path: str, flags: int) -> int:
        return os.open(path, flags, _FILE)

    opened: IO[str] = open(file, mode, encoding="utf-8", opener=opener)  # noqa: SIM115 - the caller closes it
    make_private(file)
    return opened
