"""The question `popular`: the datasets with the most consumers."""

from collections import Counter
from dataclasses import dataclass
from typing import Annotated

from lineage_merge.graph_format.elements import Vertex, subgraph
from lineage_merge.questions.fields import Element, Shown
from lineage_merge.questions.question import Parameter, Question, ToolText
from lineage_merge.questions.result import RowsResult
from lineage_merge.questions.scoped_graph import ScopedGraph


@dataclass(frozen=True, slots=True)
class PopularRow:
    """A dataset with the number of its consumers."""

    dataset: Annotated[Element, Shown(tool_name="id")]
    consumers: int


@dataclass(frozen=True, kw_only=True, repr=False)
class PopularResult(RowsResult):
    """Datasets with their consumers, the most popular first."""

    row_type = PopularRow
    rows_name = "datasets"
    table = "dataset, consumers"

    datasets: tuple[tuple[Vertex, int], ...] = ()

    def row(self, item: tuple[Vertex, int]) -> PopularRow:
        """Return a dataset with the number of its consumers."""
        return PopularRow(*item)


@dataclass(frozen=True, slots=True)
class PopularQuestion(Question[PopularResult]):
    """List datasets that feed several others."""

    question = "popular"
    examples = ("lineage-merge popular --at-least 3",)
    formats = ("table", "csv", "json")
    tool = ToolText("The most used datasets", "Datasets that feed several others.")

    at_least: Annotated[int, Parameter("number of consumers", metavar="N")] = 2

    def answer(self, graph: ScopedGraph) -> PopularResult:
        """Return the datasets."""
        pairs = graph.graph.pairs(["feeds"], graph.environment, graph.dag)
        consumers = Counter(start for start, _ in pairs)
        wanted = [dataset for dataset, number in consumers.items() if number >= self.at_least]
        datasets = sorted(graph.graph.vertices(wanted), key=lambda each: (-consumers[each.id], each.id))
        return PopularResult(
            question=self.question,
            scope=graph.scope,
            graph=subgraph(datasets),
            note="" if datasets else graph.empty_note("no dataset feeds several others"),
            datasets=tuple((dataset, consumers[dataset.id]) for dataset in datasets),
        )
