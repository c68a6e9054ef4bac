"""OpenLineage event files, local or in S3, read in slices by Spark's workers.

Lines (also of logs), optionally compressed with gzip; a ``.json`` file may also be an array or one event over
several lines.
"""

import json
from collections.abc import Iterable, Iterator
from pathlib import PurePosixPath

from lineage_merge.infra.storage import Slice, StoredFile, read_text
from lineage_merge.model.elements import Problem
from lineage_merge.model.errors import SourceMissing
from lineage_merge.sources import line_files
from lineage_merge.sources.openlineage.lines import Event, checked, events_of_line
from lineage_merge.sources.openlineage.settings import OpenLineage

# Files without events that are found in the same folders.
_NO_EVENTS = (".parquet", ".md", ".py", ".jar", ".crc", ".zip", ".tmp")

# A larger .json file is tested as lines.
_MAX_JSON_BYTES = 4 << 20


def find(locations: Iterable[str]) -> list[Slice]:
    """List the files at locations (a file, a folder or a prefix), cut into slices.

    Raises `SourceMissing` for a location without files.
    """
    return line_files.find(locations, _may_hold_events, _may_be_array)


def preflight(settings: OpenLineage) -> None:
    """Check that the locations have files, with one listing. Raises `SourceError`."""
    find(settings.events)


def size(settings: OpenLineage) -> int | None:
    """Return the stored bytes of the files, None with a Kafka topic. Raises `SourceError`."""
    return None if settings.kafka else line_files.stored_bytes(find(settings.events))


def find_any(folder: str) -> list[Slice]:
    """Return the slices of a folder, which may be empty."""
    try:
        return find([folder])
    except SourceMissing:
        return []


def _may_hold_events(location: str) -> bool:
    name = PurePosixPath(location).name.lower()
    return not name.startswith(("_", ".")) and not name.endswith(_NO_EVENTS)


def _may_be_array(location: str) -> bool:
    return location.endswith(".json")


def events(part: Slice) -> Iterator[Event | Problem]:
    """Yield the valid events of a slice, and problems with others."""
    is_lines = not _may_be_array(part.location.removesuffix(".gz"))
    return line_files.until_damage(_lines(part) if is_lines else _json_file(part))


def _lines(part: Slice) -> Iterator[Event | Problem]:
    for location, line in line_files.numbered(part):
        # Logs contain any bytes: invalid UTF-8 must not affect the events around it.
        yield from events_of_line(line.decode("utf-8", errors="replace"), location)


def _json_file(part: Slice) -> Iterator[Event | Problem]:
    text = read_text(part.location)
    try:
        documents = json.loads(text)
    except (ValueError, RecursionError):
        if text.lstrip().startswith("["):
            yield from _damaged_array(text, part.location)
            return
        for number, line in enumerate(text.split("\n"), 1):
            yield from events_of_line(line, f"{part.location}, line {number}")
        return
    if not isinstance(documents, list):
        yield from checked(documents, part.location)
        return
    for number, document in enumerate(documents, 1):
        yield from checked(document, f"{part.location}, element {number}")


def _damaged_array(text: str, file: str) -> Iterator[Event | Problem]:
    """Yield the elements of an array before the first malformed one."""
    decoder = json.JSONDecoder()
    position, number = text.index("[") + 1, 0
    while True:
        number += 1
        while position < len(text) and (text[position].isspace() or text[position] == ","):
            position += 1
        location = f"{file}, element {number}"
        try:
            document, position = decoder.raw_decode(text, position)
        except (ValueError, RecursionError):
            yield Problem("rejected", location, "", "not JSON; nothing after it can be read")
            return
        yield from checked(document, location)


def has_events(file: StoredFile) -> bool:
    """Return whether the beginning of a file contains events. Raises `SourceError`."""
    if file.location.removesuffix(".gz").endswith(".json") and file.size <= _MAX_JSON_BYTES:
        documents = events(Slice(file.location, 0, file.size))
    else:
        documents = (
            event
            for location, line in line_files.first_lines(file)
            for event in events_of_line(line.decode("utf-8", errors="replace"), location)
        )
    return any(isinstance(document, Event) for document in documents)
