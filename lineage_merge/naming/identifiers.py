"""Dotted table names: quoted as in SQL, unquoted as in OpenLineage."""

import re
from collections.abc import Sequence
from typing import NamedTuple

_CLOSING = {'"': '"', "`": "`", "[": "]"}
# Parts with one of these must be quoted, or they would be parsed differently.
_SPECIAL = re.compile(r"[.\"`\[\]/]")


class Identifier(NamedTuple):
    """One part of a dotted name, without its quotes."""

    value: str
    quoted: bool


def split_name(text: str) -> list[Identifier]:
    """``dev."My.Schema".t`` is ``dev``, ``My.Schema`` (quoted), ``t``.

    Double quotes, backticks and brackets are quotes. Text with unbalanced quotes is only split at its dots.
    """
    parts: list[Identifier] = []
    position = 0
    while True:
        position = _skip_spaces(text, position)
        if text[position : position + 1] in _CLOSING and position < len(text):
            quoted = _read_quoted(text, position)
            if quoted is None:
                return _split_unquoted(text)
            value, position = quoted
            parts.append(Identifier(value, quoted=True))
            position = _skip_spaces(text, position)
            if position < len(text) and text[position] != ".":
                return _split_unquoted(text)
        else:
            end = text.find(".", position)
            end = len(text) if end < 0 else end
            parts.append(Identifier(text[position:end].strip(), quoted=False))
            position = end
        if position >= len(text):
            return parts
        position += 1


def join_name(parts: Sequence[str]) -> str:
    """Return the dotted name; parts with a dot, a quote or a slash are put in double quotes."""
    return ".".join(_quote(part) for part in parts)


def _quote(part: str) -> str:
    if _SPECIAL.search(part) or part != part.strip():
        return '"' + part.replace('"', '""') + '"'
    return part


def _split_unquoted(text: str) -> list[Identifier]:
    return [Identifier(part.strip(), quoted=False) for part in text.split(".")]


def _skip_spaces(text: str, position: int) -> int:
    while position < len(text) and text[position].isspace():
        position += 1
    return position


def _read_quoted(text: str, start: int) -> tuple[str, int] | None:
    """Return the text between quotes (a doubled closing quote is one quote), and its end."""
    closing = _CLOSING[text[start]]
    value: list[str] = []
    position = start + 1
    while True:
        end = text.find(closing, position)
        if end < 0:
            return None
        value.append(text[position:end])
        if not text.startswith(closing, end + 1):
            return "".join(value), end + 1
        value.append(closing)
        position = end + 2
