"""Dependents of a changed dataset, column or job, with their distance and the effect of the change."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

from lineage_merge.graph_format.elements import COLUMN, JOB, Edge, Vertex, dataset_of
from lineage_merge.model.errors import QueryError
from lineage_merge.questions.effect_states import States, copies_of_all, propagate
from lineage_merge.questions.effects import Change, Effect, State
from lineage_merge.questions.graph import LineageGraph
from lineage_merge.questions.impact import Impact, impact, job_of
from lineage_merge.questions.lineage import distances

Kind = Literal["dataset", "exposure", "job", "column"]


@dataclass(frozen=True, slots=True)
class Dependent:
    """An element that depends on the changed one.

    `distance`: hops of the shortest path; what a changed job writes has 0. `effect`: None without a change.
    `uses`: for a column, the edges from the changed column or the nearest dependents. `jobs`: for a dataset
    or column, the ids of the affected jobs that write it.
    """

    vertex: Vertex
    kind: Kind
    distance: int
    effect: Effect | None = None
    uses: tuple[Edge, ...] = ()
    jobs: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Dependents:
    """An impact with its elements, the nearest first; `states`: None without a change."""

    changed: Vertex
    impact: Impact
    elements: tuple[Dependent, ...]
    states: States | None = None

    def of_kind(self, kind: Kind) -> list[Dependent]:
        """Return the elements of a kind."""
        return [each for each in self.elements if each.kind == kind]

    @property
    def effects(self) -> dict[Effect, int]:
        """The numbers of elements by effect; empty without a change."""
        counted = Counter(each.effect for each in self.elements)
        return {effect: counted[effect] for effect in Effect} if self.states else {}


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
    found = impact(graph, changed, depth=depth, dag=dag)
    edges = [each for each in found.subgraph.edges if each.label not in ("writes", "has_column")]
    if changed.label != COLUMN:
        columns = {*found.changed_columns, *(each.id for each in found.columns)}
        between = graph.edges_from(sorted(columns), ["feeds_column"], dag)
        edges += [each for each in between if each.to_id in columns]
    hops = _distances(changed, found, edges)
    states = _states(graph, changed, found, edges, change, dag) if change else None
    made = _elements(changed, found, edges, hops, states)
    return Dependents(changed, found, tuple(sorted(made, key=_nearest_first)), states)


def _nearest_first(dependent: Dependent) -> tuple[int, str]:
    return dependent.distance, dependent.vertex.id


def _starts(changed: Vertex, found: Impact) -> list[str]:
    """Return the ids of the changed elements; for a job those of what it writes."""
    if changed.label != JOB:
        return [changed.id, *found.changed_columns]
    written = [each.to_id for each in found.subgraph.edges if each.label == "writes"]
    return [*written, *found.changed_columns]


def _distances(changed: Vertex, found: Impact, edges: list[Edge]) -> Mapping[str, int]:
    starts = _starts(changed, found)
    if changed.label != COLUMN:
        return distances(starts, edges)
    # The datasets of columns are as near as the nearest column.
    hops = distances(starts, [each for each in edges if each.label != "feeds"])
    for column in (changed.id, *(each.id for each in found.columns)):
        dataset = dataset_of(column)
        hops[dataset] = min(hops[column], hops.get(dataset, hops[column]))
    for each in edges:
        if each.label == "feeds" and each.from_id in hops:
            further = hops[each.from_id] + 1
            hops[each.to_id] = min(further, hops.get(each.to_id, further))
    return hops


def _states(
    graph: LineageGraph, changed: Vertex, found: Impact, edges: list[Edge], change: Change, dag: str | None
) -> States:
    # What a dropped job writes is not dropped, but no longer written.
    first = State.BROKEN if changed.label == JOB else State.CARRIED
    copied: set[str] = set()
    if change is Change.RENAME and changed.label == COLUMN:
        copied = copies_of_all(graph, edges, dag)
    exposures = {each.id for each in found.exposures}
    return propagate(change, dict.fromkeys(_starts(changed, found), first), edges, exposures, copied)


def _elements(
    changed: Vertex,
    found: Impact,
    edges: list[Edge],
    hops: Mapping[str, int],
    states: States | None,
) -> Iterator[Dependent]:
    arriving: dict[str, list[Edge]] = {}
    for each in edges:
        arriving.setdefault(each.to_id, []).append(each)
    writers = _writers(found, edges)
    of_jobs: dict[str, int] = {}
    for each in edges:
        if (job := job_of(each)) and each.from_id in hops:
            of_jobs[job] = min(hops[each.from_id] + 1, of_jobs.get(job, hops[each.from_id] + 1))
    kinds: tuple[tuple[Kind, Iterable[Vertex]], ...] = (
        ("dataset", (*found.datasets, *found.indirectly_affected)),
        ("exposure", found.exposures),
        ("job", (each for each in found.jobs if each.id != changed.id)),
        ("column", found.columns),
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
            )


def _writers(found: Impact, edges: Iterable[Edge]) -> Mapping[str, set[str]]:
    """Return the ids of the affected jobs by the id of the dataset or column that they write."""
    jobs = {each.id for each in found.jobs}
    written: Mapping[str, set[str]] = defaultdict(set)
    for each in edges:
        if (job := job_of(each)) and job in jobs:
            written[each.to_id].add(job)
            if each.label == "feeds_column":
                written[dataset_of(each.to_id)].add(job)
    return written


def _nearest(edges: Iterable[Edge], hops: Mapping[str, int]) -> tuple[Edge, ...]:
    """Return the edges on the shortest paths."""
    known = [each for each in edges if each.from_id in hops]
    least = min((hops[each.from_id] for each in known), default=0)
    return tuple(sorted((each for each in known if hops[each.from_id] == least), key=lambda each: each.id))
