"""Redshift's history: rows of its system views, from exported files or the Data API."""

from collections.abc import Iterator
from functools import partial
from typing import Any, NamedTuple

from lineage_merge.infra.engine.rows import Engine, Rows
from lineage_merge.infra.storage import StoredFile, find_files
from lineage_merge.model.elements import Problem
from lineage_merge.model.errors import DocumentError, SourceMissing
from lineage_merge.naming import redact
from lineage_merge.sources.query_log.archive_layout import is_marker, recent_files
from lineage_merge.sources.query_log.log_rows import (
    CATALOG,
    EXTENT,
    KINDS,
    PROBLEM,
    STATEMENT,
    Batch,
    LogRows,
    Prepare,
    batches,
    of_kind,
    started_of,
)
from lineage_merge.sources.query_log.redshift_views import (
    HISTORY,
    TRANSACTIONS,
    VIEWS,
    Keyed,
    MissingColumn,
    TransactionEnd,
    completed,
    read_row,
    with_outcome,
)
from lineage_merge.sources.query_log.sessions import Prepared
from lineage_merge.sources.query_log.settings import QueryLog
from lineage_merge.sources.query_log.statement import LoggedStatement
from lineage_merge.sources.query_log.table_files import rows_of
from lineage_merge.sources.query_log.users import Users
from lineage_merge.sources.query_log.view_definitions import ViewDefinition, statement_of


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


def read_files(engine: Engine, log: QueryLog, users: Users) -> LogRows:
    """Read a folder with exported views. Raises `SourceError`."""
    files = files_of(log)
    engine.reserve(sum(each.file.text_bytes for each in files))
    partitions = max(engine.parallelism, min(len(files), 10_000))
    rows = engine.rows(files, partitions).flat_map(_read_file)
    return assemble(rows, log, users, has_transactions=any(each.view == TRANSACTIONS for each in files))


def _read_file(found: ViewFile) -> Iterator[Any]:
    view, file = found
    try:
        for number, row in rows_of(file):
            try:
                for read in read_row(view, row):
                    if isinstance(read, ViewDefinition):
                        yield read._replace(location=file.location)
                    else:
                        yield read
            except MissingColumn as error:
                yield Problem("rejected", f"{file.location}, row {number}", error.column, error.problem)
                if error.problem == "missing column":  # in all rows
                    return
    except DocumentError as error:
        yield Problem("rejected", error.document, error.field, error.problem)


def assemble(rows: Rows[Any], log: QueryLog, users: Users, *, has_transactions: bool) -> LogRows:
    """Put the rows of all views together. Without transactions, sessions show what was rolled back."""
    read: Rows[Batch] = (
        rows.map(partial(_without_users, users))
        .map_partitions(Prepare(log.dialect, users))
        .map_partitions(partial(batches, _KINDS, _started_of))
        .cache()
    )
    parts = of_kind(read, _PART).group(lambda keyed: keyed.key, _complete)
    statements = of_kind(read, STATEMENT).union(parts.map_partitions(Prepare(log.dialect, None)))
    if has_transactions:
        statements = statements.union(of_kind(read, _OUTCOME)).group(_transaction_of, _with_outcome)
    definitions = of_kind(read, _VIEW).map(statement_of).map_partitions(Prepare(log.dialect, None))
    return LogRows(
        statements, of_kind(read, EXTENT), of_kind(read, CATALOG), of_kind(read, PROBLEM), definitions
    )


_PART, _OUTCOME, _VIEW = "part", "outcome", "view"
_KINDS = {**KINDS, Keyed: _PART, TransactionEnd: _OUTCOME, ViewDefinition: _VIEW}


def _without_users(users: Users, row: Any) -> Any:
    """Return a part of a statement that waits for the others without the name of its user."""
    if type(row) is Keyed and type(row.part) is LoggedStatement:
        return Keyed(row.key, users.replaced(row.part))
    return row


def _started_of(row: Any) -> int | None:
    if type(row) is Keyed and type(row.part) is LoggedStatement:
        return row.part.started
    return started_of(row)


def _complete(_id: str, parts: list[Keyed]) -> Iterator[LoggedStatement]:
    statement = completed(each.part for each in parts)
    if statement is not None:
        yield statement


def _transaction_of(row: Any) -> str:
    return row.transaction if type(row) is TransactionEnd else row.statement.transaction


def _with_outcome(_transaction: str, rows: list[Any]) -> Iterator[Prepared]:
    ends = [row.is_committed for row in rows if type(row) is TransactionEnd]
    for row in rows:
        if type(row) is Prepared:
            yield Prepared(with_outcome(row.statement, ends), row.template)
