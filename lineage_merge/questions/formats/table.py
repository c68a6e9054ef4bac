"""A subgraph as a table of its edges or, without edges, of its vertices."""

from collections.abc import Collection, Iterable, Mapping
from typing import Any

from rich.table import Table
from rich.text import Text

from lineage_merge.graph_format.elements import Subgraph, Vertex
from lineage_merge.questions.fields import cells
from lineage_merge.questions.formats.describe import one_line, title, transformation


class AnswerTable(Table):
    """A table of an answer.

    `name`: what its rows are, if the answer has several tables; `is_summary`: it counts the rows of others.
    `optional`: columns that a terminal does not show if all their cells are empty.
    """

    def __init__(
        self, *columns: str, name: str = "", is_summary: bool = False, optional: Collection[str] = ()
    ) -> None:
        super().__init__(box=None, pad_edge=False)
        self.name = name
        self.is_summary = is_summary
        self.optional = optional
        for column in columns:
            self.add_column(column, overflow="fold", header_style="bold")

    def without_empty_columns(self) -> "AnswerTable":
        """Return the table for a terminal."""
        shown = [
            column
            for column in self.columns
            if column.header not in self.optional or any(str(cell) for cell in column.cells)
        ]
        names = [str(column.header) for column in shown]
        made = AnswerTable(*names, name=self.name, is_summary=self.is_summary)
        for row in zip(*(column.cells for column in shown), strict=True):
            made.add_row(*row)
        return made


class Number(Text):
    """A cell with a number, which is shown with thousands separators."""

    def __init__(self, value: int) -> None:
        super().__init__(f"{value:,}")
        self.value = value


def table(graph: Subgraph) -> AnswerTable:
    """Return a table of the edges or, without edges, of the vertices."""
    return edge_table(graph) if graph.edges else vertex_table(graph.vertices.values())


def edge_table(graph: Subgraph) -> AnswerTable:
    """Return a table of edges."""
    made = new_table("from", "edge", "to", "job", "how", "DAG")
    for edge in graph.edges:
        ends = (title(graph, graph.vertices[end]) for end in (edge.from_id, edge.to_id))
        source, target = ends
        how = [transformation(edge)]
        how += [str(edge.properties.get(key, "")) for key in ("expression", "write_mode", "via")]
        said = "  ".join(part for part in how if part)
        add_row(made, source, edge.label, target, edge.job, said, edge.properties.get("dag_name", ""))
    return made


def vertex_table(vertices: Iterable[Vertex]) -> AnswerTable:
    """Return a table of vertices."""
    made = new_table("name", "label", "namespace", "environment", "DAGs", "about")
    for vertex in vertices:
        held = vertex.properties
        about = [str(held[key]) for key in ("job_type", "data_type", "format", "description") if key in held]
        namespace = str(held.get("namespace", ""))
        add_row(
            made,
            vertex.title,
            vertex.label,
            namespace,
            vertex.environment,
            ", ".join(vertex.dags),
            "  ".join(about),
        )
    return made


def row_table(
    rows: Iterable[Any], columns: Mapping[str, str], name: str = "", *, optional: Collection[str] = ()
) -> AnswerTable:
    """Return a table of rows; `columns`: their attributes by header."""
    made = new_table(*columns, name=name, optional=optional)
    for row in rows:
        add_row(made, *cells(row, columns.values()))
    return made


def new_table(
    *columns: str, name: str = "", is_summary: bool = False, optional: Collection[str] = ()
) -> AnswerTable:
    """Return an empty table; see `AnswerTable`."""
    return AnswerTable(*columns, name=name, is_summary=is_summary, optional=optional)


def add_row(made: Table, *cells: str | int) -> None:
    """Add a row."""
    # Text, because names may contain square brackets, which are markup in str.
    made.add_row(*(Number(cell) if isinstance(cell, int) else Text(one_line(cell)) for cell in cells))
