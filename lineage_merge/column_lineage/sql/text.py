"""An expression as text for people."""

from collections.abc import Container
from functools import cached_property

from sqlglot import Dialect, ErrorLevel, exp

from lineage_merge.column_lineage.sql.depth import deep
from lineage_merge.column_lineage.sql.tables import fold

_LONGEST = 1000


class Text:
    """The SQL of an expression, written only when somebody asks: most are never shown.

    The names of tables are left out where that confuses no two columns. `tables` (folded)
    are those that the query knows.
    """

    def __init__(self, expression: exp.Expr, tables: Container[str], dialect: Dialect) -> None:
        self._expression = expression
        self._tables = tables
        self._dialect = dialect

    def __call__(self) -> str:
        """At most 1,000 characters."""
        return self._text

    @cached_property
    def _text(self) -> str:
        try:
            return deep(self._written)
        except Exception:  # noqa: BLE001 - an edge without its text is better than no edge
            return ""

    def _written(self) -> str:
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
    """At most 1,000 characters."""
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"
