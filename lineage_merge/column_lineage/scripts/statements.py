"""Splitting of a file's text into statements. Pure.

Without the parser's tokenizer: an unterminated string would lose the statements before it too.
"""

import re
from collections.abc import Callable, Iterator, Set
from dataclasses import dataclass
from typing import NamedTuple

# Strings with both forms of escaped quotes: no supported dialect gives `\'` another meaning.
_PIECE = re.compile(
    r"""
      (?P<comment>--[^\n]*|/\*.*?(?:\*/|\Z))
    | (?P<quoted>'(?:[^'\\]|\\.|'')*(?:'|\Z)|"(?:[^"\\]|\\.|"")*(?:"|\Z)|`(?:[^`]|``)*(?:`|\Z)
        |\$(?P<tag>(?:[A-Za-z_]\w*)?)\$.*?(?:\$(?P=tag)\$|\Z))
    | (?P<parameter>(?<![\w:\])}'"`]):[A-Za-z_]\w*)
    | (?P<end>;)
    | (?P<word>[^\s'"`$;:/-]+|\s+|.)
    """,
    re.VERBOSE | re.DOTALL,
)
# Statements without lineage, by their first word.
_SILENT = re.compile(
    r"(?:add|analyze|clear|close|comment|commit|compile|dfs|deallocate|describe|desc|discard"
    r"|explain|fetch|grant|list|lock|msck|optimize|prepare|quit|exit|refresh|reload|reset|revoke|rollback"
    r"|set|show|source|start|uncache|unlock|vacuum|invalidate|kill|abort|delete\s+jar"
    r"|(?:alter|drop|create(?:\s+or\s+replace)?(?:\s+temporary|\s+temp|\s+external)?)\s+"
    r"(?:function|schema|database|user|group|role|library|macro|model|datashare|index|sequence))\b|!",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Unread:
    """A statement without lineage; `is_broken`: it cannot be parsed."""

    why: str
    is_broken: bool


class Statement(NamedTuple):
    """A statement without surrounding comments; `line` (from 1) is where it begins.

    `variables` of its procedure (folded); `record`: the one of them that has the query's columns. `unread`:
    known before it is parsed.
    """

    line: int
    text: str
    variables: Set[str] = frozenset()
    record: str = ""
    unread: Unread | None = None

    @property
    def is_irrelevant(self) -> bool:
        """Return whether its first word shows that it moves no data and creates no table."""
        return _SILENT.match(self.text) is not None


def split(text: str, parameter: Callable[[str], str]) -> Iterator[Statement]:
    """Return the statements of a file; `parameter` returns the replacement of ``:name``."""
    pieces: list[str] = []
    line = begun = 1
    for match in _PIECE.finditer(text):
        kind, piece = match.lastgroup, match[0]
        if kind == "tag":
            kind = "quoted"
        if kind == "end":
            yield from _statement(begun, pieces)
            pieces = []
        elif kind != "comment" or piece.startswith("/*+"):  # hints are not needed
            if not pieces:
                if piece.isspace():
                    line += piece.count("\n")
                    continue
                begun = line
            pieces.append(parameter(piece) if kind == "parameter" else piece)
        elif pieces:
            pieces.append(" " + "\n" * piece.count("\n"))
        line += piece.count("\n")
    yield from _statement(begun, pieces)


def _statement(line: int, pieces: list[str]) -> Iterator[Statement]:
    text = "".join(pieces).rstrip()
    if text:
        yield Statement(line, text)
