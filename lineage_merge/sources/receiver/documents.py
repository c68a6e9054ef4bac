"""What a request holds, as lines of a file. Pure.

A document is kept as it was sent, on one line: numbers and the order of fields are the sender's. What is
recognisably a plan or an event is kept even if the merge will reject it for a field, because a merge can be
run again and a lost document cannot be asked for.
"""

import json
import re
import uuid
from collections.abc import Callable, Iterator
from typing import Any, Literal, NamedTuple

from lineage_merge.model.errors import DocumentError
from lineage_merge.sources.openlineage.documents import is_event
from lineage_merge.sources.spline.agent.array_line import array_line

Kind = Literal["plan", "event", "openlineage"]

_CURRENT = "1.2"
_SPACE = " \t\r\n"
_SPACES = re.compile(r"[ \t\r\n]*")
# What comes between two elements, or ends the array and with it the text.
_BETWEEN = re.compile(r"[ \t\r\n]*(?:(\])\Z|,[ \t\r\n]*)")
_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")
# What may stand before such an escape, or be one, without being half of a pair.
_NO_SURROGATE = re.compile(r"\\(?:\\|u[dD][89abAB]..\\u[dD][c-fC-F]..)")

_decoder = json.JSONDecoder()


class Taken(NamedTuple):
    """What a request held: lines with their line feeds, how many documents, and their ids."""

    kind: Kind
    lines: bytes
    documents: int
    ids: tuple[str, ...] = ()


Reader = Callable[[bytes], Taken]


def plan(body: bytes, version: str) -> Taken:
    """An execution plan of Spline's producer API. Raises `DocumentError`."""
    text = _text(body)
    found = _parsed(text)
    if not isinstance(found, dict) or "operations" not in found:
        raise DocumentError("the body", "", "not an execution plan: an object with operations is expected")
    _check_surrogates(text, "")
    key = found.get("id")
    if key is None:
        # The API allows it: the server gives the id, and the sender's events name it.
        key = str(uuid.uuid4())
        text = json.dumps({**found, "id": key}, ensure_ascii=False)
    if not isinstance(key, str):
        raise DocumentError("the body", "id", "not a text")
    return Taken("plan", _spline_line("plan", text, version), 1, (key,))


def events(body: bytes, version: str) -> Taken:
    """Execution events of Spline's producer API: an array of them. Raises `DocumentError`."""
    lines, ids = [], []
    for number, (found, text) in enumerate(_elements(_text(body))):
        if not isinstance(found, dict) or not isinstance(found.get("planId"), str):
            raise DocumentError("the body", f"[{number}].planId", "is missing, or not a text")
        if "timestamp" not in found:
            raise DocumentError("the body", f"[{number}].timestamp", "is missing")
        _check_surrogates(text, f"[{number}]")
        lines.append(_spline_line("event", text, version))
        ids.append(found["planId"])
    return Taken("event", b"".join(lines), len(lines), tuple(ids))


def openlineage(body: bytes) -> Taken:
    """One event of OpenLineage. Raises `DocumentError`."""
    text = _text(body)
    return Taken("openlineage", _openlineage_line(_parsed(text), text, ""), 1)


def openlineage_batch(body: bytes) -> Taken:
    """An array of OpenLineage's events. Raises `DocumentError`."""
    lines = [
        _openlineage_line(found, text, f"[{number}]")
        for number, (found, text) in enumerate(_elements(_text(body)))
    ]
    return Taken("openlineage", b"".join(lines), len(lines))


def _text(body: bytes) -> str:
    try:
        return body.decode("utf-8-sig").strip(_SPACE)
    except UnicodeDecodeError as error:
        raise DocumentError("the body", "", f"not UTF-8 text (byte {error.start})") from None


def _parsed(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise _broken(error) from None


def _elements(text: str) -> Iterator[tuple[Any, str]]:
    """Yield the elements of an array, each with its own text. The rest of the text is never copied."""
    if not text.startswith("["):
        _parsed(text)
        raise DocumentError("the body", "", "not an array")
    position = _past_space(text, 1)
    if text.endswith("]") and position == len(text) - 1:
        return
    while True:
        try:
            found, end = _decoder.raw_decode(text, position)
        except (ValueError, RecursionError) as error:
            raise _broken(error) from None
        yield found, text[position:end]
        between = _BETWEEN.match(text, end)
        if between is None:
            problem = f"not JSON: no comma or end of the array at character {_past_space(text, end)}"
            raise DocumentError("the body", "", problem)
        if between[1]:
            return
        position = between.end()


def _past_space(text: str, position: int) -> int:
    found = _SPACES.match(text, position)
    return found.end() if found else position


def _check_surrogates(text: str, field: str) -> None:
    """Refuse half of a surrogate pair, which JSON can escape but no UTF-8 answer or file can hold.

    Checked in the text, not in the parsed values, where a repeated key hides all but its last value.
    Raises `DocumentError`.
    """
    if _SURROGATE.search(text) and _SURROGATE.search(_NO_SURROGATE.sub(" ", text)):
        raise DocumentError("the body", field, "a text has half of a surrogate pair")


def _broken(error: Exception) -> DocumentError:
    if isinstance(error, json.JSONDecodeError):
        return DocumentError("the body", "", f"not JSON: {error.msg} at character {error.pos}")
    if isinstance(error, RecursionError):
        return DocumentError("the body", "", "nested too deeply")
    return DocumentError("the body", "", "not JSON: a number with too many digits")


def _spline_line(kind: str, text: str, version: str) -> bytes:
    told = "" if version == _CURRENT else version
    return array_line(kind, _one_line(text).encode(), told) + b"\n"


def _openlineage_line(found: object, text: str, field: str) -> bytes:
    if not is_event(found):
        problem = "not an OpenLineage event: eventTime and a run, job or dataset are expected"
        raise DocumentError("the body", field, problem)
    _check_surrogates(text, field)
    return _one_line(text).encode() + b"\n"


def _one_line(text: str) -> str:
    # JSON has line ends between its tokens only: inside a text they are escaped.
    return text.replace("\r", " ").replace("\n", " ")
