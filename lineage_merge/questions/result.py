"""Base class of the answers of `Lineage`, and their conversions."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

from lineage_merge.graph_format.elements import Subgraph
from lineage_merge.model.errors import LineageMergeError
from lineage_merge.questions.fields import as_record, frame_columns, header_as_json, row_as_json
from lineage_merge.questions.graph import Direction
from lineage_merge.questions.scoped_graph import GraphScope

if TYPE_CHECKING:
    import networkx
    import pandas
    from rich.console import RenderableType
    from rich.text import Text


Record = Mapping[str, Any]
# Tables and texts for terminals and notebooks.
Renderables = Iterable["RenderableType"]


def answer_header(question: str, scope: GraphScope, parameters: Record) -> dict[str, Any]:
    """Return the first JSON fields of an answer: the question, its scope and its parameters."""
    header = {"question": question, "environment": scope.environment, "dag": scope.dag, **parameters}
    if scope.as_of:
        merges = [merge.as_json() for merge in scope.merges]
        header["as_of"] = {"moment": scope.as_of, "merges": merges}
    return header


@dataclass(frozen=True, kw_only=True, repr=False)
class Result(ABC):
    """An answer. `graph`: the vertices and edges that it is about; `note`: a remark, such as "no path".

    `columns`: the columns of `records` and their types; `datetime` are times in ms since 1970.
    """

    columns: ClassVar[Mapping[str, type]]

    question: str
    scope: GraphScope
    graph: Subgraph = field(default_factory=Subgraph)
    note: str = ""

    @abstractmethod
    def records(self) -> Iterator[Record]:
        """Yield the rows of the answer as flat records with `columns`."""

    def parameters(self) -> dict[str, Any]:
        """Return the JSON fields of the question: those after environment and DAG."""
        return {}

    def fields(self) -> dict[str, Any]:
        """Return the JSON fields of the answer: those before vertices and edges."""
        return {}

    @property
    def roots(self) -> Sequence[str] | None:
        """The ids of the vertices where a tree of the answer begins; None: it begins nowhere."""
        return None

    @property
    def direction(self) -> Direction:
        """The direction of a tree of the answer."""
        return "down"

    def note_with(self, message_of: Callable[[LineageMergeError], str]) -> str:
        """Return the note with other messages of the errors in it."""
        return self.note

    def header(self) -> dict[str, Any]:
        """Return the first JSON fields, which every answer has."""
        return answer_header(self.question, self.scope, self.parameters())

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON object of the command line, to which only fields are added."""
        from lineage_merge.questions.formats.conversions import as_json

        return {**self.header(), **self.fields(), **as_json(self.graph)}

    def to_csv(self) -> str:
        """Return the CSV of the command line, with one header."""
        from lineage_merge.questions.formats.table import csv_text

        return csv_text(self.csv_tables())

    def to_mermaid(self) -> str:
        """Return the graph as a Mermaid flowchart."""
        from lineage_merge.questions.formats.diagrams import mermaid

        return mermaid(self.graph)

    def to_svg(self) -> str:
        """Return the graph as an SVG drawing, which needs no other file."""
        from lineage_merge.questions.formats.svg import svg

        # Lists begin at each of their elements.
        starts = self.roots if self.roots and len(self.roots) == 1 else ()
        titles = [self.graph.vertices[start].title for start in starts if start in self.graph.vertices]
        return svg(self.graph, ": ".join([self.question, *titles]), starts)

    def to_pandas(self) -> "pandas.DataFrame":
        """Return the records as a data frame. Raises `ImportError` without pandas."""
        from lineage_merge.questions.formats.conversions import data_frame

        return data_frame(self.records(), self.columns)

    def to_networkx(self) -> "networkx.MultiDiGraph[str]":
        """Return the graph as a networkx graph: nodes and edges by id. Raises `ImportError` without it."""
        from lineage_merge.questions.formats.conversions import networkx_graph

        return networkx_graph(self.graph)

    def tables(self) -> Renderables:
        """Return the tables for terminals and notebooks."""
        from lineage_merge.questions.formats.table import table

        return [table(self.graph)]

    def csv_tables(self) -> Renderables:
        """Return the tables of the CSV."""
        return self.tables()

    def lines(self) -> "Iterable[Text]":
        """Return the lines of a tree for terminals."""
        from lineage_merge.questions.formats.tree import tree

        return tree(self.graph, self.roots, self.direction)

    def _repr_html_(self) -> str:
        """Return the tables as HTML for notebooks; all names are escaped."""
        from lineage_merge.questions.formats.table import html_tables

        return html_tables(self.tables(), self.note)

    def __repr__(self) -> str:
        """Return the question and the size of the answer."""
        vertices, edges = len(self.graph.vertices), len(self.graph.edges)
        return f"<{type(self).__name__} {self.question}: {vertices} vertices, {edges} edges>"


@dataclass(frozen=True, kw_only=True, repr=False)
class RowsResult(Result):
    """An answer that is a list of rows, as `row_type` declares them; its header has the fields with `Shown`.

    `rows_name`: the attribute and JSON field with what the rows are made of; "": other fields are the JSON.
    `table`: the attributes of a row that a table shows, with the header if it is another: ``id, dag: DAG``;
    "": the graph. `optional`: headers of the columns that a terminal does not show if they are empty.
    `tool_row_types`: of tools, if others.
    """

    row_type: ClassVar[type]
    rows_name: ClassVar[str] = ""
    table: ClassVar[str] = ""
    optional: ClassVar[Collection[str]] = ()
    tool_row_types: ClassVar[tuple[type, ...]] = ()

    def __init_subclass__(cls) -> None:
        """Derive the columns of data frames."""
        if hasattr(cls, "row_type"):
            cls.columns = frame_columns(cls.row_type)

    def row(self, item: Any) -> Any:
        """Return the row of an item of the answer, by default the item."""
        return item

    @property
    def items(self) -> Sequence[Any]:
        """What the rows are made of, one by one: an answer may be long, and only a page of it shown."""
        items: Sequence[Any] = getattr(self, self.rows_name)
        return items

    @property
    def tool_items(self) -> Sequence[Any]:
        """What the rows for assistants are made of."""
        return self.items

    def records(self) -> Iterator[Record]:
        """Yield the rows as flat records."""
        return (as_record(self.row(item)) for item in self.items)

    def parameters(self) -> dict[str, Any]:
        """Return the header and the rows."""
        header = header_as_json(self)
        if self.rows_name:
            header[self.rows_name] = [row_as_json(self.row(item)) for item in self.items]
        return header

    def tables(self) -> Renderables:
        """Return a table of the rows, then the lines of the summary."""
        if not self.table:
            return super().tables()
        from rich.text import Text

        from lineage_merge.questions.formats.describe import one_line

        lines = [Text(one_line(line)) for line in self.summary()]
        return [*self.csv_tables(), *([Text()] if self.items and lines else []), *lines]

    def csv_tables(self) -> Renderables:
        """Return a table of the rows, or those of the answer."""
        if not self.table:
            return self.tables()
        from lineage_merge.questions.formats.table import row_table

        return [row_table(map(self.row, self.items), self.table, optional=self.optional)]

    def summary(self) -> Iterator[str]:
        """Yield the lines below the table."""
        yield from ()


@dataclass(frozen=True, kw_only=True, repr=False)
class NoGraphResult(RowsResult):
    """An answer that is not a part of a graph: its JSON has neither vertices nor edges."""

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON object of the command line, to which only fields are added."""
        return {**self.header(), **self.fields()}

    def __repr__(self) -> str:
        """Return the question and the number of records."""
        return f"<{type(self).__name__} {self.question}: {len(self.items)} records>"
