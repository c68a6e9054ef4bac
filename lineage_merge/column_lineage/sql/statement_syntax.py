"""Statements in the syntax that sqlglot parses: INSERT, REPLACE, CREATE. Pure.

`supported_statement` replaces words that the parser lacks. `reduced_creation` is for a CREATE that it does
not know: it has the same name, columns and query, and none of the options.
"""

import re
from collections.abc import Iterator

from sqlglot import Dialect, Token, TokenType, exp
from sqlglot.errors import SqlglotError

from lineage_merge.column_lineage.sql.platforms import TSQL, platform_of

_MYSQL = frozenset({"doris", "mysql", "singlestore", "sqlite", "starrocks"})
_LABELS = frozenset({"doris", "starrocks"})
_REPLACE_OBJECT = re.compile(r"replace(?=\s+(?:table|view)\b)", re.IGNORECASE)
_REPLACE_ROWS = re.compile(r"replace\b(?:\s+(?:low_priority|delayed)\b)?(?:\s+into\b)?", re.IGNORECASE)
_PRIORITY = re.compile(
    r"(insert|update|delete)\s+(?:(?:low_priority|delayed|high_priority|quick)\b|(?<=update\s)ignore\b(?!\s+set\b))",
    re.IGNORECASE,
)
_ALTER_VIEW = re.compile(r"alter\s+view\s+(\S+)\s+as\b", re.IGNORECASE)
_EVOLUTION = re.compile(r"(insert)\s+with\s+schema\s+evolution\b", re.IGNORECASE)
_LABEL = re.compile(r"(insert\s+into\s+\S+)\s+with\s+label\s+\S+", re.IGNORECASE)
_INFILE = re.compile(r"\bfrom\s+infile\s+('[^']*').*$", re.IGNORECASE | re.DOTALL)
_DICTIONARY = re.compile(r"\b(from|join)\s+dictionary\(\s*'([\w.]+)'\s*\)", re.IGNORECASE)
_LOCKING = re.compile(
    r"locking\s+\S+(?:\s+\S+)?\s+for\s+\w+(?:\s+nowait)?\s+(?=ins|upd|del|mer|sel|with)", re.IGNORECASE
)
_BULK_INSERT = re.compile(r"bulk\s+insert\s+(\S+)\s+from\s+('[^']*').*", re.IGNORECASE | re.DOTALL)
_BULK_ROWS = re.compile(r"\bopenrowset\s*\(\s*bulk\b", re.IGNORECASE)
_OVERRIDING = re.compile(r"\boverriding\s+(?:system|user)\s+value\b", re.IGNORECASE)
# Spark's; Hive's has ROW FORMAT and STORED AS.
_DIRECTORY = re.compile(
    r"(insert\s+overwrite\s+(?:local\s+)?directory\s+(?:'[^']*'|\"[^\"]*\"))\s+using\s+\w+(?:\s+options\s*\([^)]*\))?",
    re.IGNORECASE,
)
# What runs an INSERT as a task, or again and again.
_RUNS_INSERT = re.compile(
    r"(?:create\s+(?:or\s+refresh\s+)?flow|submit\s+task)\b.*?\bas\s+(?=insert\b)", re.IGNORECASE | re.DOTALL
)
# BigQuery's snapshots and Databricks' deep clones are clones.
_CLONES = re.compile(
    r"(?P<create>create\s+(?:or\s+replace\s+)?)(?:snapshot\s+)?(?P<name>table\s+(?:if\s+not\s+exists\s+)?\S+\s+)(?:deep\s+)?(?=clone\b)",
    re.IGNORECASE,
)
_CREATES = re.compile(r"(?:create|replace)\b", re.IGNORECASE)

_TEMPORARY = frozenset({"TEMP", "TEMPORARY"})
_QUERY_STARTS = frozenset({"SELECT", "WITH", "(", "FROM", "VALUES", "TABLE", "SEL"})
_NO_COLUMN = frozenset(
    {"CHECK", "CONSTRAINT", "FOREIGN", "INDEX", "KEY", "LIKE", "PRIMARY", "PROJECTION", "UNIQUE"}
)
_AFTER_QUERY = re.compile(
    r"\s+with\s+(?:no\s+schema\s+binding|(?:no\s+)?data\b.*|(?:cascaded\s+|local\s+)?check\s+option|read\s+only)\s*$",
    re.IGNORECASE | re.DOTALL,
)


def rewrite_statement(text: str, dialect: Dialect) -> str:
    """Return a statement with the first words that the parser knows; any other text as it is."""
    platform = platform_of(dialect)
    if match := _REPLACE_OBJECT.match(text):
        return f"CREATE OR REPLACE{text[match.end() :]}"
    if platform not in TSQL:
        text = _ALTER_VIEW.sub(r"CREATE OR REPLACE VIEW \1 AS", text, count=1)
    if platform == "clickhouse":
        text = _INFILE.sub(r"SELECT * FROM file(\1)", _DICTIONARY.sub(r"\1 \2", text), count=1)
    if platform in TSQL:
        text = _BULK_ROWS.sub("read_files(", _BULK_INSERT.sub(r"COPY INTO \1 FROM \2", text, count=1))
    if platform == "teradata":
        text = _LOCKING.sub("", text, count=1)
    if match := _RUNS_INSERT.match(text):
        text = text[match.end() :]
    if text[:6].lower() == "create":
        return _CLONES.sub(r"\g<create>\g<name>", text, count=1)
    if platform in _MYSQL:
        text = _PRIORITY.sub(r"\1", text, count=1)
    if platform in _LABELS:
        text = _LABEL.sub(r"\1", text, count=1)
    if text[:6].lower() == "insert":
        text = _DIRECTORY.sub(r"\1", _EVOLUTION.sub(r"\1", text, count=1), count=1)
        if platform == "postgres":
            text = _OVERRIDING.sub("", text, count=1)
    return text


def parse_replacement(text: str, dialect: Dialect) -> list[exp.Expr] | None:
    """Return MySQL's ``REPLACE INTO t ...`` as an INSERT that replaces rows; None for other statements."""
    if platform_of(dialect) not in _MYSQL or not (match := _REPLACE_ROWS.match(text)):
        return None
    trees = [tree for tree in dialect.parse(f"INSERT INTO{text[match.end() :]}") if tree is not None]
    for tree in trees:
        tree.set("alternative", "replace")
    return trees


def reduce_creation(text: str, dialect: Dialect) -> str | None:
    """Return a CREATE ... AS with nothing but its kind, name, columns, location and query.

    None if the text is no CREATE TABLE or CREATE VIEW with a query.
    """
    if not _CREATES.match(text):
        return None
    try:
        tokens = dialect.tokenize(text)
    except SqlglotError:
        return None
    words = [_word(token, text) for token in tokens]
    kind = next((at for at, word in enumerate(words) if word in ("TABLE", "VIEW")), None)
    if kind is None or "(" in words[:kind]:
        return None
    query = _start_of_query(words, kind)
    if query is None:
        return None
    name = kind + 4 if words[kind + 1 : kind + 4] == ["IF", "NOT", "EXISTS"] else kind + 1
    after = name + 1
    while after < query and words[after] == ".":
        after += 2
    if after >= len(tokens) or name >= query:
        return None
    temporary = " TEMPORARY" if _TEMPORARY.intersection(words[:kind]) else ""
    columns = _columns(tokens, words, after, text) if words[after] == "(" else ""
    locations = [at for at in range(after, query - 1) if words[at] == "LOCATION"]
    at = locations[0] + 1 if locations else query
    location = f" LOCATION {text[tokens[at].start : tokens[at].end + 1]}" if locations else ""
    body = _AFTER_QUERY.sub("", text[tokens[query].start :])
    named = text[tokens[name].start : tokens[after - 1].end + 1]
    return f"CREATE{temporary} {words[kind]} {named}{columns}{location} AS {body}"


def tables_in_parentheses(text: str, dialect: Dialect) -> str:
    """Return a text with tables as arguments as ``TABLE(t)``, without PARTITION BY and the like."""
    try:
        tokens = dialect.tokenize(text)
    except SqlglotError:
        return text
    words = [*(_word(token, text) for token in tokens), "", ""]
    edits: list[tuple[int, int, str]] = []
    for at, word in enumerate(words):
        if word != "TABLE" or words[at - 1] not in ("(", ",", "=>") or words[at + 1] in ("=>", "="):
            continue
        if words[at + 1] == "(":
            end = _end(words, at + 2) + 1
        else:
            end = at + 2
            while words[end] == ".":
                end += 2
            name = text[tokens[at + 1].start : tokens[end - 1].end + 1]
            edits.append((tokens[at].end + 1, tokens[end - 1].end + 1, f"({name})"))
        stop = _end(words, end)
        if end < stop < len(tokens):
            edits.append((tokens[end].start, tokens[stop].start, ""))
    for start, stop, new in sorted(edits, reverse=True):
        text = f"{text[:start]}{new}{text[stop:]}"
    return text


def _end(words: list[str], at: int) -> int:
    """Return the position of the comma or parenthesis that ends an argument."""
    depth = 0
    while at < len(words):
        if depth == 0 and words[at] in (",", ")"):
            return at
        depth += (words[at] == "(") - (words[at] == ")")
        at += 1
    return at


def _word(token: Token, text: str) -> str:
    if token.token_type in (TokenType.STRING, TokenType.IDENTIFIER):
        return ""
    return text[token.start : token.end + 1].upper()


def _start_of_query(words: list[str], kind: int) -> int | None:
    depth = 0
    for at in range(kind, len(words) - 1):
        depth += (words[at] == "(") - (words[at] == ")")
        if depth == 0 and words[at] == "AS" and words[at + 1] in _QUERY_STARTS:
            return at + 1
    return None


def _columns(tokens: list[Token], words: list[str], opening: int, text: str) -> str:
    """Return the names in a column list as a list."""
    names = [text[tokens[at].start : tokens[at].end + 1] for at in _first_words(words, opening)]
    return f" ({', '.join(names)})" if names else ""


def _first_words(words: list[str], opening: int) -> Iterator[int]:
    depth, expected = 0, False
    for at in range(opening, len(words)):
        if expected and words[at] != ")":
            expected = False
            if words[at] not in _NO_COLUMN:
                yield at
        depth += (words[at] == "(") - (words[at] == ")")
        if depth == 0:
            return
        expected = expected or (depth == 1 and words[at] in ("(", ","))
