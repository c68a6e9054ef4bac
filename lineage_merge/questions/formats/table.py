"""Tables of an answer: for terminals, as one CSV file for spreadsheets, and as HTML for notebooks.

A subgraph is a table of its edges or, without edges, of its vertices.
"""

import csv
import io
import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from html import escape
from typing import Any

from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, RenderableType
from rich.table import Table
from rich.text import Text

from lineage_merge.graph_format.elements import Subgraph, Vertex
from lineage_merge.questions.fields import attributes_by_header, cells
from lineage_merge.questions.formats.describe import declaration, one_line, title, transformation

# The first columns of the rows of named tables in a CSV.
TABLE = "table"
NAME = "name"
# Rows of HTML, because a notebook stores its outputs.
_MAX_ROWS = 200
_BETWEEN = "  "  # columns
_FORMULA = re.compile(r"[=+\-@\t\r]")
_NUMBER = re.compile(r"-?\d+(\.\d+)?")


class AnswerTable:
    """A table of an answer.

    `name`: what its rows are, if the answer has several tables; `is_summary`: it counts the rows of others.
    `optional`: columns that a terminal does not show if all their cells are empty. `values`: of its cells.
    """

    def __init__(
        self, *columns: str, name: str = "", is_summary: bool = False, optional: Collection[str] = ()
    ) -> None:
        self.name = name
        self.is_summary = is_summary
        self.optional = optional
        self.headers = tuple(map(one_line, columns))
        self.values: list[tuple[str | int, ...]] = []

    def add(self, *values: str | int) -> None:
        """Add a row; numbers are shown with thousands separators."""
        self.values.append(tuple(value if isinstance(value, int) else one_line(value) for value in values))

    def __rich_console__(self, _console: Console, options: ConsoleOptions) -> Iterator[Table]:
        """Yield the table for a terminal: cells wrap between words if all columns fit so, else anywhere."""
        table = Table(box=None, pad_edge=False)
        columns = [*zip(self.headers, *(map(_show, values) for values in self.values), strict=True)]
        widths = _widths(columns, options.max_width)
        for position, header in enumerate(self.headers):
            width = widths[position] if widths else None
            table.add_column(Text(header), overflow="fold", header_style="bold", width=width)
        for values in self.values:
            # Text, because names may contain square brackets, which are markup in str.
            table.add_row(*(Text(_show(value)) for value in values))
        yield table

    def lines(self, width: int) -> list[str] | None:
        """Return the header and the rows as rich prints them; None if they are wider, so that cells wrap.

        Of thousands of rows rich takes many times as long.
        """
        rows = [self.headers, *(tuple(map(_show, values)) for values in self.values)]
        widths = [max(map(cell_len, column)) for column in zip(*rows, strict=True)]
        if sum(widths) + len(_BETWEEN) * (len(widths) - 1) > width:
            return None
        return [
            _BETWEEN.join(
                cell + " " * (size - cell_len(cell)) for cell, size in zip(row, widths, strict=True)
            )
            for row in rows
        ]

    def drop_empty_columns(self) -> "AnswerTable":
        """Return the table without optional columns that have no values."""
        shown = [
            number
            for number, header in enumerate(self.headers)
            if header not in self.optional or any(str(values[number]) for values in self.values)
        ]
        headers = (self.headers[number] for number in shown)
        table = AnswerTable(*headers, name=self.name, is_summary=self.is_summary)
        table.values = [tuple(values[number] for number in shown) for values in self.values]
        return table

    def csv_header(self) -> list[str]:
        """Return the names of the columns, each once.

        The column that is headed by the name of the table is ``name``, a second ``job`` in column 5 is
        ``job 5``.
        """
        names: list[str] = []
        for position, header in enumerate(self.headers, 1):
            name = NAME if header and header == self.name else header or f"column {position}"
            names.append(name if name not in names else f"{name} {position}")
        return names


def _widths(columns: Sequence[Sequence[str]], width: int) -> list[int]:
    """Return widths of columns so that no word is wider, and narrow columns do not wrap; none if too wide."""
    least = [max((cell_len(word) for cell in cells for word in cell.split()), default=0) for cells in columns]
    left = width - sum(least) - len(_BETWEEN) * (len(columns) - 1)
    if left < 0:
        return []
    missing = [max(map(cell_len, cells)) - size for cells, size in zip(columns, least, strict=True)]
    for shared, position in enumerate(sorted(range(len(columns)), key=missing.__getitem__)):
        added = min(missing[position], left // (len(columns) - shared))
        least[position] += added
        left -= added
    return least


def table(graph: Subgraph) -> AnswerTable:
    """Return a table of the edges or, without edges, of the vertices."""
    return edge_table(graph) if graph.edges else vertex_table(graph.vertices.values())


def edge_table(graph: Subgraph) -> AnswerTable:
    table = AnswerTable("from", "edge", "to", "job", "how", "DAG")
    for edge in graph.edges:
        source, target = (title(graph, graph.vertices[end]) for end in (edge.from_id, edge.to_id))
        how = [transformation(edge)]
        how += [str(edge.properties.get(key, "")) for key in ("expression", "write_mode", "via")]
        how.append(declaration(edge))
        dag = edge.properties.get("dag_name", "")
        table.add(source, edge.label, target, edge.job, "  ".join(filter(None, how)), dag)
    return table


def vertex_table(vertices: Iterable[Vertex]) -> AnswerTable:
    table = AnswerTable("name", "label", "namespace", "environment", "DAGs", "about")
    for vertex in vertices:
        held = vertex.properties
        about = [str(held[key]) for key in ("job_type", "data_type", "format", "description") if key in held]
        place = str(held.get("namespace", "")), vertex.environment, ", ".join(vertex.dags)
        table.add(vertex.title, vertex.label, *place, "  ".join(about))
    return table


def row_table(
    rows: Iterable[Any], columns: str, name: str = "", *, optional: Collection[str] = ()
) -> AnswerTable:
    """Return a table of rows; `columns`: as `RowsResult.table` declares them."""
    attributes = attributes_by_header(columns)
    table = AnswerTable(*attributes, name=name, optional=optional)
    for row in rows:
        table.add(*cells(row, attributes.values()))
    return table


def csv_text(renderables: Iterable[RenderableType]) -> str:
    """Return one header, and the rows of all tables with the columns of all of them, in order.

    If tables have a name, the first column is the name of a row's table. Texts between tables and summaries
    are left out. The same tables give the same header, also without rows.
    """
    tables = [part for part in renderables if isinstance(part, AnswerTable) and not part.is_summary]
    named = any(table.name for table in tables)
    header = list(dict.fromkeys(name for table in tables for name in table.csv_header()))
    written = io.StringIO()
    writer = csv.writer(written, lineterminator="\n")
    if header:
        writer.writerow([safe_cell(name) for name in ([TABLE, *header] if named else header)])
    for table in tables:
        first = [table.name] if named else []
        for values in table.values:
            row = dict(zip(table.csv_header(), map(str, values), strict=True))
            writer.writerow([safe_cell(cell) for cell in (*first, *(row.get(name, "") for name in header))])
    return written.getvalue()


def safe_cell(text: str) -> str:
    """Return a cell; one that a spreadsheet would run as a formula starts with an apostrophe."""
    return f"'{text}" if _FORMULA.match(text) and not _NUMBER.fullmatch(text) else text


def html_tables(renderables: Iterable[RenderableType], note: str = "") -> str:
    """Return tables, the texts between them, and a note as HTML, without styles and scripts."""
    return "<div>" + "".join(_html_parts(renderables, note)) + "</div>"


def _html_parts(renderables: Iterable[RenderableType], note: str) -> Iterator[str]:
    for renderable in renderables:
        if isinstance(renderable, AnswerTable):
            # Tables without rows are omitted: the note is shown instead.
            if renderable.values:
                yield from _html_table(renderable.drop_empty_columns())
        elif text := one_line(str(renderable)):
            yield f"<p>{escape(text)}</p>"
    if note:
        yield f"<p>{escape(one_line(note))}</p>"


def _html_table(table: AnswerTable) -> Iterator[str]:
    yield "<table><thead><tr>"
    yield from (f"<th>{escape(header)}</th>" for header in table.headers)
    yield "</tr></thead><tbody>"
    for values in table.values[:_MAX_ROWS]:
        yield "<tr>" + "".join(f"<td>{escape(_show(value))}</td>" for value in values) + "</tr>"
    yield "</tbody></table>"
    if len(table.values) > _MAX_ROWS:
        yield f"<p>{len(table.values) - _MAX_ROWS:,} more rows</p>"


def _show(value: str | int) -> str:
    return f"{value:,}" if isinstance(value, int) else value
