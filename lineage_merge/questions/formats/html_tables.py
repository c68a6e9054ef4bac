"""Tables of an answer as HTML, for notebooks. All texts are escaped."""

from collections.abc import Iterable, Iterator
from html import escape
from itertools import islice

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from lineage_merge.questions.formats.describe import one_line
from lineage_merge.questions.formats.table import AnswerTable

# A notebook stores its outputs.
_MAX_ROWS = 200


def html_tables(renderables: Iterable[RenderableType], note: str = "") -> str:
    """Return tables, the texts between them, and a note as HTML, without styles and scripts."""
    return "<div>" + "".join(_parts(renderables, note)) + "</div>"


def _parts(renderables: Iterable[RenderableType], note: str) -> Iterator[str]:
    for renderable in renderables:
        if isinstance(renderable, Table):
            # Tables without rows are omitted: the note is shown instead.
            if renderable.row_count:
                yield from _table(
                    renderable.without_empty_columns() if isinstance(renderable, AnswerTable) else renderable
                )
        elif text := _plain(renderable):
            yield f"<p>{escape(text)}</p>"
    if note:
        yield f"<p>{escape(one_line(note))}</p>"


def _table(table: Table) -> Iterator[str]:
    yield "<table><thead><tr>"
    yield from (f"<th>{escape(_plain(column.header))}</th>" for column in table.columns)
    yield "</tr></thead><tbody>"
    rows = zip(*(column.cells for column in table.columns), strict=True)
    for row in islice(rows, _MAX_ROWS):
        yield "<tr>" + "".join(f"<td>{escape(_plain(cell))}</td>" for cell in row) + "</tr>"
    yield "</tbody></table>"
    if table.row_count > _MAX_ROWS:
        yield f"<p>{table.row_count - _MAX_ROWS:,} more rows</p>"


def _plain(cell: RenderableType) -> str:
    return one_line(cell.plain if isinstance(cell, Text) else str(cell))
