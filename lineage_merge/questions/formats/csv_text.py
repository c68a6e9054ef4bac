"""Tables of an answer as one CSV file, for spreadsheets and scripts."""

import csv
import io
import re
from collections.abc import Iterable, Iterator

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from lineage_merge.questions.formats.describe import one_line
from lineage_merge.questions.formats.table import AnswerTable, Number

# The first columns of the rows of named tables.
TABLE = "table"
NAME = "name"

_FORMULA = re.compile(r"[=+\-@\t\r]")
_NUMBER = re.compile(r"-?\d+(\.\d+)?")


def csv_text(renderables: Iterable[RenderableType]) -> str:
    """Return one header, and the rows of all tables with the columns of all of them, in order.

    If tables have a name, the first column is the name of a row's table. Texts between tables and summaries
    are left out. The same tables give the same header, also without rows.
    """
    tables = [
        renderable
        for renderable in renderables
        if isinstance(renderable, Table) and not _is_summary(renderable)
    ]
    named = any(_name(table) for table in tables)
    header = list(dict.fromkeys(name for table in tables for name in _header(table)))
    written = io.StringIO()
    writer = csv.writer(written, lineterminator="\n")
    if header:
        writer.writerow([safe_cell(each) for each in ([TABLE, *header] if named else header)])
    for table in tables:
        for row in _rows(table):
            cells = dict(zip(_header(table), row, strict=True))
            first = [_name(table)] if named else []
            writer.writerow([safe_cell(cell) for cell in (*first, *(cells.get(name, "") for name in header))])
    return written.getvalue()


def safe_cell(text: str) -> str:
    """Return a cell; one that a spreadsheet would run as a formula starts with an apostrophe."""
    return f"'{text}" if _FORMULA.match(text) and not _NUMBER.fullmatch(text) else text


def _is_summary(table: Table) -> bool:
    return isinstance(table, AnswerTable) and table.is_summary


def _name(table: Table) -> str:
    return table.name if isinstance(table, AnswerTable) else ""


def _header(table: Table) -> list[str]:
    """Return the names of the columns, each once.

    The column that is headed by the name of its table is ``name``, a second ``job`` in column 5 is ``job 5``.
    """
    names: list[str] = []
    for position, column in enumerate(table.columns, 1):
        name = _plain(column.header) or f"column {position}"
        name = NAME if name == _name(table) else name
        names.append(name if name not in names else f"{name} {position}")
    return names


def _rows(table: Table) -> Iterator[tuple[str, ...]]:
    columns = [[_plain(cell) for cell in column.cells] for column in table.columns]
    return zip(*columns, strict=True)


def _plain(cell: RenderableType) -> str:
    if isinstance(cell, Number):
        return str(cell.value)
    return one_line(cell.plain if isinstance(cell, Text) else str(cell))
