"""Redshift's history: rows of its system views, from exported files or the Data API."""

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from lineage_merge.infra.engine.rows import Engine, Rows
from lineage_merge.infra.storage import StoredFile, find_files
from lineage_merge.model.elements import Problem
from lineage_merge.model.errors import DocumentError, SourceMissing
from lineage_merge.naming import redact
from lineage_merge.sources.query_log.archive_layout import is_marker, recent_files
from lineage_merge.sources.query_log.catalog import CatalogColumn, ExternalTable
from lineage_merge.sources.query_log.log_rows import LogRows, Prepare
from lineage_merge.sources.query_log.redshift_views import (
    HISTORY,
    TRANSACTIONS,
    VIEWS,
    Committed,
    Keyed,
    MissingColumn,
    completed,
    needs_parts,
    read_row,
    with_outcome,
)
from lineage_merge.sources.query_log.sessions import Prepared
from lineage_merge.sources.query_log.settings import QueryLog
from lineage_merge.sources.query_log.statement import LoggedStatement
from lineage_merge.sources.query_log.table_files import rows_of


class ViewFile(NamedTuple):
    """A file with rows of a view."""

    view: str
    file: StoredFile


def files_of(log: QueryLog) -> list[ViewFile]:
    """List the files of a log: the view is the name of a folder above, or of the file before a dot or a dash.

    Intervals of an archive that are older than `lookback` are left out. Raises `SourceMissing` without files
    of SYS_QUERY_HISTORY, unless the archive of a warehouse without statements is complete.
    """
    try:
        files = find_files(log.path)
    except SourceMissing as error:
        if log.archive:
            remedy = "run lineage-merge archive-history"
            raise SourceMissing(f"{error.message}: {remedy}", remedy) from None
        raise
    recent = recent_files(files, log.lookback)
    found = [ViewFile(view, file) for file in recent if (view := _view_of(file.location, log.path))]
    if not any(each.view == HISTORY for each in found) and not any(is_marker(file) for file in files):
        raise SourceMissing(
            f"{redact(log.path)}: no files of {HISTORY} found (a folder of this name with CSV or Parquet)"
        )
    return sorted(found)


def _view_of(location: str, root: str) -> str:
    below = location.removeprefix(root).lower()
    *folders, name = below.split("/")
    names = [*reversed(folders), name.split(".")[0], name.split("-")[0]]
    return next((each for each in names if each in VIEWS), "")


def read_files(engine: Engine, log: QueryLog) -> LogRows:
    """Read a folder with exported views. Raises `SourceError`."""
    files = files_of(log)
    engine.reserve(sum(each.file.text_bytes for each in files))
    partitions = max(engine.parallelism, min(len(files), 10_000))
    rows = engine.rows(files, partitions).flat_map(_read_file)
    return assemble(rows, log, has_transactions=any(each.view == TRANSACTIONS for each in files))


def _read_file(found: ViewFile) -> Iterator[Any]:
    view, file = found
    try:
        for number, row in rows_of(file):
            try:
                yield from read_row(view, row)
            except MissingColumn as error:
                yield Problem("rejected", f"{file.location}, row {number}", error.column, error.problem)
                if error.problem == "missing column":  # in all rows
                    return
    except DocumentError as error:
        yield Problem("rejected", error.document, error.field, error.problem)


def assemble(rows: Rows[Any], log: QueryLog, *, has_transactions: bool) -> LogRows:
    """Put the rows of all views together. Without transactions, sessions show what was rolled back."""
    read = rows.map_partitions(_Simplify(log.dialect)).cache()
    whole = read.filter(_is_prepared)
    parts = (
        read.filter(_is_part).group(lambda keyed: keyed.key, _complete).map_partitions(Prepare(log.dialect))
    )
    statements: Rows[Any] = whole.union(parts)
    if has_transactions:
        outcomes = read.filter(_is_outcome)
        statements = statements.union(outcomes).group(_transaction_of, _with_outcome)
    return LogRows(
        statements,
        read.filter(lambda row: isinstance(row, CatalogColumn | ExternalTable)),
        read.filter(lambda row: isinstance(row, Problem)),
    )


class _Simplify:
    """Removes the literals of statements that are complete; the others wait for the rest of them."""

    def __init__(self, dialect: str) -> None:
        self._prepare = Prepare(dialect)

    def __call__(self, rows: Iterable[Any]) -> Iterator[Any]:
        others: list[Any] = []

        def complete() -> Iterator[LoggedStatement]:
            for row in rows:
                if (
                    isinstance(row, Keyed)
                    and isinstance(row.part, LoggedStatement)
                    and not needs_parts(row.part)
                ):
                    yield row.part
                else:
                    others.append(row)

        for prepared in self._prepare(complete()):
            yield from others
            others.clear()
            yield prepared
        yield from others


def _is_prepared(row: Any) -> bool:
    return isinstance(row, Prepared)


def _is_part(row: Any) -> bool:
    return isinstance(row, Keyed) and not isinstance(row.part, Committed)


def _is_outcome(row: Any) -> bool:
    return isinstance(row, Keyed) and isinstance(row.part, Committed)


def _complete(_id: str, parts: list[Keyed]) -> Iterator[LoggedStatement]:
    statement = completed(each.part for each in parts)
    if statement is not None:
        yield statement


def _transaction_of(row: Any) -> str:
    return row.key if isinstance(row, Keyed) else row.statement.transaction


def _with_outcome(_transaction: str, rows: list[Any]) -> Iterator[Prepared]:
    transactions = [
        row.part.is_committed for row in rows if isinstance(row, Keyed) and isinstance(row.part, Committed)
    ]
    for row in rows:
        if isinstance(row, Prepared):
            yield row._replace(statement=with_outcome(row.statement, transactions))
