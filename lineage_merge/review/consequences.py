"""Consequences of findings in a graph: what breaks downstream, and newly violated policies."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from lineage_merge.config import Policy
from lineage_merge.config.policies import UpdateRule
from lineage_merge.config.propagation import Propagation
from lineage_merge.graph_format.elements import COLUMN, Vertex, dataset_id_of, title_of_id
from lineage_merge.questions.dependents import Dependents, affected_tests, dependents
from lineage_merge.questions.effects import Effect
from lineage_merge.questions.graph import LineageGraph
from lineage_merge.questions.layers import Layer
from lineage_merge.questions.policies import check_policies
from lineage_merge.questions.policies.violations import PolicyCheck, Violation
from lineage_merge.review.findings import Assessed, Finding, Severity


@dataclass(frozen=True, slots=True)
class PolicySettings:
    """The policies of a configuration, and what they refer to."""

    policies: Sequence[Policy] = ()
    layers: Sequence[Layer] = ()
    propagation: Mapping[str, Propagation] = field(default_factory=dict)


def consequences(
    finding: Finding, identifier: str, graph: LineageGraph, *, is_adapted: bool = True
) -> Assessed:
    """Return a finding with everything downstream of an element of the graph ("": none).

    It is breaking if something downstream breaks. `is_adapted` false: the graph does not have what the change
    adapts, so this does not follow.
    """
    if finding.kind.endswith("added") or not identifier:
        return Assessed(finding)
    vertices = graph.vertices([identifier])
    if not vertices:
        return Assessed(finding)
    found = dependents(graph, vertices[0], change=finding.change)
    found = _without_own(found, vertices[0])
    tests = affected_tests(graph, found)
    effects = [*(element.effect for element in found.elements), *(test.effect for test in tests)]
    if is_adapted and finding.change and Effect.BREAKS in effects:
        finding = replace(finding, severity=Severity.BREAKING)
    return Assessed(finding, found, tests)


def _without_own(found: Dependents, changed: Vertex) -> Dependents:
    """Return dependents without the changed dataset itself, which a self reference reaches."""
    own = dataset_id_of(changed.id) if changed.label == COLUMN else changed.id
    elements = tuple(element for element in found.elements if dataset_id_of(element.vertex.id) != own)
    return replace(found, elements=elements)


def new_violations(
    before: LineageGraph, after: LineageGraph, settings: PolicySettings, environment: str
) -> Iterator[Assessed]:
    """Yield violations that a graph has after a change, and had not before.

    Policies on last updates are about data, which the change has not written yet.
    """
    policies = [policy for policy in settings.policies if not isinstance(policy.rule, UpdateRule)]
    checks = [
        check_policies(
            each,
            policies,
            layers=settings.layers,
            propagation=settings.propagation,
            environment=environment,
        )
        for each in (before, after)
    ]
    yield from _new_violations(*checks)


def _new_violations(before: PolicyCheck, after: PolicyCheck) -> Iterator[Assessed]:
    was = {
        (result.policy.name, *_key(violation)) for result in before.results for violation in result.violations
    }
    for result in after.results:
        for violation in result.violations:
            if (result.policy.name, *_key(violation)) in was:
                continue
            is_error = result.policy.severity == "error"
            path = " -> ".join(
                [title_of_id(dataset_id_of(edge.from_id)) for edge in violation.path[:1]]
                + [title_of_id(dataset_id_of(edge.to_id)) for edge in violation.path]
            )
            yield Assessed(
                Finding(
                    "policy violated",
                    violation.title,
                    result.policy.name,
                    f"{result.policy.name}: {violation.message}" + (f" ({path})" if path else ""),
                    Severity.POLICY if is_error else Severity.CHANGED,
                    after=violation.fix,
                    file_path=violation.file_path,
                )
            )


def _key(violation: Violation) -> tuple[str, str]:
    start = violation.path[0].from_id if violation.path else ""
    return violation.element_id or violation.title, start
