"""A file's text cut into statements. Pure.

Not by the parser's own tokens: a text that does not end would cost the statements before it too.
"""

import re
from collections.abc import Callable, Iterator
from typing import NamedTuple

# Strings with both ways to write a quote: no dialect that is read here gives `\'` another meaning.
_PIECE = re.compile(
    r"""
      (?P<comment>--[^\n]*|/\*.*?(?:\*/|\Z))
    | (?P<quoted>'(?:[^'\\]|\\.|'')*(?:'|\Z)|"(?:[^"\\]|\\.|"")*(?:"|\Z)|`(?:[^`]|``)*(?:`|\Z)
        |\$(?P<tag>[A-Za-z_]*)\$.*?(?:\$(?P=tag)\$|\Z))
    | (?P<parameter>(?<![\w:\])}]):[A-Za-z_]\w*)
    | (?P<end>;)
    | (?P<word>[^\s'"`$;:/-]+|\s+|.)
    """,
    re.VERBOSE | re.DOTALL,
)
# What says nothing of lineage, by the word that it begins with.
_SILENT = re.compile(
    r"(?:add|analyze|begin|clear|close|comment|commit|compile|dfs|deallocate|declare|describe|desc|discard|end"
    r"|explain|fetch|grant|list|lock|msck|optimize|prepare|quit|exit|refresh|reload|reset|revoke|rollback"
    r"|set|show|source|start|truncate|uncache|unlock|vacuum|invalidate|export|kill|abort|delete\s+jar"
    r"|(?:alter|drop|create(?:\s+or\s+replace)?(?:\s+temporary|\s+temp|\s+external)?)\s+"
    r"(?:function|schema|database|user|group|role|library|macro|model|datashare|index|sequence))\b|!",
    re.IGNORECASE,
)


class Statement(NamedTuple):
    """A statement without what stands around it; `line` (from 1) is where it begins."""

    line: int
    text: str

    @property
    def is_silent(self) -> bool:
        """Whether its first word says that it moves no data and makes no table."""
        return _SILENT.match(self.text) is not None


def split(text: str, parameter: Callable[[str], str]) -> Iterator[Statement]:
    """The statements of a file; `parameter` says what to write for ``:name``."""
    pieces: list[str] = []
    line = begun = 1
    for found in _PIECE.finditer(text):
        kind, piece = found.lastgroup, found[0]
        if kind == "tag":
            kind = "quoted"
        if kind == "end":
            yield from _statement(begun, pieces)
            pieces = []
        elif kind != "comment" or piece.startswith("/*+"):  # a hint is a comment to nobody
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
