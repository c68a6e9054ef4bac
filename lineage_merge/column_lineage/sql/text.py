"""Readable text of SQL expressions."""

from collections.abc import Container
from functools import cached_property

from sqlglot import Dialect, ErrorLevel, exp

from lineage_merge.column_lineage.sql.depth import with_deep_stack
from lineage_merge.column_lineage.sql.tables import fold

_MAX_LENGTH = 1000


class Text:
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
            return with_deep_stack(self._render)
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
