"""OpenLineage events in files, local or in S3, read in slices by Spark's workers.

Lines (also of logs: an event follows a logger's prefix, or is in a structured entry), optionally compressed
with gzip; a ``.json`` file may also be an array or one event over several lines.
"""

import json
import re
from collections.abc import Iterable, Iterator
from pathlib import PurePosixPath
from typing import Any, NamedTuple

from lineage_merge.infra.storage import Slice, StoredFile, read_text
from lineage_merge.model.elements import Problem
from lineage_merge.sources import document_kind, line_files
from lineage_merge.sources.kinds import is_openlineage_event
from lineage_merge.sources.openlineage.documents import Document, check
from lineage_merge.sources.openlineage.settings import EVENTS

# Every event has this field; lines without it belong to other loggers.
_MARK = re.compile(r'\\?"eventTime\\?"\s*:')
_OPENING = re.compile(r"\{\s*\\?\"")
_DECODER = json.JSONDecoder()
# Maximum nesting of an event's text in a structured log entry.
_MAX_NESTING = 3


class Event(NamedTuple):
    """One valid event and where it was found."""

    location: str
    document: Document


def events_of_line(line: str, location: str) -> Iterator[Event | Problem]:
    """Yield the events of one line, or problems; nothing for other loggers' lines."""
    text = line.strip().removeprefix("\ufeff")
    marks = len(_MARK.findall(text))
    if not marks:
        if text.startswith("{"):
            yield _report_unmarked(text, location)
        return
    objects = list(_objects(text))
    if not objects:
        yield Problem("rejected", location, "", "incomplete JSON of an event: truncated or damaged line")
    for document in objects:
        yield from check_events(document, location)


def check_events(document: object, location: str) -> Iterator[Event | Problem]:
    """Validate a JSON value that is an event, a list of events, or contains one as text."""
    events = list(_find_inside(document, _MAX_NESTING))
    if not events:
        yield Problem("rejected", location, "", _not_an_event(document))
    for event in events:
        problem = check(event, location)
        yield problem or Event(location, event)


def events_of_body(body: bytes, location: str) -> Iterator[Event | Problem]:
    """Yield the events of a document that a service stores as an event; anything else is a problem."""
    try:
        document = json.loads(body.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        yield Problem("rejected", location, "", f"not UTF-8 text (byte {error.start})")
    except (ValueError, RecursionError):
        yield Problem("rejected", location, "", "not JSON")
    else:
        yield from check_events(document, location)


def _report_unmarked(text: str, location: str) -> Problem:
    try:
        document = json.loads(text)
    except (ValueError, RecursionError):
        return Problem("rejected", location, "", "not JSON")
    if is_openlineage_event(document):
        return Problem("rejected", location, "eventTime", "is missing")
    return Problem("skipped", location, "", _not_an_event(document))


def _not_an_event(document: object) -> str:
    kind = document_kind.recognize_document(document)
    is_other = kind is not None and kind is not EVENTS
    return f"not an OpenLineage event, but {kind}" if is_other else "not an OpenLineage event"


def _objects(text: str) -> Iterator[Any]:
    """Yield the JSON objects and arrays of a line that contain an event's field."""
    position = read = 0
    while mark := _MARK.search(text, position):
        position = mark.end()
        # After the last object: Firehose joins thousands of events in one line.
        for opening in _OPENING.finditer(text, read, mark.start() + 1):
            try:
                document, end = _DECODER.raw_decode(text, opening.start())
            except (ValueError, RecursionError):
                continue
            if end > mark.start():
                yield document
                position = read = max(position, end)
                break


def _find_inside(document: object, depth: int) -> Iterator[Document]:
    if is_openlineage_event(document) and isinstance(document, dict):
        yield document
    elif isinstance(document, list):
        for item in document:
            yield from _find_inside(item, depth)
    elif isinstance(document, dict) and depth:
        for value in document.values():
            if isinstance(value, dict):
                yield from _find_inside(value, depth - 1)
            elif isinstance(value, str) and _MARK.search(value):
                for object_ in _objects(value):
                    yield from _find_inside(object_, depth - 1)


# The replacement of invalid UTF-8, in JSON.
_REPLACED = "\\ufffd"
# Files without events that are found in the same folders.
_NO_EVENTS = (".parquet", ".md", ".py", ".jar", ".crc", ".zip", ".tmp")

# A larger .json file is tested as lines.
_MAX_JSON_BYTES = 4 << 20


def find(locations: Iterable[str]) -> list[Slice]:
    """List the files at locations (a file, a folder or a prefix), cut into slices.

    Raises `SourceMissing` for a location without files.
    """
    return line_files.find(locations, _may_hold_events, _may_be_array)


def _may_hold_events(location: str) -> bool:
    name = PurePosixPath(location).name.lower()
    return not name.startswith(("_", ".")) and not name.endswith(_NO_EVENTS)


def _may_be_array(location: str) -> bool:
    return location.endswith(".json")


def events(part: Slice) -> Iterator[Event | Problem]:
    """Yield the valid events of a slice, and problems with others."""
    is_lines = not _may_be_array(part.location.removesuffix(".gz"))
    return line_files.stop_at_damage(_lines(part) if is_lines else _json_file(part))


def _lines(part: Slice) -> Iterator[Event | Problem]:
    for location, line in line_files.number_lines(part):
        # Logs contain any bytes: invalid UTF-8 must not affect the events around it.
        try:
            text, at = line.decode("utf-8"), -1
        except UnicodeDecodeError as error:
            text, at = line.decode("utf-8", errors="replace"), error.start
        for found in events_of_line(text, location):
            if at >= 0 and isinstance(found, Event) and _REPLACED in json.dumps(found.document):
                yield Problem("rejected", location, "", f"not UTF-8 text (byte {at} of the line)")
            else:
                yield found


def _json_file(part: Slice) -> Iterator[Event | Problem]:
    text = read_text(part.location)
    try:
        documents = json.loads(text)
    except (ValueError, RecursionError):
        if text.lstrip().startswith("["):
            yield from _read_damaged_array(text, part.location)
            return
        for number, line in enumerate(text.split("\n"), 1):
            yield from events_of_line(line, f"{part.location}, line {number}")
        return
    if not isinstance(documents, list):
        yield from check_events(documents, part.location)
        return
    for number, document in enumerate(documents, 1):
        yield from check_events(document, f"{part.location}, element {number}")


def _read_damaged_array(text: str, file: str) -> Iterator[Event | Problem]:
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
        yield from check_events(document, location)


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
