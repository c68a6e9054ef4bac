"""Propagation of a change over the edges of what depends on it."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from lineage_merge.graph_format.elements import Edge, dataset_of
from lineage_merge.questions.effects import READ, USE, Change, Effect, State, Step, effect, follow, worst
from lineage_merge.questions.graph import LineageGraph
from lineage_merge.questions.impact import job_of

_States = Mapping[str, set[State]]


def _none() -> _States:
    return defaultdict(set)


@dataclass(frozen=True, slots=True)
class States:
    """The states of elements after a change, by id; several if several paths lead to an element.

    `of_columns`: those of the columns of a dataset, by the id of the dataset.
    """

    change: Change
    elements: _States = field(default_factory=_none)
    jobs: _States = field(default_factory=_none)
    of_columns: _States = field(default_factory=_none)

    def of(self, identifier: str) -> set[State]:
        """Return the states of a dataset, exposure or column; of a dataset, also those of its columns."""
        return self.elements.get(identifier, set()) | self.of_columns.get(identifier, set())

    def effect_on(self, identifier: str) -> Effect:
        """Return the worst effect on a dataset, exposure, column or job."""
        states = self.of(identifier) | self.jobs.get(identifier, set())
        return worst(effect(self.change, state) for state in states)


def propagate(
    change: Change,
    starts: Mapping[str, State],
    edges: Iterable[Edge],
    exposures: Collection[str] = (),
    copied: Collection[str] = (),
) -> States:
    """Return the states that a change leaves.

    `starts`: states of the changed elements; `copied`: ids of edges that `copies_of_all` found.
    """
    found = States(change)
    leaving: Mapping[str, list[Edge]] = defaultdict(list)
    uses: list[Edge] = []
    for each in edges:
        (uses if each.to_id in exposures else leaving[each.from_id]).append(each)
    waiting = list(starts.items())
    while waiting:
        identifier, state = waiting.pop()
        if state in found.elements[identifier]:
            continue
        found.elements[identifier].add(state)
        for edge in leaving.get(identifier, ()):
            for step in _steps(edge, edge.id in copied):
                after = follow(change, state, step)
                waiting.append((edge.to_id, after))
                if job := job_of(edge):
                    found.jobs[job].add(after)
    for identifier, states in found.elements.items():
        found.of_columns[dataset_of(identifier)].update(states)
    # Exposures have no columns: they may use any of what they read.
    for use in uses:
        found.elements[use.to_id] |= {follow(change, state, Step(USE)) for state in found.of(use.from_id)}
    return found


def copies_of_all(graph: LineageGraph, edges: Iterable[Edge], dag: str | None = None) -> set[str]:
    """Return the ids of edges of jobs that copy all known columns of a dataset under their names.

    `edges`: those between columns; others than copies under the same name are ignored.
    """
    copies = [edge for edge in edges if _is_copy(edge)]
    owned = graph.edges_from(sorted({dataset_of(copy.from_id) for copy in copies}), ["has_column"])
    columns: Mapping[str, set[str]] = defaultdict(set)
    for edge in owned:
        columns[edge.from_id].add(edge.to_id)
    copied: Mapping[tuple[str, ...], set[str]] = defaultdict(set)
    for edge in graph.edges_from(sorted({edge.to_id for edge in owned}), ["feeds_column"], dag):
        if _is_copy(edge):
            copied[_flow(edge)].add(edge.from_id)
    return {copy.id for copy in copies if copied[_flow(copy)] >= columns[dataset_of(copy.from_id)]}


def _is_copy(edge: Edge) -> bool:
    held = edge.properties
    names = {each.rpartition("|")[2] for each in (edge.from_id, edge.to_id)}
    is_identity = edge.label == "feeds_column" and held.get("transformation") == "IDENTITY"
    return is_identity and not held.get("expression") and len(names) == 1


def _flow(edge: Edge) -> tuple[str, ...]:
    return job_of(edge) or "", dataset_of(edge.from_id), dataset_of(edge.to_id)


def _steps(edge: Edge, copies_all: bool) -> Iterator[Step]:
    if edge.label == "feeds":
        yield Step(READ)
        return
    expression = str(edge.properties.get("expression", ""))
    for each in str(edge.properties.get("transformation", "")).split(","):
        yield Step(each.strip(), expression, copies_all)
