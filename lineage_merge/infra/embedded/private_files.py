"""Files and folders with access for their owner only."""

import os
from contextlib import suppress
from pathlib import Path
from typing import IO

_FILE = 0o600
_FOLDER = 0o700


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
