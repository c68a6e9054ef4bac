"""The question `path`: all paths from one dataset or column to another, as one subgraph."""

from collections.abc import Iterable
from dataclasses import KW_ONLY, dataclass, replace
from typing import Annotated

from lineage_merge.graph_format.elements import COLUMN, Edge, Subgraph, Vertex
from lineage_merge.model.errors import QueryError
from lineage_merge.questions.fields import Element, Shown
from lineage_merge.questions.graph import LineageGraph
from lineage_merge.questions.lineage import Influences, completed, distances
from lineage_merge.questions.lineage_questions import COLUMNS, INFLUENCES, LineageResult
from lineage_merge.questions.question import DEPTH, DatasetName, Parameter, Question, ToolText
from lineage_merge.questions.scoped_graph import ScopedGraph


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
    labels = ["feeds_column" if start.label == COLUMN else "feeds"]
    ahead = graph.reach([start.id], labels, "down", depth, dag)
    on_paths: set[Edge] = set()
    if end.id in ahead:
        behind = graph.reach([end.id], labels, "up", depth, dag)
        middle = (ahead | {start.id}) & (behind | {end.id})
        edges = graph.edges_from(sorted(middle - {end.id} | {start.id}), labels, dag)
        on_paths = edges_on_paths([edge for edge in edges if edge.to_id in middle], start.id, end.id, depth)
    ids = {start.id, end.id}.union(*((edge.from_id, edge.to_id) for edge in on_paths))
    which: Influences | None = "within" if influences else None
    return completed(graph, ids, on_paths, dag, columns=columns, influences=which)


def edges_on_paths(edges: Iterable[Edge], start: str, end: str, depth: int | None = None) -> set[Edge]:
    """Return the edges on paths from `start` to `end` with at most `depth` hops.

    Paths do not pass their start or end twice; cycles in between are allowed.
    """
    passed = [edge for edge in edges if start == end or (edge.to_id != start and edge.from_id != end)]
    from_start = distances([start], passed)
    to_end = distances([end], passed, "up")
    return {
        edge
        for edge in passed
        if edge.from_id in from_start
        and edge.to_id in to_end
        and (depth is None or from_start[edge.from_id] + 1 + to_end[edge.to_id] <= depth)
    }


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
        """Return the paths."""
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
