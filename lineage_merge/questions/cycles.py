"""The question `cycles`: datasets that feed themselves, directly or through others."""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, NamedTuple

from lineage_merge.graph_format.elements import Edge, Subgraph, Vertex
from lineage_merge.questions.fields import JSON_ONLY, Element, Shown
from lineage_merge.questions.graph import LineageGraph
from lineage_merge.questions.lineage import completed
from lineage_merge.questions.question import Question
from lineage_merge.questions.result import RowsResult
from lineage_merge.questions.scoped_graph import ScopedGraph

if TYPE_CHECKING:
    from rich.console import RenderableType


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
    group_of = {each: number for number, group in enumerate(groups) for each in group}
    edges = [
        each
        for each in graph.edges_from(sorted(group_of), ["feeds"], dag)
        if group_of.get(each.to_id) == group_of[each.from_id]
    ]
    return Cycles(groups, completed(graph, group_of, edges))


def strongly_connected_components(pairs: Iterable[tuple[str, str]]) -> tuple[tuple[str, ...], ...]:
    """Return strongly connected components (Tarjan's algorithm, iterative) by size, then name."""
    following: dict[str, list[str]] = defaultdict(list)
    for source, target in sorted(set(pairs)):
        following[source].append(target)
    index: dict[str, int] = {}
    lowest: dict[str, int] = {}
    waiting: list[str] = []
    is_waiting: set[str] = set()
    groups: list[tuple[str, ...]] = []
    for root in sorted(following):
        if root in index:
            continue
        walk = [(root, iter(following[root]))]
        index[root] = lowest[root] = len(index)
        waiting.append(root)
        is_waiting.add(root)
        while walk:
            here, left = walk[-1]
            for each in left:
                if each not in index:
                    index[each] = lowest[each] = len(index)
                    waiting.append(each)
                    is_waiting.add(each)
                    walk.append((each, iter(following.get(each, ()))))
                    break
                if each in is_waiting:
                    lowest[here] = min(lowest[here], index[each])
            else:
                walk.pop()
                if walk:
                    above = walk[-1][0]
                    lowest[above] = min(lowest[above], lowest[here])
                if lowest[here] == index[here]:
                    start = _last_index(waiting, here)
                    group = waiting[start:]
                    del waiting[start:]
                    is_waiting.difference_update(group)
                    if len(group) > 1 or here in following.get(here, ()):
                        groups.append(tuple(sorted(group)))
    return tuple(sorted(groups, key=lambda group: (-len(group), group)))


def _last_index(waiting: list[str], wanted: str) -> int:
    index = len(waiting) - 1
    while waiting[index] != wanted:
        index -= 1
    return index


class _Member(NamedTuple):
    """A dataset of a cycle; cycles are numbered from 1."""

    cycle: int
    dataset: Vertex


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
    def items(self) -> list[_Member]:
        """The datasets of each cycle."""
        return [
            _Member(number, self.graph.vertices[dataset])
            for number, group in enumerate(self.cycles.groups, 1)
            for dataset in group
        ]

    def row(self, item: _Member) -> CycleRow:
        """Return a dataset of a cycle."""
        dataset = item.dataset
        return CycleRow(
            item.cycle, dataset, dataset.label, dataset.name, dataset.title, dataset.environment, dataset.dags
        )

    def tables(self) -> "Iterable[RenderableType]":
        """Return a row per edge of each cycle."""
        from lineage_merge.questions.formats.table import add_row, new_table

        table = new_table("cycle", "dataset", "feeds", "job")
        leaving: dict[str, list[Edge]] = defaultdict(list)
        for edge in self.graph.edges:
            leaving[edge.from_id].append(edge)
        for number, dataset in self.items:
            for edge in leaving[dataset.id]:
                target = self.graph.vertices[edge.to_id]
                add_row(table, str(number), dataset.title, target.title, edge.job)
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
        """Return the cycles."""
        answer = cycles(graph.graph, graph.environment, graph.dag)
        note = "" if answer.groups else graph.empty_note("no cycles")
        return CyclesResult(
            question=self.question, scope=graph.scope, graph=answer.subgraph, note=note, cycles=answer
        )
