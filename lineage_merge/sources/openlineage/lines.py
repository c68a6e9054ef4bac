"""Extraction of events from text: one per line, after a logger's prefix, or in a structured entry. Pure."""

import json
import re
from collections.abc import Iterator
from typing import Any, NamedTuple

from lineage_merge.model.elements import Problem
from lineage_merge.sources import document_kind
from lineage_merge.sources.openlineage.documents import Document, check, is_event
from lineage_merge.sources.openlineage.source import EVENTS

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
            yield _unmarked(text, location)
        return
    objects = list(_objects(text))
    if not objects:
        yield Problem("rejected", location, "", "incomplete JSON of an event: truncated or damaged line")
    for document in objects:
        yield from checked(document, location)


def checked(document: object, location: str) -> Iterator[Event | Problem]:
    """Validate a JSON value that is an event, a list of events, or contains one as text."""
    events = list(_inside(document, _MAX_NESTING))
    if not events:
        yield Problem("rejected", location, "", _not_an_event(document))
    for event in events:
        problem = check(event, location)
        yield problem or Event(location, event)


def _unmarked(text: str, location: str) -> Problem:
    try:
        document = json.loads(text)
    except (ValueError, RecursionError):
        return Problem("rejected", location, "", "not JSON")
    if is_event(document):
        return Problem("rejected", location, "eventTime", "is missing")
    return Problem("skipped", location, "", _not_an_event(document))


def _not_an_event(document: object) -> str:
    found = document_kind.of_document(document)
    is_other = found is not None and found is not EVENTS
    return f"not an OpenLineage event, but {found}" if is_other else "not an OpenLineage event"


def _objects(text: str) -> Iterator[Any]:
    """Yield the JSON objects and arrays of a line that contain an event's field."""
    position = 0
    while mark := _MARK.search(text, position):
        position = mark.end()
        for opening in _OPENING.finditer(text, 0, mark.start() + 1):
            try:
                document, end = _DECODER.raw_decode(text, opening.start())
            except (ValueError, RecursionError):
                continue
            if end > mark.start():
                yield document
                position = max(position, end)
                break


def _inside(document: object, depth: int) -> Iterator[Document]:
    if is_event(document) and isinstance(document, dict):
        yield document
    elif isinstance(document, list):
        for each in document:
            yield from _inside(each, depth)
    elif isinstance(document, dict) and depth:
        for each in document.values():
            if isinstance(each, dict):
                yield from _inside(each, depth - 1)
            elif isinstance(each, str) and _MARK.search(each):
                for object_ in _objects(each):
                    yield from _inside(object_, depth - 1)
