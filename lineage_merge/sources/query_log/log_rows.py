"""What a log yields, distributed; statements leave this module without their literals."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from lineage_merge.infra.engine.rows import Rows
from lineage_merge.model.elements import Problem
from lineage_merge.sources.query_log.catalog import CatalogRow
from lineage_merge.sources.query_log.sessions import Prepared
from lineage_merge.sources.query_log.statement import LoggedStatement
from lineage_merge.sources.query_log.templates import Templates

# Dialects that write strings in double quotes.
_QUOTES = frozenset({"bigquery", "databricks", "hive", "mysql", "spark", "spark2"})


@dataclass(frozen=True, slots=True)
class LogRows:
    """The statements, the catalog and the problems of a log; `views`: definitions of views, as statements."""

    statements: Rows[Prepared]
    catalog: Rows[CatalogRow]
    problems: Rows[Problem]
    views: Rows[Prepared] | None = None


@dataclass(frozen=True, slots=True)
class Prepare:
    """Replaces the texts of statements by templates."""

    dialect: str

    def __call__(self, statements: Iterable[LoggedStatement]) -> Iterator[Prepared]:
        """Yield the statements without literals."""
        templates = Templates(quotes=self.dialect in _QUOTES)
        for statement in statements:
            yield Prepared(statement._replace(text=""), templates.of(statement.text))
