"""Kinds of documents, which sources declare (`source.Source.kinds`), and forms that clients send."""

import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of document: what it is, and what to do with it ("" if nothing reads it).

    As parsed JSON it has one of the sets of top-level `keys`, or is otherwise a document (`is_document`).
    `pattern` recognizes its text, or a beginning of it; `first`: the first characters of such a text
    (default: any, as in logs).
    """

    name: str
    remedy: str = ""
    keys: tuple[tuple[str, ...], ...] = ()
    is_document: Callable[[Any], bool] = lambda _document: False
    pattern: re.Pattern[str] | None = None
    first: str = ""

    def __str__(self) -> str:
        """Return both as the end of a message."""
        return f"{self.name}: {self.remedy}" if self.remedy else self.name

    def recognizes(self, document: object) -> bool:
        """Return whether a JSON document is one of this kind."""
        has_keys = isinstance(document, dict) and any(document.keys() >= set(keys) for keys in self.keys)
        return has_keys or self.is_document(document)


# The agent that our own listener names.
LISTENER = "lineage-merge"


def is_of_listener(body: object) -> bool:
    """Return whether a plan is one of our own listener (`lineage_merge.capture.install`)."""
    agent = body.get("agentInfo") if isinstance(body, dict) else None
    return isinstance(agent, dict) and agent.get("name") == LISTENER


def is_openlineage_event(document: object) -> bool:
    """Return whether a JSON value is intended as an event of OpenLineage, valid or not."""
    return isinstance(document, dict) and (
        ("eventTime" in document and not {"run", "job", "dataset"}.isdisjoint(document))
        or {"run", "job"} <= document.keys()
    )


def array_line(kind: str, body: bytes, version: str = "") -> bytes:
    """Return the line of a plan or an event of a Spline agent, without a line feed.

    `body` is its JSON on one line. A given `version` of the producer API is appended.
    """
    suffix = b", " + json.dumps(version).encode() if version else b""
    return b'["' + kind.encode() + b'", ' + body + suffix + b"]"
