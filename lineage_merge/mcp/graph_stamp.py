"""When an open graph must be read again: files by size and time, histories and S3 by age."""

import time
from dataclasses import dataclass, field
from pathlib import Path

from lineage_merge.config import EMBEDDED
from lineage_merge.query.session import Session

# Files in S3 and histories; a moment such as 3d also moves on.
MAX_AGE_SECONDS = 300.0
# Load balancers and Neptune close connections that are idle for longer.
MAX_IDLE_SECONDS = 300.0
_S3 = "s3://"
# Resolution of times of files, at worst.
_CLOCK_NS = 2_000_000_000

_Stamp = tuple[tuple[str, int, int], ...]


@dataclass(slots=True)
class OpenedGraph:
    """A session, and what it was read from."""

    session: Session
    opened_at: float = field(default_factory=time.monotonic)
    used_at: float = field(default_factory=time.monotonic)
    stamp: _Stamp = ()

    @classmethod
    def from_session(cls, session: Session, started_ns: int) -> "OpenedGraph":
        """Return a session that was opened from a time (ns since 1970) on.

        Without a stamp, and so read again, if its files may have changed meanwhile.
        """
        place = files_of(session)
        files = stamp(place) if isinstance(place, Path) else ()
        is_settled = all(changed < started_ns - _CLOCK_NS for _, _, changed in files)
        return cls(session, stamp=files if is_settled else ())

    def is_current(self) -> bool:
        """Whether the next question may use it, which then does."""
        now = time.monotonic()
        place = files_of(self.session)
        if place is None:
            idle, self.used_at = now - self.used_at, now
            return idle < MAX_IDLE_SECONDS
        if isinstance(place, str):
            return now - self.opened_at < MAX_AGE_SECONDS
        return bool(self.stamp) and self.stamp == stamp(place)


def files_of(session: Session) -> Path | str | None:
    """Return what a graph is read from: a local path, another location (text), or a server (None)."""
    selection = session.selection
    if selection.as_of:
        return "history"
    if selection.folder:
        return selection.folder if selection.folder.startswith(_S3) else Path(selection.folder)
    if not _is_embedded(session):
        return None
    from lineage_merge.infra.graph_files import default_graph_file

    return selection.graph_file or default_graph_file()


def stamp(place: Path) -> _Stamp:
    """Return name, size and time of a file, or of the files of a folder; empty if they cannot be read."""
    try:
        files = sorted(filter(Path.is_file, place.rglob("*"))) if place.is_dir() else [place]
        statuses = ((str(file), file.stat()) for file in files)
        return tuple((name, status.st_size, status.st_mtime_ns) for name, status in statuses)
    except OSError:
        return ()


def _is_embedded(session: Session) -> bool:
    selection = session.selection
    return not (selection.folder or selection.as_of) and session.config.gremlin.endpoint == EMBEDDED
