"""Kinds of documents, which sources declare (`source.Source.kinds`)."""

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
