"""The question `cycles`: datasets that feed themselves, directly or through others."""

from dataclasses import dataclass
from typing import Annotated

from lineage_merge.graph_format.elements import Subgraph, Vertex
from lineage_merge.infra.batches import gather
from lineage_merge.questions.fields import JSON_ONLY, Element, Shown, row_of
from lineage_merge.questions.formats.describe import declaration
from lineage_merge.questions.graph import LineageGraph
from lineage_merge.questions.question import Question
from lineage_merge.questions.result import Renderables, RowsResult
from lineage_merge.questions.scoped_graph import ScopedGraph
from lineage_merge.questions.traversal.lineage import complete_subgraph, strongly_connected_components


@dataclass(frozen=True, slots=True)
class Cycles:
    """Groups of ids of datasets that all reach each other, the largest group first.

    A group of one is a dataset that a job reads and writes. `subgraph` has the edges within groups.
    """

    groups: tuple[tuple[str, ...], ...]
    subgraph: Subgraph


def cycles(graph: LineageGraph, environment: str | None = None, dag: str | None = None) -> Cycles:
    """Return all cycles of `feeds`; with `dag` only those of its edges."""
    groups = strongly_connected_components(graph.pairs(["feeds"], environment, dag))
    group_of = {dataset: number for number, group in enumerate(groups) for dataset in group}
    edges = [
        edge
        for edge in graph.edges_from(sorted(group_of), ["feeds"], dag)
        if group_of.get(edge.to_id) == group_of[edge.from_id]
    ]
    return Cycles(groups, complete_subgraph(graph, group_of, edges))


@dataclass(frozen=True, slots=True)
class CycleRow:
    """A dataset of a cycle."""

    cycle: int
    dataset: Annotated[Element, Shown(name="id")]
    label: str
    name: str
    title: str
    environment: str
    dags: tuple[str, ...]


@dataclass(frozen=True, kw_only=True, repr=False)
class CyclesResult(RowsResult):
    """Datasets that feed themselves."""

    row_type = CycleRow

    cycles: Cycles

    @property
    def groups(self) -> Annotated[tuple[list[str], ...], JSON_ONLY]:
        """The ids of the datasets of each cycle."""
        return tuple(map(list, self.cycles.groups))

    @property
    def items(self) -> list[tuple[int, Vertex]]:
        """The datasets of each cycle, with its number, from 1."""
        return [
            (number, self.graph.vertices[dataset])
            for number, group in enumerate(self.cycles.groups, 1)
            for dataset in group
        ]

    def row(self, item: tuple[int, Vertex]) -> CycleRow:
        return row_of(CycleRow, item[1], cycle=item[0], dataset=item[1])

    def tables(self) -> Renderables:
        from lineage_merge.questions.formats.table import AnswerTable

        table = AnswerTable("cycle", "dataset", "feeds", "job")
        leaving = gather((edge.from_id, edge) for edge in self.graph.edges)
        for number, dataset in self.items:
            for edge in leaving[dataset.id]:
                target = self.graph.vertices[edge.to_id]
                job = "  ".join(filter(None, (edge.job, declaration(edge))))
                table.add(str(number), dataset.title, target.title, job)
        return [table]


@dataclass(frozen=True, slots=True)
class CyclesQuestion(Question[CyclesResult]):
    """List datasets that feed themselves, directly or through others."""

    question = "cycles"
    short_help = "List datasets that feed themselves."
    examples = (
        "lineage-merge cycles",
        "lineage-merge cycles --environment prod --format mermaid",
    )

    def answer(self, graph: ScopedGraph) -> CyclesResult:
        answer = cycles(graph.graph, graph.environment, graph.dag)
        note = "" if answer.groups else graph.empty_note("no cycles")
        return CyclesResult(
            question=self.question, scope=graph.scope, graph=answer.subgraph, note=note, cycles=answer
        )
