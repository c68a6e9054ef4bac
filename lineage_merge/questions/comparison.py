"""The question `compare`: what only one of two environments has."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, Any

from lineage_merge.graph_format.elements import COLUMN
from lineage_merge.graph_format.schema import DATASET_LABELS
from lineage_merge.model.elements import dataset_of
from lineage_merge.model.errors import NotFound
from lineage_merge.questions.fields import Name, Shown
from lineage_merge.questions.graph import LineageGraph
from lineage_merge.questions.names import check_scope
from lineage_merge.questions.question import Parameter, Question, ScopeName, ToolText
from lineage_merge.questions.result import NoGraphResult, Renderables
from lineage_merge.questions.scoped_graph import ScopedGraph


@dataclass(frozen=True, slots=True)
class OnlyRow:
    """An element that one environment has and the other has not; ids are without the environment."""

    environment: Name
    kind: Annotated[str, Shown("dataset, feed or column")]
    what: Annotated[Name, Shown(tool_name="id")]
    to: Annotated[Name | None, Shown("of a feed: the dataset that is fed", tool_name="target")] = None


Feed = tuple[str, str]


@dataclass(frozen=True, slots=True)
class Only:
    """Elements of only one environment, as sorted ids without the environment.

    `columns`: only for datasets that both environments have.
    """

    environment: str
    datasets: tuple[str, ...] = ()
    feeds: tuple[Feed, ...] = ()
    columns: tuple[str, ...] = ()

    @property
    def is_empty(self) -> bool:
        """Whether the other environment has all elements."""
        return not (self.datasets or self.feeds or self.columns)

    def rows(self) -> "Iterator[OnlyRow]":
        """Yield datasets, feeds and columns."""
        for dataset in self.datasets:
            yield OnlyRow(self.environment, "dataset", dataset)
        for source, target in self.feeds:
            yield OnlyRow(self.environment, "feed", source, target)
        for column in self.columns:
            yield OnlyRow(self.environment, "column", column)


@dataclass(frozen=True, slots=True)
class Comparison:
    """Elements that only one of two environments has."""

    only_left: Only
    only_right: Only


# Ids of datasets, feeds and columns.
_Content = tuple[set[str], set[Feed], set[str]]


def compare(graph: LineageGraph, left: str, right: str, dag: str | None = None) -> Comparison:
    """Compare datasets, feeds and columns of two environments, by id without the environment."""
    first, second = (_content(graph, environment, dag) for environment in (left, right))
    return Comparison(_only(left, first, second), _only(right, second, first))


def _only(environment: str, content: _Content, other: _Content) -> Only:
    datasets, feeds, columns = content
    shared = datasets & other[0]
    only = (column for column in columns - other[2] if _dataset_of(column) in shared)
    return Only(
        environment,
        tuple(sorted(datasets - other[0])),
        tuple(sorted(feeds - other[1])),
        tuple(sorted(only)),
    )


def _dataset_of(column: str) -> str:
    """Return the dataset of a column, both as ids without the environment."""
    return dataset_of(f"|{column}").removeprefix("|")


def _content(graph: LineageGraph, environment: str, dag: str | None) -> _Content:
    def remove_environment(identifier: str) -> str:
        """Return ``s3://tickit-raw|sales`` of ``dev|s3://tickit-raw|sales``."""
        return identifier.partition("|")[2]

    feeds = graph.pairs(["feeds"], environment, dag)
    return (
        set(map(remove_environment, graph.ids(DATASET_LABELS, environment, dag))),
        {(remove_environment(source), remove_environment(target)) for source, target in feeds},
        set(map(remove_environment, graph.ids([COLUMN], environment, dag))),
    )


@dataclass(frozen=True, kw_only=True, repr=False)
class ComparisonResult(NoGraphResult):
    """What only one of two environments has; ids are without the environment."""

    row_type = OnlyRow

    comparison: Comparison

    @property
    def sides(self) -> tuple[Only, Only]:
        """What only the first, and only the second environment has."""
        return self.comparison.only_left, self.comparison.only_right

    @property
    def items(self) -> list[OnlyRow]:
        """The elements by environment: datasets, feeds and columns, by id."""
        return [row for only in self.sides for row in only.rows()]

    def header(self) -> dict[str, Any]:
        """Return the question, the environments and the DAG."""
        environments = [only.environment for only in self.sides]
        return {"question": self.question, "environments": environments, "dag": self.scope.dag}

    def fields(self) -> dict[str, Any]:
        """Return what only one environment has, by environment."""
        return {
            "only": {
                only.environment: {
                    "datasets": list(only.datasets),
                    "feeds": [{"from": source, "to": target} for source, target in only.feeds],
                    "columns": list(only.columns),
                }
                for only in self.sides
            }
        }

    def tables(self) -> Renderables:
        from rich.text import Text

        from lineage_merge.questions.formats.describe import one_line
        from lineage_merge.questions.formats.table import AnswerTable

        for only in self.sides:
            table = AnswerTable("kind", "what", name=f"only in {only.environment}")
            for row in only.rows():
                table.add(row.kind, f"{row.what} → {row.to}" if row.to else row.what)
            if only.is_empty:
                yield table
            else:
                yield from (Text(one_line(f"{table.name}:"), style="bold"), table, Text())


@dataclass(frozen=True, slots=True)
class CompareQuestion(Question[ComparisonResult]):
    """Return the datasets, feeds and columns that only one of two environments has.

    The scope's environment has no effect. Raises `NotFound` if both environments have no lineage.
    """

    question = "compare"
    tool = ToolText(
        "Compare two environments",
        "Datasets, feeds and columns that only one of two environments has, such as dev and prod.",
        has_past=False,
        has_environment=False,
    )

    environment: Annotated[ScopeName, Parameter("environment, such as dev", tool_name="first")]
    other: Annotated[ScopeName, Parameter("environment, such as prod", tool_name="second")]

    def answer(self, graph: ScopedGraph) -> ComparisonResult:
        notes = self._unknown_sides(graph)
        comparison = compare(graph.graph, self.environment, self.other, graph.dag)
        if comparison.only_left.is_empty and comparison.only_right.is_empty:
            notes.append(f"{self.environment} and {self.other} are identical")
        return ComparisonResult(
            question="diff", scope=graph.scope, note="\n".join(notes), comparison=comparison
        )

    def _unknown_sides(self, graph: ScopedGraph) -> list[str]:
        """Return notes on environments without lineage. Raises `NotFound` if both have none."""

        unknown: list[NotFound] = []
        for environment in (self.environment, self.other):
            try:
                check_scope(graph.graph, environment, graph.dag)
            except NotFound as error:
                unknown.append(error)
        if len(unknown) == 2:
            raise unknown[0]
        return [f"note: {error.message} {', '.join(error.candidates)}" for error in unknown]
