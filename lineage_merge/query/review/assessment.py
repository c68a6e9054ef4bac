"""Consequences of a change of a dbt project: what breaks downstream, and newly violated policies."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from lineage_merge.config import Policy
from lineage_merge.config.propagation import Propagation
from lineage_merge.query.affected_tests import affected_tests
from lineage_merge.query.backends.parquet_folder import ParquetFolder
from lineage_merge.query.dependents import Dependents, dependents
from lineage_merge.query.effects import Change, Effect
from lineage_merge.query.elements import COLUMN, Vertex, dataset_id_of, title_of_id
from lineage_merge.query.graph import LineageGraph
from lineage_merge.query.layers import Layer
from lineage_merge.query.policies import check_policies
from lineage_merge.query.policies.violations import PolicyCheck, Violation
from lineage_merge.query.review.dbt_changes import compare
from lineage_merge.query.review.dbt_versions import (
    DbtFile,
    DbtVersion,
    Scope,
    affected_entries,
    changed_entries,
    relevant,
    version_of,
)
from lineage_merge.query.review.findings import Assessed, Finding, ReviewResult, Severity, in_order
from lineage_merge.query.review.replaced_graph import GraphIds, downstream, everything, replaced


@dataclass(frozen=True, slots=True)
class PolicySettings:
    """The policies of a configuration, and what they refer to."""

    policies: Sequence[Policy] = ()
    layers: Sequence[Layer] = ()
    propagation: Mapping[str, Propagation] = field(default_factory=dict)


def review_dbt(
    before: DbtFile,
    after: DbtFile,
    scope: Scope,
    graph: LineageGraph | ParquetFolder | None = None,
    settings: PolicySettings | None = None,
) -> ReviewResult:
    """Return the findings of a change of a project, with their consequences in a graph.

    Without a graph, the manifest before the change is the graph: it knows dbt's models and exposures only.
    Policies need a whole graph, not a `ParquetFolder`.
    """
    only = relevant(before.manifest, after.manifest)
    is_alone = graph is None
    if is_alone and settings and settings.policies:
        only = {*before.manifest.nodes, *after.manifest.nodes}
    versions = version_of(before, scope, only), version_of(after, scope, only)
    findings, notes = compare(*versions)
    changed = changed_entries(before.manifest, after.manifest)
    notes = list(dict.fromkeys(notes))
    notes += (
        f"{each.document}: {each.message}"
        for file in (before, after)
        for each in file.problems
        if each.kind == "rejected"
    )
    touched = affected_entries(changed, before.manifest, after.manifest)
    own = {dataset for version in versions for key, dataset in version.datasets.items() if key in touched}
    if graph is None:
        graph = versions[0].graph
    elif isinstance(graph, ParquetFolder):
        graph = graph.below(own, {each for version in versions for each in version.datasets.values()})
    assessed = _assess(findings, *versions, changed, own, graph, scope, settings)
    if is_alone:
        notes.append(
            "no graph: only the project's own models and exposures are known. Fix: set --folder or --config"
        )
    return ReviewResult(in_order(assessed), tuple(notes))


def _assess(
    findings: Iterable[Finding],
    before: DbtVersion,
    after: DbtVersion,
    changed: set[str],
    own: set[str],
    graph: LineageGraph,
    scope: Scope,
    settings: PolicySettings | None,
) -> Iterator[Assessed]:
    environment = scope.names.environment
    ids = GraphIds(graph, environment)
    has_policies = bool(settings and settings.policies)
    elements = everything(graph, environment) if has_policies else downstream(graph, map(ids.of, own))
    # What the change adapts reads the new version; everything else reads what it read before.
    adapted = replaced(elements, before, after, changed, ids.of, with_new_columns=False)
    known = {each.id for each in elements[0]}
    removed: set[str] = set()
    for finding in findings:
        if finding.change in (Change.DROP, Change.RENAME) and finding.dataset:
            identifier = _element_id(finding, before, ids)
            if identifier:
                removed.add(identifier)
        yield _consequences(finding, before, adapted, ids, known)
    if settings and settings.policies:
        policies = settings.policies
        original = replaced(elements, before, before, changed, ids.of)
        after_change = replaced(elements, before, after, changed, ids.of, without=removed)
        checks = [
            check_policies(
                each,
                policies,
                layers=settings.layers,
                propagation=settings.propagation,
                environment=environment,
            )
            for each in (original, after_change)
        ]
        yield from _new_violations(*checks)


def _element_id(finding: Finding, before: DbtVersion, ids: GraphIds) -> str:
    if not finding.dataset:
        return ""
    if not finding.column:
        return ids.of(finding.dataset)
    unique_id = next((key for key, each in before.datasets.items() if each == finding.dataset), "")
    column = before.column_id(unique_id, finding.column)
    return ids.of(column) if column else ""


def _consequences(
    finding: Finding, before: DbtVersion, graph: LineageGraph, ids: GraphIds, known: set[str]
) -> Assessed:
    if finding.kind.endswith("added") or not (identifier := _element_id(finding, before, ids)):
        return Assessed(finding)
    vertices = graph.vertices([identifier])
    if not vertices:
        return Assessed(finding)
    if finding.kind in ("source moved", "source renamed") and identifier not in known:
        finding = replace(finding, message=f"{finding.message}, which the graph does not have")
    found = dependents(graph, vertices[0], change=finding.change)
    found = _without_own(found, vertices[0])
    tests = affected_tests(graph, found)
    effects = [*(each.effect for each in found.elements), *(test.effect for test in tests)]
    if finding.change and Effect.BREAKS in effects:
        finding = replace(finding, severity=Severity.BREAKING)
    return Assessed(finding, found, tests)


def _without_own(found: Dependents, changed: Vertex) -> Dependents:
    """Return dependents without the changed dataset itself, which a self reference reaches."""
    own = dataset_id_of(changed.id) if changed.label == COLUMN else changed.id
    elements = tuple(each for each in found.elements if dataset_id_of(each.vertex.id) != own)
    return replace(found, elements=elements)


def _new_violations(before: PolicyCheck, after: PolicyCheck) -> Iterator[Assessed]:
    was = {(result.policy.name, *_key(each)) for result in before.results for each in result.violations}
    for result in after.results:
        for each in result.violations:
            if (result.policy.name, *_key(each)) in was:
                continue
            is_error = result.policy.severity == "error"
            path = " -> ".join(
                [title_of_id(dataset_id_of(edge.from_id)) for edge in each.path[:1]]
                + [title_of_id(dataset_id_of(edge.to_id)) for edge in each.path]
            )
            yield Assessed(
                Finding(
                    "policy violated",
                    each.title,
                    result.policy.name,
                    f"{result.policy.name}: {each.message}" + (f" ({path})" if path else ""),
                    Severity.POLICY if is_error else Severity.CHANGED,
                    after=each.fix,
                    file_path=each.file_path,
                )
            )


def _key(violation: Violation) -> tuple[str, str]:
    start = violation.path[0].from_id if violation.path else ""
    return violation.element_id or violation.title, start
