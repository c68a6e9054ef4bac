"""Events among other text: one a line, with a logger's words around it, or inside a log's own JSON. Pure."""

import json
import re
from collections.abc import Iterator
from typing import Any, NamedTuple

from lineage_merge.model.elements import Problem
from lineage_merge.sources.openlineage.documents import Document, check, is_event

# The field that every event has; a line without it is another logger's.
_MARK = re.compile(r'\\?"eventTime\\?"\s*:')
_OPENING = re.compile(r"\{\s*\\?\"")
_DECODER = json.JSONDecoder()
# An object of a log has the event as a text in it: no deeper than this.
_DEEPEST = 3


class Event(NamedTuple):
    """One event that fits its schema, and the place it was found at."""

    place: str
    document: Document


def events_of_line(line: str, place: str) -> Iterator[Event | Problem]:
    """The events of one line, or what is wrong with it; nothing where it is another logger's."""
    text = line.strip().removeprefix("\ufeff")
    marks = len(_MARK.findall(text))
    if not marks:
        if text.startswith("{"):
            yield _unmarked(text, place)
        return
    found = list(_objects(text))
    if not found:
        yield Problem("rejected", place, "", "an event that is not whole JSON: the line is cut or damaged")
    for document in found:
        yield from checked(document, place)


def checked(document: object, place: str) -> Iterator[Event | Problem]:
    """A JSON value that should be an event, or several, or hold one as text."""
    events = list(_inside(document, _DEEPEST))
    if not events:
        yield Problem("rejected", place, "", "not an OpenLineage event")
    for event in events:
        problem = check(event, place)
        yield problem or Event(place, event)


def _unmarked(text: str, place: str) -> Problem:
    try:
        document = json.loads(text)
    except (ValueError, RecursionError):
        return Problem("rejected", place, "", "not JSON")
    if is_event(document):
        return Problem("rejected", place, "eventTime", "is missing")
    return Problem("skipped", place, "", "not an OpenLineage event")


def _objects(text: str) -> Iterator[Any]:
    """The JSON objects and arrays of a line that have an event's field in them."""
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
                for found in _objects(each):
                    yield from _inside(found, depth - 1)
