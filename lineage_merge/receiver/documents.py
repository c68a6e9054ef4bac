"""Conversion of request bodies to lines of a file. Pure.

A document is stored as it was sent, on one line: numbers and field order are those of the sender. Anything
recognizable as a plan or an event is stored even if the merge will reject it for a field, because a merge can
be repeated and a lost document cannot be requested again.
"""

import json
import re
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from math import isfinite
from typing import Any, Literal, NamedTuple

from lineage_merge.model.errors import DocumentError
from lineage_merge.sources.kinds import array_line, is_openlineage_event

# The folder of the documents, and so the source that reads them.
Kind = Literal["spline", "openlineage"]
_CURRENT = "1.2"
_SPACE = " \t\r\n"
_SPACES = re.compile(r"[ \t\r\n]*")
# The separator between two elements, or the end of the array and text.
_BETWEEN = re.compile(r"[ \t\r\n]*(?:(\])\Z|,[ \t\r\n]*)")
_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")
# Text that may precede such an escape, or be one, without being half of a pair.
_NO_SURROGATE = re.compile(r"\\(?:\\|u[dD][89abAB]..\\u[dD][c-fC-F]..)")


class Taken(NamedTuple):
    """The documents of a request: lines with line feeds, their number, ids, and the count they are in."""

    counted: Literal["plans", "events", "openlineage"]
    lines: bytes
    documents: int
    ids: tuple[str, ...] = ()

    @property
    def kind(self) -> Kind:
        """Return the kind of the documents."""
        return "openlineage" if self.counted == "openlineage" else "spline"


Reader = Callable[[bytes], Taken]


def _finite(text: str) -> float:
    """Parse a number. Raises `DocumentError` for NaN and infinities, which JSON lacks and a merge rejects."""
    number = float(text)
    if not isfinite(number):
        raise DocumentError("the body", "", f"not JSON: {number} is no number")
    return number


_decoder = json.JSONDecoder(parse_float=_finite, parse_constant=_finite)


def plan(body: bytes, version: str) -> Taken:
    """Parse an execution plan of Spline's producer API. Raises `DocumentError`."""
    text = _text(body)
    document = _parse(text)
    if not isinstance(document, dict) or "operations" not in document:
        raise DocumentError("the body", "", "not an execution plan: expected an object with operations")
    _check_surrogates(text, "")
    key = document.get("id")
    if key is None:
        # Optional in the API: the server generates the id, and the sender's events refer to it.
        key = str(uuid.uuid4())
        text = json.dumps({**document, "id": key}, ensure_ascii=False)
    if not isinstance(key, str):
        raise DocumentError("the body", "id", "not a text")
    return Taken("plans", _spline_line("plan", text, version), 1, (key,))


def events(body: bytes, version: str) -> Taken:
    """Parse an array of execution events of Spline's producer API. Raises `DocumentError`."""
    lines, ids = [], []
    for number, (document, text) in enumerate(_elements(_text(body))):
        if not isinstance(document, dict) or not isinstance(document.get("planId"), str):
            raise DocumentError("the body", f"[{number}].planId", "missing, or not a string")
        if "timestamp" not in document:
            raise DocumentError("the body", f"[{number}].timestamp", "is missing")
        _check_surrogates(text, f"[{number}]")
        lines.append(_spline_line("event", text, version))
        ids.append(document["planId"])
    return Taken("events", b"".join(lines), len(lines), tuple(ids))


def openlineage(body: bytes) -> Taken:
    """Parse one OpenLineage event. Raises `DocumentError`."""
    text = _text(body)
    return Taken("openlineage", _openlineage_line(_parse(text), text, ""), 1)


def openlineage_batch(body: bytes) -> Taken:
    """Parse an array of OpenLineage events. Raises `DocumentError`."""
    lines = [
        _openlineage_line(document, text, f"[{number}]")
        for number, (document, text) in enumerate(_elements(_text(body)))
    ]
    return Taken("openlineage", b"".join(lines), len(lines))


def recognize(body: bytes) -> Taken:
    """Parse the body of any of these requests, recognized by its contents. Raises `DocumentError`."""
    document = _parse(_text(body))
    first = document[0] if isinstance(document, list) and document else document
    if is_openlineage_event(first):
        return openlineage(body) if first is document else openlineage_batch(body)
    if isinstance(document, list):
        return events(body, _CURRENT)
    if isinstance(document, dict) and "operations" in document:
        return plan(body, _CURRENT)
    problem = "neither an execution plan, an array of its events, nor an OpenLineage event"
    raise DocumentError("the body", "", problem)


def _text(body: bytes) -> str:
    try:
        return body.decode("utf-8-sig").strip(_SPACE)
    except UnicodeDecodeError as error:
        raise DocumentError("the body", "", f"not UTF-8 text (byte {error.start})") from None


def _parse(text: str) -> Any:
    try:
        return _decoder.decode(text)
    except (ValueError, RecursionError) as error:
        raise _explain(error) from None


def _elements(text: str) -> Iterator[tuple[Any, str]]:
    """Yield the elements of an array, each with its text. The remaining text is never copied."""
    if not text.startswith("["):
        _parse(text)
        raise DocumentError("the body", "", "not an array")
    position = _past_space(text, 1)
    if text.endswith("]") and position == len(text) - 1:
        return
    while True:
        try:
            document, end = _decoder.raw_decode(text, position)
        except (ValueError, RecursionError) as error:
            raise _explain(error) from None
        yield document, text[position:end]
        between = _BETWEEN.match(text, end)
        if between is None:
            problem = f"not JSON: no comma or end of the array at character {_past_space(text, end)}"
            raise DocumentError("the body", "", problem)
        if between[1]:
            return
        position = between.end()


def _past_space(text: str, position: int) -> int:
    match = _SPACES.match(text, position)
    return match.end() if match else position


def _check_surrogates(text: str, field: str) -> None:
    """Reject lone surrogates, which JSON can escape but UTF-8 cannot encode.

    Checked in the text, not in the parsed values, where a duplicate key hides all but its last value. Raises
    `DocumentError`.
    """
    if _SURROGATE.search(text) and _SURROGATE.search(_NO_SURROGATE.sub(" ", text)):
        raise DocumentError("the body", field, "a string has a lone surrogate")


def _explain(error: Exception) -> DocumentError:
    if isinstance(error, json.JSONDecodeError):
        return DocumentError("the body", "", f"not JSON: {error.msg} at character {error.pos}")
    if isinstance(error, RecursionError):
        return DocumentError("the body", "", "nested too deeply")
    return DocumentError("the body", "", "not JSON: a number with too many digits")


def _spline_line(kind: str, text: str, version: str) -> bytes:
    explicit_version = "" if version == _CURRENT else version
    return array_line(kind, _one_line(text).encode(), explicit_version) + b"\n"


def _openlineage_line(document: object, text: str, field: str) -> bytes:
    if not is_openlineage_event(document):
        problem = "not an OpenLineage event: expected eventTime and a run, job or dataset"
        raise DocumentError("the body", field, problem)
    _check_surrogates(text, field)
    return _one_line(text).encode() + b"\n"


def _one_line(text: str) -> str:
    # JSON has line breaks only between tokens: in strings they are escaped.
    return text.replace("\r", " ").replace("\n", " ")


@dataclass(slots=True)
class ReceivedCounts:
    """Counts since the start. `taken_bytes`: uncompressed bytes in the files."""

    plans: int = 0
    events: int = 0
    openlineage: int = 0
    taken_bytes: int = 0
    requests: int = 0
    refused: int = 0
    not_stored: int = 0

    def add(self, taken: Taken) -> None:
        """Count a request whose documents are stored."""
        self.requests += 1
        self.taken_bytes += len(taken.lines)
        setattr(self, taken.counted, getattr(self, taken.counted) + taken.documents)

    def __str__(self) -> str:
        text = (
            f"received {_count(self.plans, 'plan')}, {_count(self.events, 'event')}, "
            f"{_count(self.openlineage, 'OpenLineage event')}: {self.taken_bytes:,} bytes"
        )
        text += f"; rejected {_count(self.refused, 'request')}" if self.refused else ""
        return text + (f"; could not store {self.not_stored:,}" if self.not_stored else "")


def _count(number: int, what: str) -> str:
    return f"{number:,} {what}{'s' * (number != 1)}"
