"""Plans and events in the lines of a log. Pure.

Agents before 1.0.3 write ``["plan", {...}]`` and ``["event", {...}]``; later ones a line ``ExecutionPlan
(apiVersion: 1.2):`` and the JSON on the next line. Both may follow any logger's prefix, between lines of
other loggers. Bodies of HTTP requests and Kafka records are plain JSON, events possibly in an array; the
agent's HDFS dispatcher writes a plan and its event in one object; log collectors wrap a line into their own
JSON.
"""

import json
import re
from collections.abc import Iterable, Iterator
from typing import Any, Literal, NamedTuple

Kind = Literal["plan", "event"]

# Required in a line to be parsed: most lines of a log belong to other loggers.
_MAYBE = re.compile(
    rb'"plan\\?"|"event\\?"|planId|operations\\?"|Execution(?:Plan|Event) \(apiVersion|"executionPlan"'
)
_ARRAY = re.compile(r'\[\s*"(?P<kind>plan|event)"\s*,')
_NAMED = re.compile(r"Execution(?:Plan|Event) \(apiVersion: (?P<version>[\w.+-]+)\):")
# The beginning of the agent's own JSON, to recognize truncated documents.
_START_OF_JSON = re.compile(
    r'(?:\[\s*)?\{\s*"(?:planId"\s*:|executionPlan"\s*:|id"\s*:\s*"[0-9A-Fa-f-]{36}"\s*,)'
)
_EVENT = frozenset({"planId", "timestamp"})
_PLAN = frozenset({"id", "operations"})
_OPENING = re.compile(r"[\[{]")
_MAX_OPENINGS = 20
# The fields in which collectors store the line: Docker and Fluent Bit, Logstash and CloudWatch, Google Cloud.
_WRAPPED = ("log", "message", "msg", "textPayload")

_decoder = json.JSONDecoder()


class Message(NamedTuple):
    """A plan or an event: its JSON, and the version of the producer API if the line has it."""

    location: str
    kind: Kind
    body: Any
    version: str = ""


class Malformed(NamedTuple):
    """A malformed plan or event, and what is wrong."""

    location: str
    reason: str


def messages(lines: Iterable[tuple[str, bytes]]) -> Iterator[Message | Malformed]:
    """Yield the plans and events of numbered lines, in order."""
    version = ""
    for location, line in lines:
        if not _MAYBE.search(line):
            # Of another logger, or nothing followed the agent's announcement.
            version = version if not line.strip() else ""
            continue
        try:
            text = line.decode("utf-8")
        except UnicodeDecodeError as error:
            yield Malformed(location, f"not UTF-8 text (byte {error.start} of the line)")
            continue
        announced = _NAMED.search(text)
        if announced:
            version = announced["version"]
            if not text[announced.end() :].strip():
                continue
        found = list(_in_line(location, text))
        for each in found:
            yield each._replace(version=each.version or version) if isinstance(each, Message) else each
        version = ""


def _in_line(location: str, text: str) -> Iterator[Message | Malformed]:
    arrays = list(_arrays(location, text))
    if arrays:
        yield from arrays
        return
    begins = _START_OF_JSON.search(text)
    openings = [begins.start()] if begins else [found.start() for found in _OPENING.finditer(text)]
    end = 0
    found: list[Message | Malformed] = []
    for start in openings[:_MAX_OPENINGS]:
        if start < end:
            continue
        try:
            body, end = _decoder.raw_decode(text, start)
        except (ValueError, RecursionError) as error:
            if begins:
                found.append(Malformed(location, _reason(error)))
            continue
        found.extend(_of_body(location, body))
    yield from found


def _arrays(location: str, text: str) -> Iterator[Message | Malformed]:
    """Yield ``["plan", {...}]`` messages; after a truncated one another may follow on the same line."""
    end = 0
    for found in _ARRAY.finditer(text):
        if found.start() < end:
            continue
        try:
            array, end = _decoder.raw_decode(text, found.start())
        except (ValueError, RecursionError) as error:
            yield Malformed(location, _reason(error))
            continue
        version = array[2] if len(array) > 2 else ""
        kind: Kind = "plan" if found["kind"] == "plan" else "event"
        for body in array[1] if isinstance(array[1], list) else [array[1]]:
            yield Message(location, kind, body, version if isinstance(version, str) else "")


def _of_body(location: str, body: object) -> Iterator[Message | Malformed]:
    if isinstance(body, list):
        for each in body:
            if isinstance(each, dict) and each.keys() >= _EVENT:
                yield Message(location, "event", each)
        return
    if not isinstance(body, dict):
        return
    if body.keys() >= _EVENT:
        yield Message(location, "event", body)
    elif body.keys() >= _PLAN:
        yield Message(location, "plan", body)
    elif "executionPlan" in body and "executionEvent" in body:
        yield Message(location, "plan", body["executionPlan"])
        yield Message(location, "event", body["executionEvent"])
    else:
        # Terminates: the text is shorter each time.
        inner = "\n".join(body[name] for name in _WRAPPED if isinstance(body.get(name), str))
        yield from messages((location, line.encode(errors="replace")) for line in inner.split("\n"))


def _reason(error: Exception) -> str:
    if isinstance(error, RecursionError):
        return "nested too deeply"
    return f"not JSON: {error.args[0]}"


def array_line(kind: str, body: bytes, version: str = "") -> bytes:
    """Return the line of a plan or an event, without a line feed.

    `body` is its JSON on one line. A given `version` of the producer API is appended.
    """
    suffix = b", " + json.dumps(version).encode() if version else b""
    return b'["' + kind.encode() + b'", ' + body + suffix + b"]"
