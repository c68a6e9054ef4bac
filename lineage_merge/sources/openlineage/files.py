"""Files with OpenLineage's events, local or in S3, cut into slices for Spark's workers.

Lines (a log too), packed with gzip or not; a ``.json`` file may also be an array or one event
written over several lines.
"""

import json
from collections.abc import Iterable, Iterator
from pathlib import PurePosixPath

from lineage_merge.infra.storage import Slice, read_text
from lineage_merge.model.elements import Problem
from lineage_merge.model.errors import SourceMissing
from lineage_merge.sources import line_files
from lineage_merge.sources.openlineage.lines import Event, checked, events_of_line
from lineage_merge.sources.openlineage.settings import OpenLineage

# What stands beside events in folders, and never holds any.
_NO_EVENTS = (".parquet", ".md", ".py", ".jar", ".crc", ".zip", ".tmp")


def find(locations: Iterable[str]) -> list[Slice]:
    """The files at locations (a file, a folder or a prefix), cut into slices.

    Raises `SourceMissing` where a location has none.
    """
    return line_files.find(locations, _may_hold_events, _may_be_array)


def preflight(settings: OpenLineage) -> None:
    """Check that the locations have files, with one listing. Raises `SourceError`."""
    find(settings.events)


def size(settings: OpenLineage) -> int | None:
    """Return the stored bytes of the files, None with a Kafka topic. Raises `SourceError`."""
    return None if settings.kafka else line_files.stored_bytes(find(settings.events))


def find_any(folder: str) -> list[Slice]:
    """The same of a folder in which there may be nothing yet."""
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
    """The events of a slice, checked, and what is wrong with others."""
    is_lines = not _may_be_array(part.location.removesuffix(".gz"))
    return line_files.until_damage(_lines(part) if is_lines else _json_file(part))


def _lines(part: Slice) -> Iterator[Event | Problem]:
    for place, line in line_files.numbered(part):
        # A log may hold anything: what is not UTF-8 costs no event around it.
        yield from events_of_line(line.decode("utf-8", errors="replace"), place)


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


def _damaged_array(text: str, location: str) -> Iterator[Event | Problem]:
    """The elements of an array up to the one that is broken."""
    decoder = json.JSONDecoder()
    position, number = text.index("[") + 1, 0
    while True:
        number += 1
        while position < len(text) and (text[position].isspace() or text[position] == ","):
            position += 1
        place = f"{location}, element {number}"
        try:
            document, position = decoder.raw_decode(text, position)
        except (ValueError, RecursionError):
            yield Problem("rejected", place, "", "not JSON; nothing after it can be read")
            return
        yield from checked(document, place)
