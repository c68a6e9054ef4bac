"""The clause of a statement that can write, found among all of its words, wherever it begins. Pure.

A statement is not classified by its first word: ``with ... insert``, ``from ... insert`` and a statement
after others without a semicolon (T-SQL) write as well. A word that is found by mistake costs one parse of the
statement; one that is missed would lose its lineage without a line in the report.
"""

import re
from collections.abc import Sequence
from typing import Literal, NamedTuple

_BRACKETS = r"\[[^\[\]]+\]"
# Projects of BigQuery have dashes.
PART = rf'(?:"(?:[^"]|"")+"|`[^`]+`|{_BRACKETS}|[\w$]+(?:-[\w$]+)+(?=\s*\.)|[#@\w$]+)'
NAME = rf"{PART}(?:\s*\.{{1,3}}\s*{PART})*"
_NAME = re.compile(NAME)
_TOKEN = re.compile(
    rf"""(?P<string>'(?:[^']|'')*'?)|(?P<quoted>"(?:[^"]|"")*"?|`[^`]*`?|{_BRACKETS})"""
    r"|(?P<word>[#@]*[^\W\d][\w$#@]*)|(?P<symbol>\S)"
)

Kind = Literal["create-table", "create-view", "change", "files", "other"]

_CHANGES = frozenset({"INSERT", "UPDATE", "DELETE", "MERGE"})
# Words that write only as the first of a statement: elsewhere they are functions, options or columns.
_FIRST: dict[str, Kind] = {
    "REPLACE": "change",
    "COPY": "files",
    "UNLOAD": "files",
    "LOAD": "files",
    "EXPORT": "files",
    "IMPORT": "files",
    "ALTER": "change",
    "APPLY": "other",
    "CACHE": "create-table",
    "DO": "other",
    "EXCHANGE": "other",
    "EXECUTE": "other",
    "RENAME": "other",
}
_VERBS = _CHANGES | _FIRST.keys() | {"CREATE", "INTO"}
_ANY_VERB = re.compile(rf"\b(?:{'|'.join(sorted(_VERBS))})\b", re.IGNORECASE)
# Before INSERT, UPDATE, DELETE, MERGE: no statement begins, but a permission, an event, a lock, a branch.
_NOT_AFTER = frozenset(
    {".", ",", "FOR", "ON", "DO", "THEN", "GRANT", "REVOKE", "DENY", "KEY", "AFTER", "BEFORE", "OR", "OF"}
)
_NAMES_FOLLOW: dict[str, frozenset[str]] = {
    "INSERT": frozenset("DELAYED HIGH_PRIORITY IGNORE INTO LOW_PRIORITY OR OVERWRITE REPLACE TABLE".split()),
    "UPDATE": frozenset({"LOW_PRIORITY", "IGNORE", "ONLY", "OR", "REPLACE"}),
    "DELETE": frozenset({"FROM", "LOW_PRIORITY", "QUICK", "IGNORE", "ONLY"}),
    "MERGE": frozenset({"INTO", "WITH", "SCHEMA", "EVOLUTION"}),
    "REPLACE": frozenset({"INTO", "LOW_PRIORITY", "DELAYED"}),
    "COPY": frozenset({"INTO"}),
    "ALTER": frozenset({"TABLE", "IF", "EXISTS"}),
    "CACHE": frozenset({"LAZY", "TABLE"}),
    "INTO": frozenset({"TEMP", "TEMPORARY", "UNLOGGED", "VOLATILE", "TABLE"}),
}
_WITHOUT_NAME = frozenset({"", "ALL", "FIRST", "DIRECTORY", "LOCAL", "OUTFILE", "DUMPFILE"})
# What is created is run later, or by others: its statements are in the log when they run.
_DEFINITIONS = frozenset(
    "ALERT EVENT FUNCTION PACKAGE POLICY PROC PROCEDURE RULE STREAM TASK TRIGGER TYPE".split()
)
# After `AS` of another object, such as a model or a pipe, that is made of rows.
_QUERIES = frozenset({"SELECT", "WITH", "INSERT", "COPY", "FROM", "AUTO", "(", "VALUES"})
# After a word that is part of a clause before it: `then delete where`, `merge partitions`.
_NOT_BEFORE = frozenset({"WHERE", "SET", "PARTITION", "PARTITIONS", "AS"})
_TEMPORARY = frozenset({"TEMP", "TEMPORARY", "VOLATILE"})
# Of ALTER: rows come from, or go to, another table; or a view gets another query.
_MOVES = re.compile(
    r"\balter\s+(?:table\b.*(?:\bappend\s+from\b|\bexchange\s+partition\b|\bswitch\b.*\bto\b"
    r"|\b(?:attach|replace|move)\s+partition\b.*\b(?:from|to\s+table)\b)|(?:materialized\s+)?view\b.*\bas\b)",
    re.IGNORECASE | re.DOTALL,
)
# Tables of other servers have no rows here.
_WITHOUT_ROWS = frozenset({("IMPORT", "FOREIGN")})


class WriteClause(NamedTuple):
    """What a statement creates or changes; `name` as written, "" if it is no table, or not the only one.

    `is_stored`: a view whose rows are stored.
    """

    kind: Kind
    name: str = ""
    is_temporary: bool = False
    is_stored: bool = False


class _Token(NamedTuple):
    """A word in upper case, "" for one in quotes; `depth`: of parentheses around it."""

    kind: str
    word: str
    start: int
    depth: int


def find_write(text: str) -> WriteClause | None:
    """Return the clause of a statement that can write, None without one.

    Of several statements in a text, the names are unknown.
    """
    if not _ANY_VERB.search(text):  # fast: most statements read
        return None
    tokens = _tokens(text)
    found: WriteClause | None = None
    is_nested = False
    for at, token in enumerate(tokens):
        if token.word not in _VERBS or not _is_verb(tokens, at):
            continue
        if token.depth:
            is_nested = True
        elif token.word == "CREATE":
            created = _creation(text, tokens, at)
            if created == "definition":
                return found
            if created is None:
                continue
            found = WriteClause("other") if found else created
        elif found is None:
            found = _clause(text, tokens, at)
        elif token.word in _CHANGES:
            found = WriteClause("change" if found.kind == "change" else "other")
    return found or (WriteClause("other") if is_nested else None)


def _tokens(text: str) -> list[_Token]:
    tokens = []
    depth = 0
    for match in _TOKEN.finditer(text):
        kind = match.lastgroup or ""
        word = match[0].upper() if kind in ("word", "symbol") else ""
        depth -= word == ")" and depth > 0
        tokens.append(_Token(kind, word, match.start(), depth))
        depth += word == "("
    return tokens


def _is_verb(tokens: Sequence[_Token], at: int) -> bool:
    """Return whether a word begins a clause that writes, and is not a column, a function or an option."""
    verb, before = tokens[at].word, tokens[at - 1].word if at else ""
    following = tokens[at + 1] if at + 1 < len(tokens) else _Token("", "", 0, 0)
    is_first = at == 0 or before == ";"
    if verb in _FIRST:
        return is_first and (verb, following.word) not in _WITHOUT_ROWS
    if is_first and verb in _CHANGES:
        return True
    if following.kind not in ("word", "quoted") or before in _NOT_AFTER or following.word in _NOT_BEFORE:
        return following.kind == "string" and verb == "INTO"
    if following.word == "FROM":
        return verb == "DELETE"
    if tokens[at].depth:
        return before == "(" and verb in _CHANGES
    if verb == "INTO":
        # Of other statements it is an option; `@x` is a variable.
        return before not in ("COPY", "LOAD", "CHANGES") and not following.word.startswith("@")
    return True


def _clause(text: str, tokens: Sequence[_Token], at: int) -> WriteClause | None:
    verb = tokens[at].word
    if verb == "ALTER":
        if not _MOVES.match(text, tokens[at].start):
            return None
        if "VIEW" in (token.word for token in tokens[at + 1 : at + 3]):
            return WriteClause("create-view")
    words = {token.word for token in tokens}
    # Only with a query; of several tables (one is followed); of a text (others are prepared before).
    needed = {"CACHE": "SELECT", "RENAME": ",", "EXECUTE": "IMMEDIATE"}
    if needed.get(verb, verb) not in words:
        return None
    if verb == "LOAD":
        at = next((other for other in range(at, len(tokens)) if tokens[other].word == "INTO"), at)
        return WriteClause("files", _name(text, tokens, at, frozenset({"INTO", "TABLE", "OVERWRITE"})))
    name = _name(text, tokens, at, _NAMES_FOLLOW.get(verb, frozenset()))
    if verb == "INTO":
        if not name:
            return WriteClause("other")
        is_temporary = any(token.word in _TEMPORARY for token in tokens[at + 1 : at + 3])
        return WriteClause("create-table", name, is_temporary)
    if verb == "REPLACE" and tokens[at + 1].word == "TABLE":
        return WriteClause("create-table", _name(text, tokens, at + 1, frozenset()))
    return WriteClause(_FIRST.get(verb, "change"), name, is_temporary=verb == "CACHE")


def _name(text: str, tokens: Sequence[_Token], at: int, skipped: frozenset[str]) -> str:
    """Return the name that follows a word and its options, "" if none does."""
    at += 1
    while at < len(tokens):
        token = tokens[at]
        if token.word == "TOP":  # of T-SQL, with a number in parentheses
            at += 1
            while at < len(tokens) and (tokens[at].depth > token.depth or tokens[at].word in "()"):
                at += 1
        elif token.word in skipped:
            at += 1
        elif token.kind == "quoted" or (token.kind == "word" and token.word not in _WITHOUT_NAME):
            match = _NAME.match(text, token.start)
            return match[0] if match else ""
        else:
            return ""
    return ""


def _creation(text: str, tokens: Sequence[_Token], at: int) -> WriteClause | Literal["definition"] | None:
    """Return the table or view that CREATE creates; None: something else."""
    words: set[str] = set()
    for position in range(at + 1, len(tokens)):
        token = tokens[position]
        following = tokens[position + 1].word if position + 1 < len(tokens) else ""
        if token.word in ("TABLE", "VIEW"):
            if following == "FUNCTION":
                return "definition"
            name = _name(text, tokens, position, frozenset({"IF", "NOT", "EXISTS"}))
            is_stored = "MATERIALIZED" in words
            kind: Kind = "create-view" if token.word == "VIEW" else "create-table"
            return WriteClause(kind, name, not words.isdisjoint(_TEMPORARY), is_stored)
        if token.word in _DEFINITIONS and following not in ("TABLE", "VIEW"):
            return "definition"
        # CLONE of a schema or a database is that of all its tables.
        if token.word in ("CLONE", "MODEL") or (token.word == "AS" and following in _QUERIES):
            return WriteClause("other")
        words.add(token.word)
    return None
