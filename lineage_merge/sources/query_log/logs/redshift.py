"""Redshift's history: rows of its system views, from exported files or the Data API."""

from collections.abc import Iterator, Sequence
from functools import partial
from itertools import chain
from typing import Any, NamedTuple

from lineage_merge.infra.engine.rows import Engine, Rows
from lineage_merge.infra.storage import StoredFile, find_files
from lineage_merge.model.elements import Problem
from lineage_merge.model.errors import DocumentError, SourceMissing
from lineage_merge.model.times import epoch_ms
from lineage_merge.naming import redact
from lineage_merge.sources.query_log.logs.archive_layout import (
    Interval,
    complete_intervals,
    gaps,
    interval_of,
    intervals_lacking,
    latest_end,
    recent_files,
    select_until,
)
from lineage_merge.sources.query_log.logs.log_rows import (
    CATALOG,
    EXTENT,
    KINDS,
    PROBLEM,
    STATEMENT,
    Batch,
    LogRows,
    Prepare,
    batches,
    find_start,
    latest_time,
    select_kinds,
)
from lineage_merge.sources.query_log.logs.redshift_views import (
    HISTORY,
    TRANSACTIONS,
    VIEWS,
    Keyed,
    MissingColumn,
    TransactionEnd,
    complete_statement,
    read_row,
    with_outcome,
)
from lineage_merge.sources.query_log.logs.table_files import rows_of
from lineage_merge.sources.query_log.logs.users import Users
from lineage_merge.sources.query_log.settings import QueryLog
from lineage_merge.sources.query_log.statements.statement import LoggedStatement, Prepared, microseconds
from lineage_merge.sources.query_log.statements.view_definitions import ViewDefinition, statement_of
from lineage_merge.sources.runs.future_times import future_problem

# Rows in memory, by the bytes of their text: those of a partition are grouped by transaction.
_SIZE_OF_ROWS = 2


class ViewFile(NamedTuple):
    """A file with rows of a view."""

    view: str
    file: StoredFile


class ViewRows(NamedTuple):
    """What the rows of a log's views say, with the names of users.

    `intervals`: those of which it has all statements, none if they are unknown.
    """

    rows: Rows[Any]
    has_transactions: bool
    intervals: Sequence[Interval]


def files_of(log: QueryLog) -> list[ViewFile]:
    """List the files of a log: the view is the name of a folder above, or of the file before a dot or a dash.

    Intervals of an archive that are older than `lookback` are left out. Raises `SourceMissing` without files
    of SYS_QUERY_HISTORY, unless the archive of a warehouse without statements is complete.
    """
    return _list_archived(log)[0]


def _list_archived(log: QueryLog) -> tuple[list[ViewFile], list[Interval]]:
    """Return the files of a log, and the complete intervals of an archive."""
    try:
        files = find_files(log.path)
    except SourceMissing as error:
        if log.archive:
            remedy = "run lineage-merge archive-history"
            raise SourceMissing(f"{error.message}: {remedy}", remedy) from None
        raise
    latest = latest_end()
    recent = recent_files(files, log.lookback, latest)
    view_files = [ViewFile(view, file) for file in recent if (view := _view_of(file.location, log.path))]
    complete = select_until(complete_intervals(files), latest)
    if not any(view_file.view == HISTORY for view_file in view_files) and not complete:
        raise SourceMissing(
            f"{redact(log.path)}: no files of {HISTORY} found (a folder of this name with CSV or Parquet)"
        )
    return sorted(view_files), complete


def _view_of(location: str, root: str) -> str:
    below = location.removeprefix(root).lower()
    *folders, name = below.split("/")
    names = [*reversed(folders), name.split(".")[0], name.split("-")[0]]
    return next((part for part in names if part in VIEWS), "")


def read_files(engine: Engine, log: QueryLog) -> ViewRows:
    """Read a folder with exported views. Raises `SourceError`."""
    files, complete = _list_archived(log)
    engine.reserve(_SIZE_OF_ROWS * sum(view_file.file.text_bytes for view_file in files))
    partitions = max(engine.parallelism, min(len(files), 10_000))
    history = [view_file.file for view_file in files if view_file.view == HISTORY]
    transactions = [view_file.file for view_file in files if view_file.view == TRANSACTIONS]
    lacking = intervals_lacking(transactions, history, complete) if transactions else frozenset()
    rows = engine.rows(files, partitions).flat_map(partial(_read_file, lacking))
    named = [interval for file in files if (interval := interval_of(file.file))]
    latest = latest_end()
    ahead = sorted({interval for interval in named if interval.end > latest})
    if ahead:
        rows = rows.union(engine.rows([_ahead_problem(log, ahead)], 1))
    archived = complete or select_until((each for file in history if (each := interval_of(file))), latest)
    return ViewRows(rows, bool(transactions), archived)


def _ahead_problem(log: QueryLog, ahead: Sequence[Interval]) -> Problem:
    return future_problem(len(ahead), "interval", str(log), "archive", epoch_ms(ahead[0].end))


def _read_file(without_transactions: frozenset[Interval], view_file: ViewFile) -> Iterator[Any]:
    rows = _rows_of_file(view_file)
    if view_file.view == HISTORY and interval_of(view_file.file) in without_transactions:
        return chain.from_iterable(map(_open_end, rows))
    return rows


def _open_end(row: Any) -> Iterator[Any]:
    yield row
    statement = row.part if type(row) is Keyed else row
    if type(statement) is LoggedStatement:
        yield TransactionEnd(statement.transaction, None)


def _rows_of_file(view_file: ViewFile) -> Iterator[Any]:
    view, file = view_file
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


def assemble(logs: Sequence[ViewRows], dialect: str, users: Users) -> LogRows:
    """Put the rows of all views of a warehouse together: logs may have the same statements.

    Where transactions are not listed, sessions show what was rolled back.
    """
    has_transactions = any(log.has_transactions for log in logs)
    first, *others = (
        log.rows.flat_map(_open_end) if has_transactions and not log.has_transactions else log.rows
        for log in logs
    )
    rows = first.union(*others) if others else first
    read: Rows[Batch] = (
        rows.map(partial(_drop_users, users))
        .map_partitions(Prepare(dialect, users))
        .map_partitions(partial(batches, _KINDS, _find_start, latest_time()))
        .cache()
    )
    parts = select_kinds(read, _PART).group(lambda keyed: keyed.key, _complete)
    statements = select_kinds(read, STATEMENT).union(parts.map_partitions(Prepare(dialect, None)))
    if has_transactions:
        statements = statements.union(select_kinds(read, _OUTCOME)).group(_transaction_of, _add_outcome)
    lost = gaps([interval for log in logs for interval in log.intervals])
    definitions = select_kinds(read, _VIEW).map(statement_of).map_partitions(Prepare(dialect, None))
    return LogRows(
        statements,
        select_kinds(read, EXTENT),
        select_kinds(read, CATALOG),
        select_kinds(read, PROBLEM),
        definitions,
        microseconds(lost[-1].end) if lost else 0,
    )


_PART, _OUTCOME, _VIEW = "part", "outcome", "view"
_KINDS = {**KINDS, Keyed: _PART, TransactionEnd: _OUTCOME, ViewDefinition: _VIEW}


def _drop_users(users: Users, row: Any) -> Any:
    """Return a part of a statement that waits for the others without the name of its user."""
    if type(row) is Keyed and type(row.part) is LoggedStatement:
        return Keyed(row.key, users.replace(row.part))
    return row


def _find_start(row: Any) -> int | None:
    if type(row) is Keyed and type(row.part) is LoggedStatement:
        return row.part.started
    return find_start(row)


def _complete(_id: str, parts: list[Keyed]) -> Iterator[LoggedStatement]:
    statement = complete_statement(keyed.part for keyed in parts)
    if statement is not None:
        yield statement


def _transaction_of(row: Any) -> str:
    return row.transaction if type(row) is TransactionEnd else row.statement.transaction


def _add_outcome(_transaction: str, rows: list[Any]) -> Iterator[Prepared]:
    ends = [row.is_committed for row in rows if type(row) is TransactionEnd]
    for row in rows:
        if type(row) is Prepared:
            yield Prepared(with_outcome(row.statement, ends), row.template)
