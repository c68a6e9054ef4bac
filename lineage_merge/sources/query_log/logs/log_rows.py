"""What a log yields, distributed; statements leave this module without their literals and users."""

import pickle
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

from lineage_merge.infra.engine.rows import Rows
from lineage_merge.model.elements import Problem
from lineage_merge.model.times import latest_credible
from lineage_merge.sources.query_log.logs.users import Users
from lineage_merge.sources.query_log.statements.catalog import CatalogColumn, CatalogRow, ExternalTable
from lineage_merge.sources.query_log.statements.statement import LoggedStatement, Prepared, Template
from lineage_merge.sources.query_log.statements.templates import Templates, statements_in

# Dialects that write strings in double quotes.
_QUOTES = frozenset({"bigquery", "databricks", "hive", "mysql", "spark", "spark2"})
_BATCH = 2000


class Extent(NamedTuple):
    """The times of the first and the last statement (microseconds since 1970), without wrong ones.

    `ahead`: the number of statements with a later time than is credible, and the earliest of these times.
    """

    first: int | None = None
    last: int | None = None
    ahead: tuple[int, int] = (0, 0)


@dataclass(frozen=True, slots=True)
class LogRows:
    """What a log contains; `extents`: of its statements, `views`: definitions of views, as statements.

    `observed_from`: the time since which it has all statements, if some are lost before (microseconds).
    """

    statements: Rows[Prepared]
    extents: Rows[Extent]
    catalog: Rows[CatalogRow]
    problems: Rows[Problem]
    views: Rows[Prepared] | None = None
    observed_from: int = 0


@dataclass(frozen=True, slots=True)
class Prepare:
    """Replaces the texts of statements by templates, and the names of users (None: they are already)."""

    dialect: str
    users: Users | None

    def __call__(self, rows: Iterable[Any]) -> Iterator[Any]:
        """Yield the rows, statements without literals and the others as they are."""
        templates = Templates(quotes=self.dialect in _QUOTES)
        users = self.users
        for row in rows:
            if type(row) is not LoggedStatement:
                yield row
                continue
            user, reader = (row.user, row.reader) if users is None else users.names(row.user)
            statement = row._replace(text="", user=user, reader=reader)
            texts = statements_in(row.text)
            if len(texts) == 1:
                yield Prepared(statement, templates.find_template(row.text))
            else:
                yield from _several(statement, [templates.find_template(text) for text in texts])


def _several(statement: LoggedStatement, templates: list[Template]) -> Iterator[Prepared]:
    """Yield the statements of one text, in order; the comment of any is that of all."""
    owner = next((template.owner for template in templates if template.owner is not None), None)
    for number, template in enumerate(templates):
        part = statement._replace(
            id=f"{statement.id}.{number}",
            started=statement.started + number,
            rows=None,
            text_id=statement.id,
        )
        yield Prepared(part, template if template.owner is not None else template._replace(owner=owner))


class Batch(NamedTuple):
    """Rows of one kind, pickled: what reads only other kinds does not unpickle them."""

    kind: str
    rows: bytes


def batches(
    kind_of: Mapping[type, str], started_of: Callable[[Any], int | None], latest: int, rows: Iterable[Any]
) -> Iterator[Batch]:
    """Yield batches of rows by the kinds of their types, and the extent of the statements.

    `started_of`: the time of a row that is a statement. Times after `latest` are wrong.
    """
    waiting: dict[str, list[Any]] = {kind: [] for kind in (*kind_of.values(), EXTENT)}
    first = last = None
    number, earliest = 0, 0
    for row in rows:
        started = started_of(row)
        if started is None:
            pass
        elif started > latest:
            number, earliest = number + 1, min(earliest or started, started)
        elif first is None or last is None:
            first = last = started
        elif not first <= started <= last:
            first, last = min(first, started), max(last, started)
        kind = kind_of[type(row)]
        batch_rows = waiting[kind]
        batch_rows.append(row)
        if len(batch_rows) == _BATCH:
            yield Batch(kind, pickle.dumps(batch_rows, pickle.HIGHEST_PROTOCOL))
            batch_rows.clear()
    if number or first is not None:
        waiting[EXTENT] = [Extent(first, last, (number, earliest))]
    for kind, batch_rows in waiting.items():
        if batch_rows:
            yield Batch(kind, pickle.dumps(batch_rows, pickle.HIGHEST_PROTOCOL))


def latest_time() -> int:
    """Return the latest credible time in microseconds since 1970."""
    return latest_credible() * 1000


def find_start(row: Any) -> int | None:
    """Return the time of a prepared statement, None of another row."""
    return row.statement.started if type(row) is Prepared else None


def select_kinds(rows: Rows[Batch], *kinds: str) -> Rows[Any]:
    """Return the rows of some kinds."""
    return rows.flat_map(partial(_select_kinds, kinds))


def _select_kinds(kinds: tuple[str, ...], batch: Batch) -> Iterable[Any]:
    return pickle.loads(batch.rows) if batch.kind in kinds else ()  # noqa: S301 - of `batches`


EXTENT, STATEMENT, CATALOG, PROBLEM = "extent", "statement", "catalog", "problem"
KINDS: Mapping[type, str] = {
    Prepared: STATEMENT,
    CatalogColumn: CATALOG,
    ExternalTable: CATALOG,
    Problem: PROBLEM,
}
