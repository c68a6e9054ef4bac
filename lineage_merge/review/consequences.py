"""Consequences of findings in the merged graph: what breaks downstream, and newly violated policies."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from lineage_merge.config import Policy
from lineage_merge.config.policies import UpdateRule
from lineage_merge.config.propagation import Propagation
from lineage_merge.graph_format.elements import (
    ALL_VERTEX_LABELS,
    COLUMN,
    LABELS_WITH_TESTS,
    Edge,
    Vertex,
    name_parts,
    title_of_id,
)
from lineage_merge.graph_format.schema import DATASET_LABELS
from lineage_merge.model.elements import column_id, column_of, dataset_of, field_path
from lineage_merge.questions.graph import LineageGraph
from lineage_merge.questions.layers import Layer
from lineage_merge.questions.policies import check_policies
from lineage_merge.questions.policies.violations import Violation
from lineage_merge.questions.traversal.column_walk import with_derived
from lineage_merge.questions.traversal.dependents import dependents, find_affected_tests
from lineage_merge.questions.traversal.effects import Effect
from lineage_merge.questions.traversal.impact import job_of
from lineage_merge.questions.traversal.usage import QUERY_LOG, query_log_of, usages
from lineage_merge.review.findings import Assessed, Finding, Severity

_EDGE_LABELS = tuple(label for label in LABELS_WITH_TESTS if label not in ALL_VERTEX_LABELS)


class GraphLookup:
    """Datasets and columns of the merged graph, by ids that do not know all aliases."""

    def __init__(self, graph: LineageGraph, environment: str) -> None:
        self.graph = graph
        self.environment = environment
        self._ids: dict[str, str] = {}

    def id_of(self, identifier: str) -> str:
        """Return the id in the graph of a dataset or column; its own if the graph does not have it."""
        dataset = dataset_of(identifier)
        if dataset not in self._ids:
            vertex = self.dataset(dataset)
            self._ids[dataset] = vertex.id if vertex else dataset
        return self._ids[dataset] + identifier.removeprefix(dataset)

    def dataset(self, dataset: str) -> Vertex | None:
        """Return the dataset with an id, or the one with this alias."""
        if vertices := self.graph.vertices([dataset]):
            return vertices[0]
        _, namespace, name = name_parts(dataset)
        alias = f"{namespace}|{name} ("
        named = [
            vertex
            for vertex in self.graph.find_named(name, DATASET_LABELS, self.environment)
            if any(str(other).startswith(alias) for other in vertex.properties.get("aliases", ()))
        ]
        return named[0] if len(named) == 1 else None

    def columns(self, dataset: str) -> list[Vertex]:
        """Return the columns of a dataset."""
        return self.graph.vertices([edge.to_id for edge in self.graph.edges_below([dataset], ["has_column"])])

    def element(self, finding: Finding) -> Vertex | None:
        """Return the dataset or column, in any case, that a finding is about."""
        owner = self.dataset(finding.dataset) if finding.dataset else None
        if owner is None or not finding.column:
            return owner
        name = finding.column.lower()
        columns = self.columns(owner.id)
        column = next((vertex for vertex in columns if vertex.qualified_name.lower() == name), None)
        structures = [vertex for vertex in columns if name.startswith(f"{vertex.qualified_name.lower()}.")]
        if column or not structures:
            return column
        # A field that nothing reads by its name has no vertex; readers of its structure read it, too.
        structure = max(structures, key=lambda vertex: len(vertex.qualified_name))
        left = name.removeprefix(f"{structure.qualified_name.lower()}.")
        path = field_path(column_of(structure.id), *left.split("."))
        return next(iter(with_derived(self.graph, [column_id(owner.id, path)])), None)


def everything(graph: LineageGraph, environment: str | None) -> tuple[list[Vertex], list[Edge]]:
    """Return the vertices and edges of a graph that a review asks for."""
    vertices: list[Vertex] = []
    edges: list[Edge] = []
    for element in graph.everything(environment, None, (*LABELS_WITH_TESTS, QUERY_LOG)):
        if isinstance(element, Vertex):
            vertices.append(element)
        else:
            edges.append(element)
    return vertices, edges


def downstream(graph: LineageGraph, datasets: Iterable[str]) -> tuple[list[Vertex], list[Edge]]:
    """Return what is downstream of datasets, with jobs, tests and query logs, and what those read directly.

    In a remote graph, that is a small part of everything.
    """
    reached = set(datasets)
    new = set(reached)
    while new:
        columns = {edge.to_id for edge in graph.edges_below(sorted(new), ["has_column"])}
        ids = graph.reach(sorted(new), ["feeds"], "down")
        ids |= graph.reach(sorted(columns), ["feeds_column", "influences"], "down")
        new = {dataset_of(identifier) for identifier in ids} - reached
        reached |= new
    columns = {edge.to_id for edge in graph.edges_below(sorted(reached), ["has_column"])}
    starts = sorted(reached | columns)
    around = (*graph.edges_from(starts, _EDGE_LABELS), *graph.edges_to(starts, _EDGE_LABELS))
    edges = {edge.id: edge for edge in around}
    ends = {end for edge in edges.values() for end in (edge.from_id, edge.to_id)}
    jobs = {job for edge in edges.values() if (job := job_of(edge))}
    logs = set(map(query_log_of, reached))
    return graph.vertices(sorted({*reached, *ends, *jobs, *logs})), list(edges.values())


def consequences(
    finding: Finding, identifier: str, graph: LineageGraph, *, is_adapted: bool = True
) -> Assessed:
    """Return a finding with everything downstream of an element of the graph ("": none).

    It is breaking if something downstream breaks. `is_adapted` false: the graph does not have what the change
    adapts, so this does not follow.
    """
    if finding.kind.endswith("added") or not identifier:
        return Assessed(finding)
    vertices = with_derived(graph, [identifier])
    if not vertices:
        return Assessed(finding)
    changed = vertices[0]
    affected = dependents(graph, changed, change=finding.change)
    # Without the changed dataset itself, which a self reference reaches.
    own = dataset_of(changed.id) if changed.label == COLUMN else changed.id
    elements = tuple(element for element in affected.elements if dataset_of(element.vertex.id) != own)
    affected = replace(affected, elements=elements)
    tests = find_affected_tests(graph, affected)
    effects = {*(element.effect for element in elements), *(test.effect for test in tests)}
    if is_adapted and finding.change and Effect.BREAKS in effects:
        finding = replace(finding, severity=Severity.BREAKING)
    return Assessed(finding, affected, tests, usage=usages(graph, [changed])[changed.id])


@dataclass(frozen=True, slots=True)
class PolicySettings:
    """The policies of a configuration, and what they refer to."""

    policies: Sequence[Policy] = ()
    layers: Sequence[Layer] = ()
    propagation: Mapping[str, Propagation] = field(default_factory=dict)


def new_violations(
    before: LineageGraph, after: LineageGraph, settings: PolicySettings, environment: str
) -> Iterator[Assessed]:
    """Yield violations that a graph has after a change, and had not before.

    Policies on last updates are about data, which the change has not written yet.
    """
    policies = [policy for policy in settings.policies if not isinstance(policy.rule, UpdateRule)]
    old, new = (
        [
            (result.policy, violation)
            for result in check_policies(
                graph,
                policies,
                layers=settings.layers,
                propagation=settings.propagation,
                environment=environment,
            ).results
            for violation in result.violations
        ]
        for graph in (before, after)
    )
    known = {(policy.name, *_key(violation)) for policy, violation in old}
    for policy, violation in new:
        if (policy.name, *_key(violation)) in known:
            continue
        ends = [edge.from_id for edge in violation.path[:1]] + [edge.to_id for edge in violation.path]
        path = " -> ".join(title_of_id(dataset_of(identifier)) for identifier in ends)
        yield Assessed(
            Finding(
                "policy violated",
                violation.title,
                policy.name,
                f"{policy.name}: {violation.message}" + (f" ({path})" if path else ""),
                Severity.POLICY if policy.severity == "error" else Severity.CHANGED,
                after=violation.fix,
                dataset=dataset_of(violation.element_id) if violation.element_id else "",
                file_path=violation.file_path,
            )
        )


def _key(violation: Violation) -> tuple[str, str]:
    start = violation.path[0].from_id if violation.path else ""
    return violation.element_id or violation.title, start
