"""Lines of a log into the JSON documents of lineage hooks, and what is damaged of them. Pure.

A lineage line may be bare JSON, or stand behind a logger's words in whichever layout; among lines of
other loggers and stack traces, which are passed over. A hook that writes JSON over several lines, as
Hive's did at first, is read too.
"""

import json
import re
from collections.abc import Iterable, Iterator
from itertools import chain
from typing import Any, NamedTuple

from lineage_merge.infra.storage import MAX_LINE_BYTES
from lineage_merge.model.elements import Problem

# Fields that only lineage has. The rest of a line that was cut at its beginning still has them.
_OF_LINEAGE = re.compile(rb'\\?"(?:edges|edgeType|vertexType|vertexId)\\?"\s*:')
_LOGGER = rb"\bLineageLogger(?:\s\([^()]*\))?(?::|\s-)\s*"
_BY_LINEAGE_LOGGER = re.compile(_LOGGER + rb"(?:POSTHOOK: LINEAGE: )?(?:\{.*)?$")
# How a lineage document begins, however early it was cut: by its first field, or by who wrote it.
_BEGINS = re.compile(
    rb'\{\s*"(?:version"\s*:\s*"1\.0"|queryText"\s*:|edges"\s*:)'
    rb'|\bhooks?\.\w+(?:\s\([^()]*\))?(?::|\s-)\s*(?:POSTHOOK: LINEAGE: )?\{(?:\s*"[^{}]{0,20})?\s*$'
    rb"|" + _BY_LINEAGE_LOGGER.pattern
)
_OPENING = re.compile(r"\{\s*\"|\{\s*$")
# A document over several lines: the hook's line ends where it opens, further ones are indented.
_OPENS = re.compile(rb"(?:\bhooks?\.\w+.*|LINEAGE: |^)\{\s*$")
_GOES_ON = re.compile(rb"[ \t]+\S|\}\s*$")
_ENDS = re.compile(rb"\}\s*$")
_ONE_FIELD = re.compile(rb'\s+"\w+"\s*:\s*(?:"(?:[^"\\]|\\.)*"|\[|[\d.]+)\s*,?\s*$')
_TIME = re.compile(r"(\d{4}-\d\d-\d\d)[T ](\d\d:\d\d:\d\d)")
_DECODER = json.JSONDecoder()
# What a line of a document takes in memory beside its text.
_PART_BYTES = 50
# A log whose lines are JSON itself has the message as a text in one of these.
_MESSAGES = ("message", "log", "msg")


class Found(NamedTuple):
    """A document that looks like lineage, its place, and the time that stands before it ("": none)."""

    place: str
    document: dict[str, Any]
    logged_at: str = ""


def documents(lines: Iterable[tuple[str, bytes]], behind: Iterable[bytes] = ()) -> Iterator[Found | Problem]:
    """The lineage of numbered lines (place, line), not checked yet.

    `behind` are the lines after these, which end a document that began in them; they are only
    taken when they are needed.
    """
    numbered = iter(lines)
    waiting: tuple[str, bytes] | None = None
    while found := waiting or next(numbered, None):
        place, line = found
        waiting = None
        if _OPENS.search(line):
            following = chain(numbered, (("", further) for further in behind))
            line, waiting = _over_lines(line, following)
        yield from _of_line(place, line)


def _over_lines(
    first: bytes, following: Iterator[tuple[str, bytes]]
) -> tuple[bytes, tuple[str, bytes] | None]:
    """A document that was written over several lines as one, and the line that already is another's."""
    parts = [first.strip()]
    size = len(parts[0])
    other = None
    for place, line in following:
        if not _GOES_ON.match(line):
            # It was cut. What is behind the slice belongs to the next one.
            other = (place, line) if place else None
            break
        parts.append(line.strip())
        size += len(parts[-1]) + _PART_BYTES
        if _ENDS.match(line) or size > MAX_LINE_BYTES:
            break
    return b" ".join(parts), other


def _of_line(place: str, line: bytes) -> Iterator[Found | Problem]:
    # A line of a document whose beginning belongs to the slice before.
    if _ONE_FIELD.match(line):
        return
    line = line.strip()
    is_begun = _BEGINS.search(line) is not None
    if not (is_begun or _OF_LINEAGE.search(line)):
        return
    try:
        text = line.decode("utf-8")
    except UnicodeDecodeError as error:
        yield _damaged(place, f"not UTF-8 text (byte {error.start} of the line)")
        return
    time = _TIME.search(text[:40])
    yield from _of_text(place, text, f"{time[1]}T{time[2]}" if time else "", is_begun=is_begun)


def _of_text(place: str, text: str, logged_at: str, *, is_begun: bool) -> Iterator[Found | Problem]:
    position, is_found, outside = 0, False, ""
    while opening := _OPENING.search(text, position):
        outside += text[position : opening.start()]
        try:
            document, position = _DECODER.raw_decode(text, opening.start())
        except (ValueError, RecursionError) as error:
            yield _damaged(place, _reason(error))
            return
        if not isinstance(document, dict):
            continue
        if "edges" in document or "vertices" in document:
            is_found = True
            yield Found(place, document, logged_at)
            continue
        for name in _MESSAGES:
            message = document.get(name)
            if isinstance(message, str) and _OF_LINEAGE.search(_bytes(message)):
                is_found = True
                yield from _of_text(place, message.strip(), logged_at, is_begun=True)
    outside += text[position:]
    if is_found:
        return
    if _OF_LINEAGE.search(_bytes(outside)):
        yield _damaged(place, "its beginning is missing")
    elif _BY_LINEAGE_LOGGER.search(_bytes(text)):
        yield _damaged(place, "it holds no edges" if position else "it holds no JSON")
    elif is_begun and not position:
        yield _damaged(place, "it holds no JSON")


def _bytes(text: str) -> bytes:
    # JSON may hold half of a character, which UTF-8 has no bytes for.
    return text.encode(errors="replace")


def _reason(error: Exception) -> str:
    if isinstance(error, json.JSONDecodeError):
        return f"not JSON ({error.msg} at character {error.pos + 1} of the line)"
    return "nested too deeply" if isinstance(error, RecursionError) else "not JSON"


def _damaged(place: str, reason: str) -> Problem:
    return Problem("rejected", place, "", f"a damaged lineage line: {reason}")
