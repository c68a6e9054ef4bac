"""Dependents of a changed dataset, column or job and their tests, with distance and effect of the change."""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import ClassVar, Literal

from lineage_merge.graph_format.elements import COLUMN, JOB, Edge, Vertex
from lineage_merge.model.elements import column_of, dataset_of
from lineage_merge.model.errors import QueryError
from lineage_merge.naming.jobs import DECLARED
from lineage_merge.questions.graph import LineageGraph
from lineage_merge.questions.traversal.column_walk import column_edges
from lineage_merge.questions.traversal.effects import (
    TEST,
    UNTYPED_TEST,
    USE,
    Change,
    Effect,
    State,
    States,
    Step,
    copies_of_all,
    effect,
    follow,
    propagate,
    worst,
)
from lineage_merge.questions.traversal.impact import Impact, impact, job_of
from lineage_merge.questions.traversal.lineage import distances

# Assertions that accept a column of any type.
_UNTYPED = frozenset({"not_null", "unique"})
Kind = Literal["dataset", "exposure", "job", "column"]


@dataclass(frozen=True, slots=True)
class Dependent:
    """An element that depends on the changed one.

    `distance`: hops of the shortest path; what a changed job writes has 0. `effect`: None without a change.
    `uses`: for a column, the edges from the changed column or the nearest dependents. `jobs`: for a dataset
    or column, the ids of the affected jobs that write it. `declared`: for these, the edges to it that no tool
    reports.
    """

    vertex: Vertex
    kind: Kind
    distance: int
    effect: Effect | None = None
    uses: tuple[Edge, ...] = ()
    jobs: tuple[str, ...] = ()
    declared: tuple[Edge, ...] = ()


@dataclass(frozen=True, slots=True)
class Dependents:
    """An impact with its elements, the nearest first; `states`: None without a change."""

    changed: Vertex
    impact: Impact
    elements: tuple[Dependent, ...]
    states: States | None = None

    def select_kind(self, kind: Kind) -> list[Dependent]:
        return [element for element in self.elements if element.kind == kind]

    @property
    def effects(self) -> dict[Effect, int]:
        """The numbers of elements by effect; empty without a change."""
        counts = Counter(element.effect for element in self.elements)
        return {effect: counts[effect] for effect in Effect} if self.states else {}


def check_change(change: Change, changed: Vertex) -> None:
    """Raise `QueryError` if an element cannot be changed like this."""
    if change is Change.RETYPE and changed.label != COLUMN:
        raise QueryError(f"not a column: {changed.title}. Fix: retype DATASET#COLUMN")
    if change is Change.RENAME and changed.label == JOB:
        raise QueryError(f"not a dataset or column: {changed.title}. Fix: use drop for a job")


def dependents(
    graph: LineageGraph,
    changed: Vertex,
    *,
    change: Change | None = None,
    depth: int | None = None,
    dag: str | None = None,
) -> Dependents:
    """Return what depends on a dataset, column or job, within `depth` hops (None: unlimited).

    Raises `QueryError` if the element cannot be changed like this.
    """
    if change:
        check_change(change, changed)
    affected = impact(graph, changed, depth=depth, dag=dag)
    edges = [edge for edge in affected.subgraph.edges if edge.label != "writes"]
    if changed.label != COLUMN:
        edges += column_edges(graph, affected.changed_columns, "down", depth=depth, dag=dag)
    hops = _distances(changed, affected, edges)
    states = _states(graph, changed, affected, edges, change, dag) if change else None
    elements = _elements(changed, affected, edges, hops, states)
    return Dependents(changed, affected, tuple(sorted(elements, key=_nearest_first)), states)


def _nearest_first(dependent: Dependent) -> tuple[int, str]:
    return dependent.distance, dependent.vertex.id


def _starts(changed: Vertex, impact: Impact) -> list[str]:
    """Return the ids of the changed elements; for a job those of what it writes."""
    if changed.label != JOB:
        return [changed.id, *impact.changed_columns]
    written = [edge.to_id for edge in impact.subgraph.edges if edge.label == "writes"]
    return [*written, *impact.changed_columns]


def _distances(changed: Vertex, impact: Impact, edges: list[Edge]) -> Mapping[str, int]:
    starts = _starts(changed, impact)
    if changed.label != COLUMN:
        return distances(starts, edges)
    # The datasets of columns are as near as the nearest column.
    hops = distances(starts, [edge for edge in edges if edge.label != "feeds"])
    for column in (changed.id, *(affected.id for affected in impact.columns)):
        dataset = dataset_of(column)
        hops[dataset] = min(hops[column], hops.get(dataset, hops[column]))
    for edge in edges:
        if edge.label == "feeds" and edge.from_id in hops:
            further = hops[edge.from_id] + 1
            hops[edge.to_id] = min(further, hops.get(edge.to_id, further))
    return hops


def _states(
    graph: LineageGraph, changed: Vertex, impact: Impact, edges: list[Edge], change: Change, dag: str | None
) -> States:
    # What a dropped job writes is not dropped, but no longer written.
    first = State.BROKEN if changed.label == JOB else State.CARRIED
    copied: set[str] = set()
    if change is Change.RENAME and changed.label == COLUMN:
        copied = copies_of_all(graph, edges, dag)
    exposures = {exposure.id for exposure in impact.exposures}
    return propagate(change, dict.fromkeys(_starts(changed, impact), first), edges, exposures, copied)


def _elements(
    changed: Vertex,
    impact: Impact,
    edges: list[Edge],
    hops: Mapping[str, int],
    states: States | None,
) -> Iterator[Dependent]:
    arriving: dict[str, list[Edge]] = {}
    declared: dict[str, list[Edge]] = defaultdict(list)
    for edge in edges:
        if edge.label == "has_column":
            continue
        arriving.setdefault(edge.to_id, []).append(edge)
        if edge.properties.get("job_type") == DECLARED:
            declared[edge.to_id].append(edge)
            if changed.label == COLUMN and edge.label == "feeds_column":
                declared[dataset_of(edge.to_id)].append(edge)
    writers = _writers(impact, edges)
    of_jobs: dict[str, int] = {}
    for edge in edges:
        if (job := job_of(edge)) and edge.from_id in hops:
            of_jobs[job] = min(hops[edge.from_id] + 1, of_jobs.get(job, hops[edge.from_id] + 1))
    kinds: tuple[tuple[Kind, Iterable[Vertex]], ...] = (
        ("dataset", (*impact.datasets, *impact.indirectly_affected)),
        ("exposure", impact.exposures),
        ("job", (job for job in impact.jobs if job.id != changed.id)),
        ("column", impact.columns),
    )
    for kind, vertices in kinds:
        for vertex in vertices:
            distance = (of_jobs if kind == "job" else hops)[vertex.id]
            uses = _nearest(arriving.get(vertex.id, ()), hops) if kind == "column" else ()
            yield Dependent(
                vertex,
                kind,
                distance,
                states.effect_on(vertex.id) if states else None,
                uses,
                tuple(sorted(writers.get(vertex.id, ()))),
                tuple(declared.get(vertex.id, ())),
            )


def _writers(impact: Impact, edges: Iterable[Edge]) -> Mapping[str, set[str]]:
    """Return the ids of the affected jobs by the id of the dataset or column that they write."""
    jobs = {job.id for job in impact.jobs}
    written: Mapping[str, set[str]] = defaultdict(set)
    for edge in edges:
        if (job := job_of(edge)) and job in jobs:
            written[edge.to_id].add(job)
            if edge.label == "feeds_column":
                written[dataset_of(edge.to_id)].add(job)
    return written


def _nearest(edges: Iterable[Edge], hops: Mapping[str, int]) -> tuple[Edge, ...]:
    """Return the edges on the shortest paths."""
    known = [edge for edge in edges if edge.from_id in hops]
    least = min((hops[edge.from_id] for edge in known), default=0)
    return tuple(sorted((edge for edge in known if hops[edge.from_id] == least), key=lambda edge: edge.id))


@dataclass(frozen=True, slots=True)
class AffectedTest:
    """An assertion. `checks`: ids of the changed and affected elements that it checks or references.

    `distance`: that of the nearest of them, 0 for the changed one. `effect`: None without a change.
    """

    # As dependents have them.
    kind: ClassVar = "test"
    uses: ClassVar[tuple[Edge, ...]] = ()
    declared: ClassVar[tuple[Edge, ...]] = ()

    vertex: Vertex
    checks: tuple[str, ...]
    distance: int
    effect: Effect | None = None


def find_affected_tests(
    graph: LineageGraph, dependents: Dependents, dag: str | None = None
) -> tuple[AffectedTest, ...]:
    """Return the assertions on the changed element and its dependents, the nearest first.

    For a column, an assertion on a dataset counts unless it names another column.
    """
    changed = dependents.changed
    hops = {
        element.vertex.id: element.distance
        for element in dependents.elements
        if element.kind in ("dataset", "column")
    }
    hops |= dict.fromkeys((changed.id, *dependents.impact.changed_columns), 0)
    if changed.label == COLUMN:
        hops[dataset_of(changed.id)] = 0
    checks: Mapping[str, list[Edge]] = defaultdict(list)
    for edge in graph.edges_to(sorted(hops), ["checks", "references"], dag):
        checks[edge.from_id].append(edge)
    columns = _columns(hops) if changed.label == COLUMN else None
    tests = []
    for vertex in graph.vertices(sorted(checks)):
        edges = [edge for edge in checks[vertex.id] if columns is None or _uses(vertex, edge.to_id, columns)]
        if edges:
            of = tuple(sorted({edge.to_id for edge in edges}))
            effect = _effect(dependents.states, vertex, of) if dependents.states else None
            tests.append(AffectedTest(vertex, of, min(hops[identifier] for identifier in of), effect))
    return tuple(sorted(tests, key=lambda test: (test.distance, test.vertex.id)))


def _columns(ids: Iterable[str]) -> Mapping[str, set[str]]:
    """Return the names of columns by the id of their dataset."""
    names: Mapping[str, set[str]] = defaultdict(set)
    for identifier in ids:
        if column := column_of(identifier):
            names[dataset_of(identifier)].add(column)
    return names


def _uses(test: Vertex, checked: str, columns: Mapping[str, set[str]]) -> bool:
    """Return whether a test of a dataset may use one of its affected columns; a test of a column does."""
    named = str(test.properties.get("column_name", "")).lower()
    if not named or checked not in columns:
        return True
    return any(re.search(rf"\b{re.escape(name)}\b", named) for name in columns[checked])


def _effect(states: States, test: Vertex, checked: Iterable[str]) -> Effect:
    is_untyped = test.properties.get("assertion_type") in _UNTYPED
    of_column = Step(UNTYPED_TEST if is_untyped else TEST)
    effects = []
    for identifier in checked:
        # A test of a dataset may use any of its columns.
        step = Step(USE) if identifier in states.of_columns else of_column
        effects += [
            effect(states.change, follow(states.change, state, step))
            for state in states.find_states(identifier)
        ]
    return worst(effects)
