"""Finds a table of SQL among the datasets, as the platform compares names."""

from collections.abc import Iterable, Mapping

from sqlglot import Dialect, exp, maybe_parse
from sqlglot.dialects.dialect import NormalizationStrategy
from sqlglot.errors import SqlglotError

Parts = tuple[str, ...]


def is_dual(table: exp.Table) -> bool:
    """Whether it is the one row that Oracle, MySQL, Snowflake and others select constants from."""
    parts = [part.name.casefold() for part in table.parts]
    return parts in (["dual"], ["sys", "dual"], ["sysibm", "sysdummy1"])


class TableNames:
    """The datasets by their names in SQL, whole or without database and schema."""

    def __init__(self, dialect: Dialect, relations: Mapping[str, str]) -> None:
        """`relations`: the text that SQL has for each dataset, by unique id."""
        self._strategy = dialect.normalization_strategy
        self._exact = type(dialect).__name__.lower() == "bigquery"
        self._dialect = dialect
        self._by_parts: dict[Parts, list[str]] = {}
        for unique_id, text in relations.items():
            parts = self._parsed(text)
            for start in range(len(parts)):
                self._by_parts.setdefault(parts[start:], []).append(unique_id)
        self._whole = {unique_id: self._parsed(text) for unique_id, text in relations.items()}

    def find(self, table: exp.Table, preferred: Iterable[str]) -> str | None:
        """The one dataset that `table` can mean, those of `preferred` before others."""
        parts = self.parts(table)
        found = self._by_parts.get(parts, [])
        if not found and len(parts) > 2:
            # Spark, Hive and MySQL have no database, but SQL may write their catalog's name.
            found = [uid for uid in self._by_parts.get(parts[-2:], []) if len(self._whole[uid]) == 2]
        for candidates in (found, [uid for uid in found if uid in set(preferred)]):
            if len(candidates) == 1:
                return candidates[0]
        return None

    def parts(self, table: exp.Table) -> Parts:
        """The parts of a name as the platform compares them; a function's call is one part."""
        if not table.this:
            return ()
        if not isinstance(table.this, exp.Identifier | exp.Dot):
            return (table.this.sql(dialect=self._dialect, comments=False).casefold(),)
        return tuple(
            self._folded(part) if isinstance(part, exp.Identifier) else part.name for part in table.parts
        )

    def _parsed(self, text: str) -> Parts:
        try:
            return self.parts(maybe_parse(text, into=exp.Table, dialect=self._dialect))
        except (SqlglotError, RecursionError):
            return ()

    def _folded(self, part: exp.Identifier) -> str:
        name = part.name
        if self._exact or self._strategy is NormalizationStrategy.CASE_SENSITIVE:
            return name
        if self._strategy in (NormalizationStrategy.LOWERCASE, NormalizationStrategy.UPPERCASE):
            if part.args.get("quoted"):
                return name
            return name.lower() if self._strategy is NormalizationStrategy.LOWERCASE else name.upper()
        return name.casefold()
