"""Extraction of lineage documents (JSON) from log lines, and of their damage. Pure.

A lineage line is plain JSON, or JSON after a logger's prefix of any layout. Lines of other loggers and stack
traces are skipped. JSON over several lines, as early versions of Hive's hook write it, is read too.
"""

import json
import re
from collections.abc import Iterable, Iterator
from itertools import chain
from typing import Any, NamedTuple

from lineage_merge.infra.storage import MAX_LINE_BYTES
from lineage_merge.model.elements import Problem

# Fields that only lineage documents have: they identify the rest of a line whose beginning is missing.
_OF_LINEAGE = re.compile(rb'\\?"(?:edges|edgeType|vertexType|vertexId)\\?"\s*:')
_LOGGER = rb"\bLineageLogger(?:\s\([^()]*\))?(?::|\s-)\s*"
_BY_LINEAGE_LOGGER = re.compile(_LOGGER + rb"(?:POSTHOOK: LINEAGE: )?(?:\{.*)?$")
# The beginning of a lineage document, even if truncated: its first field, or the logger that wrote it.
_BEGINS = re.compile(
    rb'\{\s*"(?:version"\s*:\s*"1\.0"|queryText"\s*:|edges"\s*:)'
    rb'|\bhooks?\.\w+(?:\s\([^()]*\))?(?::|\s-)\s*(?:POSTHOOK: LINEAGE: )?\{(?:\s*"[^{}]{0,20})?\s*$'
    rb"|" + _BY_LINEAGE_LOGGER.pattern
)
_OPENING = re.compile(r"\{\s*\"|\{\s*$")
# A document over several lines: the hook's line ends with the opening brace, further lines are indented.
_OPENS = re.compile(rb"(?:\bhooks?\.\w+.*|LINEAGE: |^)\{\s*$")
_CONTINUATION = re.compile(rb"[ \t]+\S|\}\s*$")
_ENDS = re.compile(rb"\}\s*$")
_ONE_FIELD = re.compile(rb'\s+"\w+"\s*:\s*(?:"(?:[^"\\]|\\.)*"|\[|[\d.]+)\s*,?\s*$')
_TIME = re.compile(r"(\d{4}-\d\d-\d\d)[T ](\d\d:\d\d:\d\d)")
_DECODER = json.JSONDecoder()
# Memory overhead per line of a document.
_PART_BYTES = 50
# Structured logs (JSON lines) have the message in one of these fields.
_MESSAGES = ("message", "log", "msg")


class Found(NamedTuple):
    """A document that looks like lineage, its location, and the time in the line's prefix ("": none)."""

    location: str
    document: dict[str, Any]
    logged_at: str = ""


def documents(
    lines: Iterable[tuple[str, bytes]], following_lines: Iterable[bytes] = ()
) -> Iterator[Found | Problem]:
    """Yield the lineage documents of numbered lines (location, line), not validated.

    `following_lines` are the lines after these, read only to complete a document that began in them.
    """
    numbered = iter(lines)
    waiting: tuple[str, bytes] | None = None
    while numbered_line := waiting or next(numbered, None):
        location, line = numbered_line
        waiting = None
        if _OPENS.search(line):
            following = chain(numbered, (("", further) for further in following_lines))
            line, waiting = _join_lines(line, following)
        yield from _read_line(location, line)


def _join_lines(
    first: bytes, following: Iterator[tuple[str, bytes]]
) -> tuple[bytes, tuple[str, bytes] | None]:
    """Join a document written over several lines; also return the line that belongs to the next one."""
    parts = [first.strip()]
    size = len(parts[0])
    other = None
    for location, line in following:
        if not _CONTINUATION.match(line):
            # Truncated. What follows the slice belongs to the next one.
            other = (location, line) if location else None
            break
        parts.append(line.strip())
        size += len(parts[-1]) + _PART_BYTES
        if _ENDS.match(line) or size > MAX_LINE_BYTES:
            break
    return b" ".join(parts), other


def _read_line(location: str, line: bytes) -> Iterator[Found | Problem]:
    # Belongs to a document that begins in the previous slice.
    if _ONE_FIELD.match(line):
        return
    line = line.strip()
    is_begun = _BEGINS.search(line) is not None
    if not (is_begun or _OF_LINEAGE.search(line)):
        return
    try:
        text = line.decode("utf-8")
    except UnicodeDecodeError as error:
        yield _report_damage(location, f"not UTF-8 text (byte {error.start} of the line)")
        return
    time = _TIME.search(text[:40])
    yield from _read_text(location, text, f"{time[1]}T{time[2]}" if time else "", is_begun=is_begun)


def _read_text(location: str, text: str, logged_at: str, *, is_begun: bool) -> Iterator[Found | Problem]:
    position, is_found, outside = 0, False, ""
    while opening := _OPENING.search(text, position):
        outside += text[position : opening.start()]
        try:
            document, position = _DECODER.raw_decode(text, opening.start())
        except (ValueError, RecursionError) as error:
            yield _report_damage(location, _reason(error))
            return
        if not isinstance(document, dict):
            continue
        if "edges" in document or "vertices" in document:
            is_found = True
            yield Found(location, document, logged_at)
            continue
        for name in _MESSAGES:
            message = document.get(name)
            if isinstance(message, str) and _OF_LINEAGE.search(_bytes(message)):
                is_found = True
                yield from _read_text(location, message.strip(), logged_at, is_begun=True)
    outside += text[position:]
    if is_found:
        return
    if _OF_LINEAGE.search(_bytes(outside)):
        yield _report_damage(location, "its beginning is missing")
    elif _BY_LINEAGE_LOGGER.search(_bytes(text)):
        yield _report_damage(location, "no edges" if position else "no JSON")
    elif is_begun and not position:
        yield _report_damage(location, "no JSON")


def _bytes(text: str) -> bytes:
    # JSON may contain a lone surrogate, which UTF-8 cannot encode.
    return text.encode(errors="replace")


def _reason(error: Exception) -> str:
    if isinstance(error, json.JSONDecodeError):
        return f"not JSON ({error.msg} at character {error.pos + 1} of the line)"
    return "nested too deeply" if isinstance(error, RecursionError) else "not JSON"


def _report_damage(location: str, reason: str) -> Problem:
    return Problem("rejected", location, "", f"damaged lineage line: {reason}")
