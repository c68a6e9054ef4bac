"""What was read of logs, kept in a folder: a log that has not changed is not read again."""

import json
from collections.abc import Iterable, Iterator
from hashlib import sha256

from lineage_merge.infra import storage
from lineage_merge.model.elements import Problem
from lineage_merge.model.errors import SourceError
from lineage_merge.model.version import __version__
from lineage_merge.sources.spline.event_log.log_files import UNFINISHED, EventLogFiles, read_lines
from lineage_merge.sources.spline.event_log.messages import LoggedWrite
from lineage_merge.sources.spline.event_log.writes import read_writes


def read_log(log: EventLogFiles, cache: str) -> Iterator[LoggedWrite | Problem]:
    """Yield the writes of a log; `cache`: the folder that keeps them, "" for none."""
    is_kept = bool(cache) and not any(part.location.endswith(UNFINISHED) for part in log.parts)
    place = f"{cache.rstrip('/')}/{_name(log)}" if is_kept else ""
    known = _read_kept(place) if place else None
    if known is not None:
        yield from _parse(known)
        return
    found = read_writes(log.location, read_lines(log))
    if not place:
        yield from found
        return
    whole = [*found]
    yield from whole
    try:
        storage.create_file(place, "".join(_lines(whole)))
    except SourceError as error:
        yield Problem("notice", log.location, "cache", f"what was read is not kept: {error}")


def _read_kept(place: str) -> str | None:
    try:
        return storage.read_texts([place])[0]
    except SourceError:  # S3 does not say that an object is missing without the permission to list
        return None


def _name(log: EventLogFiles) -> str:
    """Return the name of the file for a log: another one if the sizes of its files or the version change."""
    parts = [[part.location, part.end] for part in log.parts]
    return f"{sha256(json.dumps([__version__, parts]).encode()).hexdigest()}.jsonl"


def _lines(found: Iterable[LoggedWrite | Problem]) -> Iterator[str]:
    for item in found:
        kind = "problem" if isinstance(item, Problem) else "write"
        yield json.dumps([kind, item], separators=(",", ":")) + "\n"


def _parse(text: str) -> Iterator[LoggedWrite | Problem]:
    for line in text.splitlines():
        kind, fields = json.loads(line)
        yield Problem(*fields) if kind == "problem" else LoggedWrite(*fields)
