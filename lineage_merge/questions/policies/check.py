"""Verification of all policies of a configuration."""

import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from lineage_merge.config import Policy
from lineage_merge.config.policies import LayerRule, RequirementRule, SourceRule, TagRule, UpdateRule
from lineage_merge.config.propagation import Propagation
from lineage_merge.graph_format.elements import dataset_of, subgraph
from lineage_merge.infra.engine.local import collection_off
from lineage_merge.questions.graph import LineageGraph
from lineage_merge.questions.layers import Layer
from lineage_merge.questions.lineage import ends
from lineage_merge.questions.policies.dataset_rules import requirements, sources, updates
from lineage_merge.questions.policies.layer_reads import layer_reads
from lineage_merge.questions.policies.scope import Scope
from lineage_merge.questions.policies.tag_reach import tag_reach
from lineage_merge.questions.policies.violations import CheckedPolicy, PolicyCheck


@collection_off()  # what is read is needed until the end
def check_policies(
    graph: LineageGraph,
    policies: Sequence[Policy],
    *,
    layers: Iterable[Layer] = (),
    propagation: Mapping[str, Propagation] | None = None,
    environment: str | None = None,
    dag: str | None = None,
    now: int | None = None,
) -> PolicyCheck:
    """Return the violations of each policy, in their order.

    The graph is read once for all policies, and only what they need. Without an environment the datasets of
    all are checked. `dag`: check only its datasets, along the lineage of all DAGs. `now`: the time for ages,
    in ms since 1970, by default that of the call.
    """
    tags = {tag for policy in policies if isinstance(policy.rule, TagRule) for tag in policy.rule.tags}
    now = time.time_ns() // 1_000_000 if now is None else now
    scope = Scope(graph, layers, environment, dag, now=now, tags=sorted(tags), propagation=propagation)
    results = [_ordered(_result(policy, scope)) for policy in policies]
    found = [violation for result in results for violation in result.violations]
    edges = [edge for each in found for edge in each.path]
    ids = ends(edges) | {each.element_id for each in found if each.element_id}
    owners = {dataset_of(identifier) for identifier in ids} & scope.datasets.keys()
    return PolicyCheck(tuple(results), subgraph(scope.vertices(ids | owners).values(), edges))


def _result(policy: Policy, scope: Scope) -> CheckedPolicy:
    match policy.rule:
        case TagRule() as rule:
            return tag_reach(policy, rule, scope)
        case LayerRule() as rule:
            return layer_reads(policy, rule, scope)
        case RequirementRule() as rule:
            return requirements(policy, rule, scope)
        case SourceRule() as rule:
            return sources(policy, rule, scope)
        case UpdateRule() as rule:
            return updates(policy, rule, scope)


def _ordered(result: CheckedPolicy) -> CheckedPolicy:
    violations = sorted(
        result.violations, key=lambda violation: (violation.title, violation.element_id, violation.message)
    )
    return replace(result, violations=tuple(violations))
