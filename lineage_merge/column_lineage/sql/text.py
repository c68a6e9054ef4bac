"""Readable text of SQL expressions and of errors of the parser."""

import re
from collections.abc import Container
from functools import cached_property

from sqlglot import Dialect, ErrorLevel, exp
from sqlglot.errors import ParseError, SqlglotError, TokenError

from lineage_merge.column_lineage.sql.parsing import run_with_deep_stack
from lineage_merge.column_lineage.sql.tables import fold

_MAX_LENGTH = 1000


class ExpressionText:
    """The SQL of an expression, rendered lazily: most are never shown.

    Table names are omitted if the columns remain unambiguous. `tables` (folded) are those of the query.
    """

    def __init__(self, expression: exp.Expr, tables: Container[str], dialect: Dialect) -> None:
        self._expression = expression
        self._tables = tables
        self._dialect = dialect

    def __call__(self) -> str:
        """Return the text, at most 1,000 characters."""
        return self._text

    @cached_property
    def _text(self) -> str:
        try:
            return run_with_deep_stack(self._render)
        except Exception:  # noqa: BLE001 - an edge without its text is better than no edge
            return ""

    def _render(self) -> str:
        expression = self._expression.copy()
        columns = [
            column
            for column in expression.find_all(exp.Column)
            if column.table and not column.args.get("db") and fold(column.table) in self._tables
        ]
        owners: dict[str, set[str]] = {}
        for column in expression.find_all(exp.Column):
            owners.setdefault(fold(column.name), set()).add(fold(column.table))
        for column in columns:
            if len(owners[fold(column.name)]) == 1 and not isinstance(column.this, exp.Star):
                column.set("table", None)
        return cut(
            expression.sql(
                dialect=self._dialect,
                copy=False,
                comments=False,
                normalize_functions="lower",
                unsupported_level=ErrorLevel.IGNORE,
            )
        )


def cut(text: str) -> str:
    """Truncate a text to 1,000 characters."""
    return text if len(text) <= _MAX_LENGTH else text[: _MAX_LENGTH - 1] + "…"


# sqlglot prints tokens with all their fields.
_TOKEN = re.compile(r"<Token token_type: (?:TokenType\.)?(\w+), text: (.*?), line: .*>", re.DOTALL)


def reason(error: Exception, first_line: int = 1) -> str:
    """Return a message for `error`; the SQL starts at line `first_line` of its file."""
    if isinstance(error, ParseError):
        first = error.errors[0] if error.errors else {}
        line = first.get("line")
        location = f" (line {line + first_line - 1}, column {first.get('col')})" if line else ""
        description = str(first.get("description") or "").rstrip(".")
        return cut(_TOKEN.sub(_token, description) + location)
    if isinstance(error, TokenError):
        return "a text or a name in quotes does not end"
    if isinstance(error, SqlglotError):
        return cut(next(iter(str(error).splitlines()), ""))
    if isinstance(error, RecursionError):
        return "it is nested too deeply"
    return "its structure is not supported"  # the type of an internal error says nothing about the SQL


def _token(match: re.Match[str]) -> str:
    return "the end" if match[1] == "SENTINEL" else match[2]
