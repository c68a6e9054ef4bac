"""Relations of Spark SQL in the syntax that sqlglot parses: tables as streams, versions of tables. Pure."""

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from sqlglot import Dialect, Token, TokenType

_CANDIDATES = re.compile(r"\b(?:STREAM|SYSTEM_VERSION)\b", re.IGNORECASE)
_PLATFORMS = frozenset({"databricks", "spark"})
_QUOTED = (TokenType.STRING, TokenType.IDENTIFIER)
_BEFORE_A_RELATION = frozenset({"FROM", "JOIN", ",", "USING"})


class _Cut(NamedTuple):
    """A replacement of the text from `start` to `end`."""

    start: int
    end: int
    text: str = ""


def supported_relations(text: str, dialect: Dialect) -> str:
    """Return a statement with ``STREAM(t)`` as ``t`` and ``SYSTEM_VERSION AS OF`` as ``VERSION AS OF``."""
    if type(dialect).__name__.lower() not in _PLATFORMS or not _CANDIDATES.search(text):
        return text
    result, end = [], 0
    for cut in _cuts(text, dialect.tokenize(text)):
        result += [text[end : cut.start], cut.text]
        end = cut.end
    return "".join([*result, text[end:]])


def _cuts(text: str, tokens: Sequence[Token]) -> Iterator[_Cut]:
    words = [
        "" if token.token_type in _QUOTED else text[token.start : token.end + 1].upper() for token in tokens
    ]
    words += [""] * 3
    closing: list[int] = []
    for at, token in enumerate(tokens):
        if words[at : at + 3] == ["SYSTEM_VERSION", "AS", "OF"]:
            yield _Cut(token.start, token.end + 1, "VERSION")
        elif words[at] == "STREAM" and at and words[at - 1] in _BEFORE_A_RELATION:
            if words[at + 1] == "(":
                yield _Cut(token.start, tokens[at + 1].end + 1)
                closing.append(_closing(words, at + 1))
            elif words[at + 2] == ".":  # else it may be a table of that name, with an alias
                yield _Cut(token.start, token.end + 1)
        elif at in closing:
            yield _Cut(token.start, token.end + 1)


def _closing(words: Sequence[str], opening: int) -> int:
    depth = 0
    for at in range(opening, len(words)):
        depth += (words[at] == "(") - (words[at] == ")")
        if depth == 0:
            return at
    return -1
