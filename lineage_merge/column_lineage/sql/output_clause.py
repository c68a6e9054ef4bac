"""The OUTPUT clause of T-SQL's INSERT, UPDATE, DELETE and MERGE, which the parser reads in part. Pure."""

import re
from typing import NamedTuple

from sqlglot import Dialect, exp, parse_one

from lineage_merge.column_lineage.sql.platforms import TSQL, platform_of

_OUTPUT = re.compile(r"\boutput\b", re.IGNORECASE)
_MODIFIES = re.compile(r"(?:with|insert|update|delete|merge)\b", re.IGNORECASE)
_ENDS = frozenset(
    {"DEFAULT", "EXEC", "EXECUTE", "FROM", "OPTION", "OUTPUT", "SELECT", "VALUES", "WHERE", "WITH", ";"}
)


class Output(NamedTuple):
    """A statement without its OUTPUT clauses, and the one that goes to a table."""

    statement: str
    returning: exp.Returning | None


def cut_output(text: str, dialect: Dialect) -> Output:
    """Cut the OUTPUT clauses out of a statement; any other text as it is. Raises `SqlglotError`."""
    if platform_of(dialect) not in TSQL or not _MODIFIES.match(text) or not _OUTPUT.search(text):
        return Output(text, None)
    tokens = dialect.tokenize(text)
    words = [text[token.start : token.end + 1].upper() for token in tokens]
    depths = []
    depth = 0
    for word in words:
        depth -= word == ")"
        depths.append(depth)
        depth += word == "("
    returning: exp.Returning | None = None
    cut: list[tuple[int, int]] = []
    for at, word in enumerate(words):
        if word != "OUTPUT" or depths[at] != 0:
            continue
        inner = range(at + 1, len(words))
        end = next((to for to in inner if depths[to] == 0 and words[to] in _ENDS), len(words))
        into = next((to for to in range(at + 1, end) if words[to] == "INTO" and depths[to] == 0), None)
        stop = tokens[end].start if end < len(tokens) else len(text)
        cut.append((tokens[at].start, stop))
        if into is None:
            continue
        values = parse_one(f"SELECT {text[tokens[at].end + 1 : tokens[into].start]}", dialect=dialect)
        # The column list belongs to the table, and is not part of the query after it.
        listed = next((to for to in range(into + 1, end) if words[to] == "("), end)
        name_end = tokens[listed].start if listed < len(tokens) else len(text)
        table = exp.to_table(text[tokens[into].end + 1 : min(name_end, stop)].strip(), dialect=dialect)
        columns = [
            exp.to_identifier(tokens[to].text) for to in range(listed + 1, end) if words[to] not in (",", ")")
        ]
        target = exp.Schema(this=table, expressions=columns) if columns else table
        returning = exp.Returning(expressions=values.expressions, into=target)
    for start, stop in reversed(cut):
        removed = text[start:stop]
        text = f"{text[:start]} {chr(10) * removed.count(chr(10))}{text[stop:]}"
    return Output(text, returning)
