"""The writes in a statement's text: which tables, overwritten or appended to. Pure.

The lineage itself is in the document's edges. The text adds what they lack: overwrite or append, a partition
or the whole table, a view or a table, and the directory of INSERT OVERWRITE DIRECTORY.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

Mode = Literal["append", "overwrite", ""]

_TOKEN = re.compile(
    r"(?P<comment>--[^\n]*|/\*.*?\*/)"
    r"|(?P<string>'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\")"
    r"|`(?P<quoted>(?:[^`]|``)+)`"
    r"|(?P<word>[\w$]+)"
    r"|(?P<other>\S)",
    re.DOTALL,
)
_OF_CREATE = frozenset({"external", "temporary", "materialized", "transactional", "managed", "or", "replace"})


class Token(NamedTuple):
    """A token of a statement; `kind` is a group of `_TOKEN`.

    Words are in lower case, quoted names and strings without quotes.
    """

    kind: str
    text: str


class Table(NamedTuple):
    """The names of a table in lower case. Without a database, `name` is the path of a directory."""

    database: str
    name: str

    def __str__(self) -> str:
        """Return ``dw.sales``."""
        return f"{self.database}.{self.name}" if self.database else self.name


class Write(NamedTuple):
    """One table that a statement fills. `partitioned`: it fills partitions and leaves the others."""

    table: Table
    mode: Mode
    partitioned: bool = False
    is_view: bool = False
    is_insert: bool = False


@dataclass(frozen=True, slots=True)
class Statement:
    """The writes of one statement in order. A `directory` is a write whose table is a path."""

    writes: tuple[Write, ...] = ()

    def write_of(self, table: Table) -> Write:
        """Return the write to a table; one without a mode if the text does not contain it."""
        writes = [write for write in self.writes if write.table == table]
        if not writes:
            return Write(table, "")
        # A statement may fill several partitions of a table: an append takes precedence.
        return min(writes, key=lambda write: (write.mode != "append", not write.partitioned))

    @property
    def tables(self) -> tuple[Write, ...]:
        """Return the writes to tables."""
        return tuple(write for write in self.writes if write.table.database)

    @property
    def directories(self) -> tuple[Write, ...]:
        """Return the writes to directories."""
        return tuple(write for write in self.writes if not write.table.database)


def read_statement(text: str, database: str) -> Statement:
    """Return the writes of a statement; `database` completes unqualified names."""
    return Statement(tuple(_writes(tokens_of(text), database)))


def tokens_of(text: str) -> list[Token]:
    """Return the tokens of a statement without its comments."""
    matches = (match for match in _TOKEN.finditer(text) if not match["comment"])
    return [Token(match.lastgroup or "", _plain(match)) for match in matches]


def _plain(match: re.Match[str]) -> str:
    match match.lastgroup:
        case "string":
            return match[0][1:-1]
        case "quoted":
            return match["quoted"].replace("``", "`").lower()
        case _:
            return match[0].lower()


def _writes(tokens: Sequence[Token], database: str) -> Iterator[Write]:
    created = _find_created(tokens, database)
    if created:
        yield created
    for index, token in enumerate(tokens):
        following = _words(tokens, index + 1, 4)
        if token != ("word", "insert") or following[0] not in ("into", "overwrite"):
            continue
        mode: Mode = "append" if following[0] == "into" else "overwrite"
        if following[1] == "directory":
            if index + 3 < len(tokens) and tokens[index + 3].kind == "string":
                yield Write(Table("", tokens[index + 3].text), mode, is_insert=True)
            continue
        if following[1] == "local" and following[2] == "directory":
            continue  # on the local disk of the machine that ran it
        start = index + (3 if following[1] == "table" else 2)
        table, end = table_at(tokens, start, database)
        if table:
            yield Write(table, mode, _words(tokens, end, 1)[0] == "partition", is_insert=True)


def _find_created(tokens: Sequence[Token], database: str) -> Write | None:
    """Return what CREATE TABLE AS, CREATE VIEW or ALTER VIEW AS creates."""
    if _words(tokens, 0, 1)[0] not in ("create", "alter"):
        return None
    index = 1
    while _words(tokens, index, 1)[0] in _OF_CREATE:
        index += 1
    kind = _words(tokens, index, 1)[0]
    if kind not in ("table", "view"):
        return None
    index += 1
    if _words(tokens, index, 3) == ["if", "not", "exists"]:
        index += 3
    table, _ = table_at(tokens, index, database)
    return Write(table, "overwrite", is_view=kind == "view") if table else None


def _words(tokens: Sequence[Token], start: int, count: int) -> list[str]:
    """Return the next words; "" for other tokens and after the end."""
    words = [token.text if token.kind == "word" else "" for token in tokens[start : start + count]]
    return words + [""] * (count - len(words))


def table_at(tokens: Sequence[Token], start: int, database: str) -> tuple[Table | None, int]:
    """Return the table named at a token, and the index of the token after it."""
    parts: list[str] = []
    index = start
    while index < len(tokens) and tokens[index].kind in ("word", "quoted"):
        parts.append(tokens[index].text)
        index += 1
        if index >= len(tokens) or tokens[index] != ("other", "."):
            break
        index += 1
    # Hive also accepts a qualified name in one pair of backticks.
    names = [name for part in parts for name in part.split(".")] if len(parts) == 1 else parts
    if not names or not all(names[:2]):
        return None, index
    return Table(names[0] if len(names) > 1 else database, names[1] if len(names) > 1 else names[0]), index
