"""The questions `upstream`, `downstream` and `path`: the lineage of a dataset or column."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, replace
from functools import cached_property
from typing import Annotated, Any, ClassVar, Self

from lineage_merge.graph_format.elements import COLUMN, Edge, Subgraph, Vertex
from lineage_merge.model.elements import dataset_of, is_field, structures_of
from lineage_merge.model.errors import QueryError
from lineage_merge.questions.fields import JSON_ONLY, Element, ElementId, Label, Name, Shown, Text, row_of
from lineage_merge.questions.formats.describe import declaration, title
from lineage_merge.questions.graph import Direction, LineageGraph
from lineage_merge.questions.question import DATASET, DEPTH, DatasetName, Parameter, Question, ToolText
from lineage_merge.questions.result import Renderables, RowsResult
from lineage_merge.questions.scoped_graph import ScopedGraph
from lineage_merge.questions.traversal.column_walk import column_edges, have_fields
from lineage_merge.questions.traversal.lineage import Influences, complete_subgraph, distances, lineage

COLUMNS = Parameter("include columns and column lineage", on=("command",))
INFLUENCES = Parameter(
    "include columns that determine rows (filters, joins); they are not followed", is_rare=True
)


@dataclass(frozen=True, slots=True, kw_only=True)
class EdgeRow:
    """Data that flows from source to target."""

    distance: Annotated[int, Shown("hops between the element in question and the farther end", on=("tool",))]
    from_id: Annotated[ElementId, Shown(tool_name="source")]
    to_id: Annotated[ElementId, Shown(tool_name="target")]
    label: Annotated[str, Shown("feeds, feeds_column, or influences (decides rows)", tool_name="kind")]
    source: Annotated[str, Shown(name="from", on=("frame",))]
    target: Annotated[str, Shown(name="to", on=("frame",))]
    job: Name | None
    dag: Annotated[str | None, Shown(on=("frame",))]
    transformation: Label | None
    expression: Text | None
    write_mode: Annotated[str | None, Shown(on=("frame",))]
    assumed: Annotated[bool, Shown("the name of a column is assumed", on=("tool",))] = False
    via: Annotated[Text | None, Shown("collapsed temporary datasets")]
    declared: Annotated[Text | None, Shown("no tool reports it: who declares it, until when, and why")]

    @classmethod
    def from_edge(cls, graph: Subgraph, edge: Edge, *, distance: int = 0, **others: Any) -> Self:
        """Return the row of an edge; `others`: fields of subclasses."""
        return row_of(
            cls,
            edge,
            distance=distance,
            source=title(graph, graph.vertices[edge.from_id]),
            target=title(graph, graph.vertices[edge.to_id]),
            job=edge.job or None,
            dag=edge.properties.get("dag_name"),
            assumed=edge.properties.get("assumed") == "true",
            declared=declaration(edge) or None,
            **others,
        )


@dataclass(frozen=True, kw_only=True, repr=False)
class LineageResult(RowsResult):
    """The lineage upstream or downstream of `start` within `depth` hops (None: unlimited)."""

    row_type = EdgeRow

    start: Annotated[Element, Shown(name="of")]
    depth: Annotated[int | None, JSON_ONLY] = None

    @property
    def items(self) -> Sequence[Edge]:
        return self.graph.edges

    @property
    def tool_items(self) -> Sequence[Edge]:
        """The edges along which data flows, the nearest first."""
        hops = self._hops
        edges = [edge for edge in self.items if edge.id in hops]
        return sorted(edges, key=lambda edge: (hops[edge.id], edge.from_id, edge.to_id, edge.label, edge.id))

    @property
    def roots(self) -> Sequence[str]:
        return [self.start.id]

    @property
    def direction(self) -> Direction:
        return "up" if self.question == "upstream" else "down"

    def row(self, item: Edge) -> EdgeRow:
        return EdgeRow.from_edge(self.graph, item, distance=self._hops.get(item.id, 0))

    def csv_tables(self) -> Renderables:
        """Return a row per edge, also if there is none."""
        from lineage_merge.questions.formats.table import edge_table

        return [edge_table(self.graph)]

    @cached_property
    def _hops(self) -> Mapping[str, int]:
        """The distance of the farther end of each edge along which data flows, by id.

        Influences end at datasets and begin at columns: they count from the datasets of the columns.
        """
        edges = [edge for edge in self.graph.edges if edge.label != "has_column"]
        flows = [edge for edge in self.graph.edges if edge.label != "influences"]
        hops = distances([self.start.id], flows, self.direction)
        for identifier, distance in list(hops.items()):
            dataset = dataset_of(identifier)
            hops[dataset] = min(distance, hops.get(dataset, distance))
        last = max(hops.values()) + 1
        return {
            edge.id: hops.get(edge.to_id if self.direction == "up" else edge.from_id, last) + 1
            for edge in edges
        }


@dataclass(frozen=True, slots=True)
class _LineageQuestion(Question[LineageResult]):
    """A question on the lineage of a dataset or column in one direction."""

    default_format = "tree"

    towards: ClassVar[Direction]

    name: Annotated[DatasetName, DATASET]
    _: KW_ONLY
    depth: Annotated[int | None, DEPTH] = None
    columns: Annotated[bool, COLUMNS] = False
    influences: Annotated[bool, INFLUENCES] = False

    def answer(self, graph: ScopedGraph) -> LineageResult:
        start = graph.dataset_or_column(self.name)
        answer = lineage(
            graph.graph,
            start,
            self.towards,
            depth=self.depth,
            dag=graph.dag,
            columns=self.columns,
            influences=self.influences,
        )
        is_empty = all(edge.label == "has_column" for edge in answer.edges)
        return LineageResult(
            question=self.question,
            scope=graph.scope,
            graph=answer,
            note=f"{start.title}: no {self.question} datasets" if is_empty else "",
            start=start,
            depth=self.depth,
        )


class UpstreamQuestion(_LineageQuestion):
    """Show the upstream lineage of a dataset or column.

    DATASET is a unique short or qualified name, namespace|name, a URI, or an id.
    """

    __slots__ = ()

    towards = "up"
    question = "upstream"
    examples = (
        "lineage-merge upstream top_events_by_sales",
        "lineage-merge upstream top_events_by_sales#total_sales",
        "lineage-merge upstream dev.public.sales --environment dev --depth 2 --columns",
        "lineage-merge upstream top_events_by_sales --folder lineage --format mermaid",
    )
    tool = ToolText(
        "Where data comes from",
        "What feeds a dataset or, with #column, a column: edges with jobs and expressions, the nearest "
        "first. For questions such as: where does this number come from?",
    )


class DownstreamQuestion(_LineageQuestion):
    """Show the downstream lineage of a dataset or column.

    DATASET is a unique short or qualified name, namespace|name, a URI, or an id.
    """

    __slots__ = ()

    towards = "down"
    question = "downstream"
    examples = (
        "lineage-merge downstream s3://tickit-raw/sales",
        "lineage-merge downstream s3://tickit-raw/sales#pricepaid --influences",
        "lineage-merge downstream s3://tickit-raw/sales --dag tickit_daily --format graphml",
    )
    tool = ToolText(
        "Where data goes",
        "What a dataset or column feeds: edges, the nearest first. For what a change breaks use impact.",
    )


def all_paths(
    graph: LineageGraph,
    start: Vertex,
    end: Vertex,
    *,
    depth: int | None = None,
    dag: str | None = None,
    columns: bool = False,
    influences: bool = False,
) -> Subgraph:
    """Return all paths from `start` to `end` with at most `depth` hops; no edges if there are none.

    The vertices on paths are those reachable from both ends: two traversals, then the edges between them.
    Raises `QueryError` if one end is a dataset and the other a column.
    """
    if (start.label == COLUMN) != (end.label == COLUMN):
        raise QueryError("the ends of a path must be two datasets or two columns")
    on_paths = _find_on_paths(graph, start, end, depth, dag)
    ids = {start.id, end.id}.union(*((edge.from_id, edge.to_id) for edge in on_paths))
    which: Influences | None = "within" if influences else None
    return complete_subgraph(graph, ids, on_paths, dag, columns=columns, influences=which)


def _find_on_paths(
    graph: LineageGraph, start: Vertex, end: Vertex, depth: int | None, dag: str | None
) -> set[Edge]:
    is_column = start.label == COLUMN
    labels = ["feeds_column" if is_column else "feeds"]
    followed = [*labels, "has_column"] if is_column and depth is None else labels
    ahead = graph.reach([start.id], followed, "down", depth, dag)
    if is_column and have_fields(graph, ahead | {start.id, end.id}, depth):
        edges = column_edges(graph, {start.id}, "down", depth=depth, dag=dag)
        return edges_on_paths(edges, start.id, end.id, depth)
    if end.id not in ahead:
        return set()
    behind = graph.reach([end.id], labels, "up", depth, dag)
    middle = (ahead | {start.id}) & (behind | {end.id})
    edges = graph.edges_from(sorted(middle - {end.id} | {start.id}), labels, dag)
    return edges_on_paths([edge for edge in edges if edge.to_id in middle], start.id, end.id, depth)


def edges_on_paths(edges: Iterable[Edge], start: str, end: str, depth: int | None = None) -> set[Edge]:
    """Return the edges on paths from `start` to `end` with at most `depth` hops.

    Paths do not pass their start or end twice; cycles in between are allowed. A path to a structure or a
    field of the end is one to the end.
    """
    passed = [edge for edge in edges if start == end or (edge.to_id != start and edge.from_id != end)]
    from_start = distances([start], passed)
    parts = {part for part in from_start if is_field(part) and end in structures_of(part)}
    to_end = distances([end, *structures_of(end), *parts], passed, "up", from_fields=True)
    return {
        edge
        for edge in passed
        if edge.from_id in from_start
        and edge.to_id in to_end
        and (depth is None or _length(edge, from_start, to_end) <= depth)
    }


def _length(edge: Edge, from_start: Mapping[str, int], to_end: Mapping[str, int]) -> int:
    """Return the hops of the shortest path over an edge; one to a field is no hop."""
    return from_start[edge.from_id] + (edge.label != "has_column") + to_end[edge.to_id]


@dataclass(frozen=True, kw_only=True, repr=False)
class PathResult(LineageResult):
    """All paths from `start` to `end` of at most `depth` hops (None: unlimited)."""

    start: Annotated[Element, Shown(tool_name="of")]
    end: Annotated[Element, Shown()]


@dataclass(frozen=True, slots=True)
class PathQuestion(Question[PathResult]):
    """Show all paths from one dataset to another, or from one column to another."""

    question = "path"
    short_help = "Show all paths from one dataset or column to another."
    examples = (
        "lineage-merge path s3://tickit-raw/sales top_events_by_sales",
        "lineage-merge path s3://tickit-raw/sales#pricepaid top_events_by_sales#total_sales --json",
    )
    default_format = "tree"
    tool = ToolText(
        "Paths between two elements",
        "All paths from one dataset or column to another: whether and how the first feeds the second.",
    )

    start: Annotated[DatasetName, Parameter(metavar="FROM", is_argument=True)]
    end: Annotated[DatasetName, Parameter(metavar="TO", is_argument=True)]
    _: KW_ONLY
    depth: Annotated[int | None, DEPTH] = None
    columns: Annotated[bool, COLUMNS] = False
    influences: Annotated[bool, replace(INFLUENCES, on=("command",))] = False

    def answer(self, graph: ScopedGraph) -> PathResult:
        start, end = graph.dataset_or_column(self.start), graph.dataset_or_column(self.end)
        paths = all_paths(
            graph.graph,
            start,
            end,
            depth=self.depth,
            dag=graph.dag,
            columns=self.columns,
            influences=self.influences,
        )
        has_path = any(edge.label in ("feeds", "feeds_column") for edge in paths.edges)
        return PathResult(
            question=self.question,
            scope=graph.scope,
            graph=paths,
            note="" if has_path else f"no path from {start.title} to {end.title}",
            start=start,
            end=end,
            depth=self.depth,
        )
