"""SQL in the syntax that sqlglot parses. Pure.

`supported_merge` is for what it lacks of MERGE (Databricks, DuckDB, Oracle, PostgreSQL, Redshift),
`supported_relations` for Spark's tables as streams and versions of tables.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from sqlglot import Dialect, Token, TokenType

from lineage_merge.column_lineage.sql.platforms import platform_of

_MERGE = re.compile(r"(?:\s|--[^\n]*(?:\n|$)|/\*.*?\*/)*merge\b", re.IGNORECASE | re.DOTALL)
_QUOTED = (TokenType.STRING, TokenType.IDENTIFIER)
_ENDS = frozenset({"WHEN", "LOG", "RETURNING", "OUTPUT", ";"})
# Databricks, Spark 4: columns may be added to the target. PostgreSQL: values of identity columns are stored.
_WITHOUT_MEANING = (
    ("WITH", "SCHEMA", "EVOLUTION"),
    ("OVERRIDING", "SYSTEM", "VALUE"),
    ("OVERRIDING", "USER", "VALUE"),
)
# `INSERT ROW` of BigQuery: all columns of the source, by position.
_EQUIVALENT = {
    ("REMOVE", "DUPLICATES"): "WHEN NOT MATCHED THEN INSERT ROW",  # Redshift: matched rows are replaced
    ("THEN", "UPDATE", "BY", "NAME"): "THEN UPDATE SET *",  # DuckDB
    ("THEN", "UPDATE", "BY", "POSITION"): "THEN INSERT ROW",
    ("THEN", "INSERT", "BY", "NAME"): "THEN INSERT *",
    ("THEN", "INSERT", "BY", "POSITION"): "THEN INSERT ROW",
}
# Elsewhere `*` takes columns by name.
_OF_DUCKDB = {
    ("THEN", "UPDATE", "SET", "*"): "THEN INSERT ROW",
    ("THEN", "INSERT", "*"): "THEN INSERT ROW",
}

_SPARK = frozenset({"databricks", "spark"})
_OF_RELATIONS = re.compile(r"\b(?:STREAM|SYSTEM_VERSION)\b", re.IGNORECASE)
_BEFORE_A_RELATION = frozenset({"FROM", "JOIN", ",", "USING"})


class _Edit(NamedTuple):
    """A replacement of the text from `start` to `end`."""

    start: int
    end: int
    text: str = ""


class _Words:
    """The words of a statement outside of parentheses and CASE, with their positions in the text."""

    def __init__(self, text: str, dialect: Dialect) -> None:
        self.end = len(text)
        self._tokens: list[Token] = []
        self._words: list[str] = []
        depth = 0
        for token in dialect.tokenize(text):
            written = text[token.start : token.end + 1].upper()
            depth -= written == ")" or (written == "END" and depth > 0)
            if depth == 0:
                self._tokens.append(token)
                is_quoted = token.token_type in _QUOTED
                self._words.append("" if is_quoted else written)
            depth += written in ("(", "CASE")

    def __len__(self) -> int:
        return len(self._words)

    def get_word(self, position: int) -> str:
        """Return a word in upper case, "" for a quoted one and after the end."""
        return self._words[position] if position < len(self) else ""

    def are(self, position: int, words: Sequence[str]) -> bool:
        return tuple(self._words[position : position + len(words)]) == tuple(words)

    def start(self, position: int) -> int:
        return self._tokens[position].start if position < len(self) else self.end

    def next(self, position: int, wanted: frozenset[str]) -> int:
        """Return the position of the next of some words, or of the end."""
        return next((at for at in range(position, len(self)) if self._words[at] in wanted), len(self))


def rewrite_merge(text: str, dialect: Dialect) -> str:
    """Return a MERGE in syntax that the parser knows, with the same lineage; any other text as it is."""
    if not _MERGE.match(text):
        return text
    words = _Words(text, dialect)
    is_duckdb = platform_of(dialect) == "duckdb"
    equivalent = {**_EQUIVALENT, **(_OF_DUCKDB if is_duckdb else {})}
    return _apply_edits(text, _merge_edits(text, words, equivalent))


def rewrite_relations(text: str, dialect: Dialect) -> str:
    """Return a statement with ``STREAM(t)`` as ``t`` and ``SYSTEM_VERSION AS OF`` as ``VERSION AS OF``."""
    if platform_of(dialect) not in _SPARK or not _OF_RELATIONS.search(text):
        return text
    return _apply_edits(text, _relation_edits(text, dialect.tokenize(text)))


def _apply_edits(text: str, edits: Iterable[_Edit]) -> str:
    """Return a text with its edits; of overlapping ones, the first."""
    result, end = [], 0
    for edit in sorted(edits):
        if edit.start >= end:
            result += [text[end : edit.start], edit.text]
            end = edit.end
    return "".join([*result, text[end:]])


def _merge_edits(text: str, words: _Words, equivalent: Mapping[tuple[str, ...], str]) -> Iterator[_Edit]:
    for position in range(len(words)):
        for removed in _WITHOUT_MEANING:
            if words.are(position, removed):
                yield _Edit(words.start(position), words.start(position + len(removed)), "")
        for written, supported in equivalent.items():
            if words.are(position, written):
                yield _Edit(words.start(position), words.start(position + len(written)), f"{supported} ")
        if words.are(position, ("LOG", "ERRORS")):  # Oracle
            yield _Edit(words.start(position), words.end, "")
        if words.are(position, ("THEN", "ERROR")):  # DuckDB
            yield _Edit(words.start(position), words.start(words.next(position, _ENDS)), "THEN DO NOTHING ")
        if words.get_word(position) == "THEN" and words.get_word(position + 1) in ("UPDATE", "INSERT"):
            yield from _conditions_of_oracle(text, words, position)


def _conditions_of_oracle(text: str, words: _Words, then: int) -> Iterator[_Edit]:
    """Move the WHERE of ``THEN UPDATE SET ... WHERE ... DELETE WHERE ...`` to conditions of WHEN."""
    end = words.next(then, _ENDS)
    where = words.next(then, frozenset({"WHERE"}))
    if where >= end:
        return
    delete = words.next(then, frozenset({"DELETE"}))
    deletes = delete < end and words.get_word(delete + 1) == "WHERE"
    if not deletes or where < delete:
        condition = text[words.start(where + 1) : words.start(min(delete, end) if deletes else end)]
        yield _Edit(words.start(then), words.start(then), f"AND ({condition.rstrip()}) ")
        yield _Edit(words.start(where), words.start(delete if deletes else end), " ")
    if deletes:
        condition = text[words.start(delete + 2) : words.start(end)]
        deletion = f"WHEN MATCHED AND ({condition.rstrip()}) THEN DELETE "
        yield _Edit(words.start(delete), words.start(end), deletion)


def _relation_edits(text: str, tokens: Sequence[Token]) -> Iterator[_Edit]:
    words = [
        "" if token.token_type in _QUOTED else text[token.start : token.end + 1].upper() for token in tokens
    ]
    words += [""] * 3
    closing: list[int] = []
    for at, token in enumerate(tokens):
        if words[at : at + 3] == ["SYSTEM_VERSION", "AS", "OF"]:
            yield _Edit(token.start, token.end + 1, "VERSION")
        elif words[at] == "STREAM" and at and words[at - 1] in _BEFORE_A_RELATION:
            if words[at + 1] == "(":
                yield _Edit(token.start, tokens[at + 1].end + 1)
                closing.append(_closing(words, at + 1))
            elif words[at + 2] == ".":  # else it may be a table of that name, with an alias
                yield _Edit(token.start, token.end + 1)
        elif at in closing:
            yield _Edit(token.start, token.end + 1)


def _closing(words: Sequence[str], opening: int) -> int:
    depth = 0
    for at in range(opening, len(words)):
        depth += (words[at] == "(") - (words[at] == ")")
        if depth == 0:
            return at
    return -1
