"""Plans and events in the lines of a log or the records of a topic, and their validation. Pure.

Agents before 1.0.3 write ``["plan", {...}]`` and ``["event", {...}]``; later ones a line ``ExecutionPlan
(apiVersion: 1.2):`` and the JSON on the next line. Both may follow any logger's prefix, between lines of
other loggers. Bodies of HTTP requests and Kafka records are plain JSON, events possibly in an array; the
agent's HDFS dispatcher writes a plan and its event in one object; log collectors wrap a line into their own
JSON.
"""

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from typing import Any, Literal, NamedTuple

from lineage_merge.infra.document_decoder import DocumentDecoder
from lineage_merge.infra.json_schema import load_schema
from lineage_merge.model.elements import Problem
from lineage_merge.sources.kinds import array_line
from lineage_merge.sources.spline.documents import reject

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
_NEXT = re.compile(r"\s*(?=[\[{])")
# The fields in which collectors store the line: Docker and Fluent Bit, Logstash and CloudWatch, Google Cloud.
_WRAPPED = ("log", "message", "msg", "textPayload")

_VERSIONS = ("1", "1.0", "1.1", "1.2")
# The headers of the agent's Kafka records: their type, and the version of the producer API.
_ENTITY = "ABSA-Spline-Entity-Type"
_API_VERSION = "ABSA-Spline-API-Version"
_KINDS = {"ExecutionPlan": "plan", "ExecutionEvent": "event"}

_decoder = json.JSONDecoder()


class Message(NamedTuple):
    """A plan or an event: its JSON, and the version of the producer API if the line has it."""

    location: str
    kind: Kind
    body: Any
    version: str = ""


def event_times(found: Iterable[Message | Problem]) -> Iterator[int]:
    """Yield the times of the valid events among messages, in ms since 1970."""
    for message in found:
        if isinstance(message, Message) and message.kind == "event" and check_message(message) is None:
            yield int(message.body["timestamp"])


def messages(lines: Iterable[tuple[str, bytes]]) -> Iterator[Message | Problem]:
    """Yield the plans and events of numbered lines, in order, and problems with malformed ones."""
    version = ""
    for location, line in lines:
        if not _MAYBE.search(line):
            # Of another logger, or nothing followed the agent's announcement.
            version = version if not line.strip() else ""
            continue
        try:
            text = line.decode("utf-8")
        except UnicodeDecodeError as error:
            yield reject(location, "", f"not UTF-8 text (byte {error.start} of the line)")
            continue
        announced = _NAMED.search(text)
        if announced:
            version = announced["version"]
            if not text[announced.end() :].strip():
                continue
        for message in [*_read_line(location, text)]:
            if isinstance(message, Message) and not message.version:
                message = message._replace(version=version)
            yield message
        version = ""


def _read_line(location: str, text: str) -> Iterator[Message | Problem]:
    arrays = list(_arrays(location, text))
    if arrays:
        yield from arrays
        return
    begins = _START_OF_JSON.search(text)
    openings = [begins.start()] if begins else [opening.start() for opening in _OPENING.finditer(text)]
    end = 0
    for start in openings[:_MAX_OPENINGS]:
        if start < end:
            continue
        try:
            for body, end in _adjacent_values(text, start):  # noqa: B007 # `end` is where the next starts
                yield from _read_body(location, body)
        except (ValueError, RecursionError) as error:
            if begins:
                yield _not_json(location, error)


def _adjacent_values(text: str, start: int) -> Iterator[tuple[Any, int]]:
    """Yield the JSON at `start` and what directly follows it, each with its end.

    Firehose joins records without a line feed. Raises `ValueError` or `RecursionError` at a malformed one.
    """
    value, end = _decoder.raw_decode(text, start)
    yield value, end
    while following := _NEXT.match(text, end):
        try:
            value, end = _decoder.raw_decode(text, following.end())
        except (ValueError, RecursionError):
            if _START_OF_JSON.match(text, following.end()):
                raise
            return  # the rest of a log line
        yield value, end


def _arrays(location: str, text: str) -> Iterator[Message | Problem]:
    """Yield ``["plan", {...}]`` messages; after a truncated one another may follow on the same line."""
    end = 0
    for opening in _ARRAY.finditer(text):
        if opening.start() < end:
            continue
        try:
            array, end = _decoder.raw_decode(text, opening.start())
        except (ValueError, RecursionError) as error:
            yield _not_json(location, error)
            continue
        version = array[2] if len(array) > 2 else ""
        kind: Kind = "plan" if opening["kind"] == "plan" else "event"
        for body in array[1] if isinstance(array[1], list) else [array[1]]:
            yield Message(location, kind, body, version if isinstance(version, str) else "")


def _read_body(location: str, body: object) -> Iterator[Message | Problem]:
    if isinstance(body, list):
        for event in body:
            if isinstance(event, dict) and event.keys() >= _EVENT:
                yield Message(location, "event", event)
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


def _not_json(location: str, error: Exception) -> Problem:
    is_deep = isinstance(error, RecursionError)
    return reject(location, "", "nested too deeply" if is_deep else f"not JSON: {error.args[0]}")


def check_message(message: Message) -> Problem | None:
    """Return why a message is rejected; None if its plan or event can be used."""
    location, version = message.location, message.version
    if version and version not in _VERSIONS:
        unknown = f"version {version} of the producer API is unknown; 1.0, 1.1 and 1.2 are"
        return reject(location, "", unknown)
    return _error("event" if message.kind == "event" else "plan_of_events", message.body, location)


def check_plan(plan: object, location: str) -> Problem | None:
    """Return why a plan that passed `check_message` cannot be translated.

    Separate because it is slow, and few of many plans are translated.
    """
    write = plan["operations"]["write"] if isinstance(plan, dict) else {}
    return _error("plan_1_0" if isinstance(write.get("id"), int) else "plan", plan, location)


def _error(shape: str, body: object, location: str) -> Problem | None:
    error = _decoder_of(shape).error(body)
    return reject(location, error.path, error.problem) if error else None


@cache
def _decoder_of(shape: str) -> DocumentDecoder:
    schema = load_schema(__package__, "agent.schema.json")
    return DocumentDecoder(schema | {"$ref": f"#/$defs/{shape}"})


def record_line(value: bytes, headers: Mapping[str, bytes]) -> bytes:
    """Return a record of the agent's Kafka dispatcher as ``["plan", {...}]``; others as they are.

    With the version of the producer API, unless it is one that the form shows.
    """
    from lineage_merge.sources.kafka_landing.kafka import text_line  # imports Spark

    line = text_line(value, dict(headers))
    kind = _KINDS.get(headers.get(_ENTITY, b"").decode(errors="replace"))
    version = headers.get(_API_VERSION, b"").decode(errors="replace")
    if kind is None:
        return line
    return array_line(kind, line, "" if version in _VERSIONS else version)
