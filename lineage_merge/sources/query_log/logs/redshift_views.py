"""Rows of Redshift's system views as parts of logged statements. Pure.

Their columns are those of AWS's documentation; rows of other views are not read.
"""

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from datetime import datetime
from typing import Any, NamedTuple

from lineage_merge.sources.query_log.statements.catalog import CatalogColumn, CatalogRow, ExternalTable
from lineage_merge.sources.query_log.statements.statement import LoggedStatement, Outcome, microseconds
from lineage_merge.sources.query_log.statements.templates import MOVES_FILES, begins
from lineage_merge.sources.query_log.statements.view_definitions import ViewDefinition

# The text in SYS_QUERY_HISTORY is cut at this length; SYS_QUERY_TEXT has pieces of it.
TEXT_LENGTH = 4000
# Without the spaces at its end.
_MAY_BE_CUT = 3900
# Before patch 181 of Redshift, and in what some clients export, a text has no line breaks but `\\n`.
_ESCAPED_SPACE = re.compile(r"\\[nrt]")
_FAILED = frozenset({"failed", "canceled", "cancelled", "aborted"})
# The comment before the statements that this package runs itself: they are not lineage.
OWN_COMMENT = "/* lineage-merge */"
# Redshift's own statements.
_SYSTEM_USERS = frozenset({"1"})


class TextPiece(NamedTuple):
    """A piece of a statement's text."""

    sequence: int
    text: str


class MovedFile(NamedTuple):
    """A file that a COPY read, or an UNLOAD wrote."""

    location: str


class RowCount(NamedTuple):
    """The number of rows that a COPY or an UNLOAD moved."""

    rows: int


class TransactionEnd(NamedTuple):
    """Whether a transaction was committed; None: the view of transactions was not exported."""

    transaction: str
    is_committed: bool | None


Part = LoggedStatement | TextPiece | MovedFile | RowCount


class Keyed(NamedTuple):
    """A part with the id of its statement."""

    key: str
    part: Part


# What a row of a view says; of a statement that has other parts, a part.
ViewContent = Keyed | LoggedStatement | TransactionEnd | CatalogRow | ViewDefinition


class MissingColumn(ValueError):
    """A row lacks a column, or has no valid value in it."""

    def __init__(self, column: str, problem: str) -> None:
        super().__init__(column)
        self.column = column
        self.problem = problem


def _text(row: Mapping[str, Any], *names: str) -> str:
    """Return the first of the columns that exists, without the padding of CHAR. Raises `MissingColumn`."""
    for name in names:
        if name in row:
            value = row[name]
            if type(value) is not str:  # as rarely
                value = "" if value is None else str(value)
            return value.rstrip()
    raise MissingColumn(names[0], "missing column")


def _optional(row: Mapping[str, Any], name: str) -> str:
    value = row.get(name)
    return "" if value is None else str(value).rstrip()


def _number(row: Mapping[str, Any], *names: str) -> int:
    text = _text(row, *names)
    try:
        return int(float(text)) if text else 0
    except (ValueError, OverflowError):
        raise MissingColumn(names[0], "expected a number") from None


def _time(row: Mapping[str, Any], name: str) -> int:
    """Return a time in microseconds since 1970; Redshift's times are UTC."""
    value = row.get(name)
    if not isinstance(value, datetime):
        text = _text(row, name)
        if not text:
            return 0
        try:
            value = datetime.fromisoformat(text)
        except ValueError:
            raise MissingColumn(name, "expected a time such as 2026-11-01 06:00:00.123456") from None
    return microseconds(value)


def _statement(row: Mapping[str, Any]) -> Iterator[Keyed | LoggedStatement]:
    user_id, text = _optional(row, "user_id"), _text(row, "query_text")
    if user_id in _SYSTEM_USERS or text.startswith(OWN_COMMENT):
        return
    status = _text(row, "status").lower()
    outcome: Outcome = "open" if status == "success" else "failed" if status in _FAILED else "running"
    database = _text(row, "database_name")
    has_parts = _has_parts(text)
    statement = LoggedStatement(
        id=_text(row, "query_id"),
        # Not of a user: procedures run as their owner. It is in the graph, as a run of a job.
        session=f"{_text(row, 'session_id')}|{database}",
        text=text if has_parts else _restore_line_breaks(text),
        transaction=_transaction_id(row),
        database=database,
        user=_optional(row, "username"),
        started=_time(row, "start_time"),
        ended=_time(row, "end_time"),
        outcome=outcome,
        label=_optional(row, "query_label"),
    )
    yield Keyed(statement.id, statement) if has_parts else statement


def _transaction_id(row: Mapping[str, Any]) -> str:
    """Return the identifier of a transaction, "" without one (-1, 0)."""
    transaction = _text(row, "transaction_id")
    return "" if transaction.startswith("-") or transaction == "0" else transaction


def _restore_line_breaks(text: str) -> str:
    """Return a text in which escaped line breaks and tabs are blank; one with line breaks has no others."""
    if "\\" not in text or "\n" in text:
        return text
    return _ESCAPED_SPACE.sub("\n", text)


def _piece(row: Mapping[str, Any]) -> Iterator[Keyed]:
    sequence = _number(row, "sequence")
    text = row.get("text")
    if text is None:
        raise MissingColumn("text", "missing column")
    # Only statements of several pieces are put together: the first one is also in SYS_QUERY_HISTORY.
    if sequence or len(str(text)) >= TEXT_LENGTH:
        yield Keyed(_text(row, "query_id"), TextPiece(sequence, str(text)))


def _file(row: Mapping[str, Any]) -> Iterator[Keyed]:
    yield Keyed(_text(row, "query_id"), MovedFile(_text(row, "file_name").strip()))


def _read_load(row: Mapping[str, Any]) -> Iterator[Keyed]:
    yield Keyed(_text(row, "query_id"), RowCount(_number(row, "loaded_rows")))


def _read_unload(row: Mapping[str, Any]) -> Iterator[Keyed]:
    yield Keyed(_text(row, "query_id"), RowCount(_number(row, "unloaded_rows")))


def _transaction(row: Mapping[str, Any]) -> Iterator[TransactionEnd]:
    yield TransactionEnd(_transaction_id(row), _text(row, "status").lower() == "committed")


def _column(row: Mapping[str, Any]) -> Iterator[CatalogRow]:
    yield CatalogColumn(
        _text(row, "database_name", "table_catalog"),
        _text(row, "schema_name", "table_schema"),
        _text(row, "table_name"),
        _text(row, "column_name"),
        _number(row, "ordinal_position"),
        _optional(row, "data_type").lower(),
    )


def _external(row: Mapping[str, Any]) -> Iterator[CatalogRow]:
    location = _text(row, "location")
    if location:
        database = _optional(row, "redshift_database_name")
        yield ExternalTable(database, _text(row, "schemaname"), _text(row, "tablename"), location)


def _view(row: Mapping[str, Any]) -> Iterator[ViewDefinition]:
    definition = _text(row, "definition")
    if definition:
        yield ViewDefinition(
            _text(row, "database_name", "current_database"),
            _text(row, "schemaname"),
            _text(row, "viewname"),
            definition,
        )


def _nothing(_row: Mapping[str, Any]) -> Iterator[Keyed]:
    return iter(())


# `SYS_PROCEDURE_CALL` repeats the CALL of SYS_QUERY_HISTORY, whose time contains that of its statements.
DEFINITIONS = "pg_views"
VIEWS: Mapping[str, Callable[[Mapping[str, Any]], Iterator[ViewContent]]] = {
    "sys_query_history": _statement,
    "sys_query_text": _piece,
    "sys_transaction_history": _transaction,
    "sys_load_history": _read_load,
    "sys_load_detail": _file,
    "sys_unload_history": _read_unload,
    "sys_unload_detail": _file,
    "sys_procedure_call": _nothing,
    "svv_all_columns": _column,
    "svv_columns": _column,
    "svv_external_tables": _external,
    DEFINITIONS: _view,
}
HISTORY, TRANSACTIONS = "sys_query_history", "sys_transaction_history"
CATALOG_VIEWS = ("svv_all_columns", "svv_columns", "svv_external_tables")


def read_row(view: str, row: Mapping[str, Any]) -> Iterator[ViewContent]:
    """Yield what a row of a view says. Raises `MissingColumn`."""
    return VIEWS[view](row)


def _has_parts(text: str) -> bool:
    """Return whether other views have more about a statement: its whole text, its files, its rows."""
    return len(text) >= _MAY_BE_CUT or begins(MOVES_FILES, text)


def complete_statement(parts: Iterable[Part]) -> LoggedStatement | None:
    """Return a statement with its whole text, its files and its rows; None without the statement."""
    all_parts = list(parts)
    statement = max((part for part in all_parts if isinstance(part, LoggedStatement)), default=None)
    if statement is None:
        return None
    # Exports overlap: a piece may be there twice.
    pieces = {part.sequence: part.text for part in all_parts if isinstance(part, TextPiece)}
    if pieces:
        pieces.setdefault(0, statement.text)
        *cut, last = (pieces[sequence] for sequence in sorted(pieces))
        statement = statement._replace(text="".join([*map(_restore_blanks, cut), last]))
    statement = statement._replace(text=_restore_line_breaks(statement.text))
    files = {part.location for part in all_parts if isinstance(part, MovedFile)}
    rows = [part.rows for part in all_parts if isinstance(part, RowCount)]
    return statement._replace(files=tuple(sorted(files)), rows=max(rows, default=None))


def _restore_blanks(piece: str) -> str:
    """Return a piece that others follow with the blanks at its end, which exports may lack."""
    return piece + " " * (TEXT_LENGTH - len(piece.encode()))


def with_outcome(statement: LoggedStatement, ends: Collection[bool | None]) -> LoggedStatement:
    """Return a statement with the outcome of its transaction.

    One without an end still runs; if that is unknown (None), the statement remains open, as without one.
    """
    if statement.outcome != "open" or not statement.transaction:
        return statement
    outcome: Outcome = "open" if None in ends else "running"
    if True in ends:
        outcome = "committed"
    elif False in ends:
        outcome = "rolled_back"
    return statement._replace(outcome=outcome)
