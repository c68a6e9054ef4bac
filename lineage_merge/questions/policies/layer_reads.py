"""Policies on layers: a layer must not read another, directly or through datasets without a layer."""

from collections import deque
from itertools import pairwise

from lineage_merge.config import Policy
from lineage_merge.config.policies import LayerRule
from lineage_merge.questions.dataset_globs import DatasetGlobs
from lineage_merge.questions.policies.scope import Scope
from lineage_merge.questions.policies.violations import CheckedPolicy, violation_of

Path = tuple[str, ...]


def layer_reads(policy: Policy, rule: LayerRule, scope: Scope) -> CheckedPolicy:
    """Return the datasets of the layer that read a forbidden one, each with the shortest path.

    Datasets without a layer do not hide a read: the path leads through them. A dataset of a third layer ends
    it, because that layer is responsible for what it reads.
    """
    of_layer = [each for each in scope.checked if scope.layer_of.get(each.id) == rule.layer]
    accepted = DatasetGlobs(policy.exceptions)
    used = {glob for each in of_layer for glob in accepted.matching(scope.names[each.id])}
    targets = [each for each in of_layer if not accepted.matching(scope.names[each.id])]
    forbidden = {each for each, layer in scope.layer_of.items() if layer in rule.must_not_read}
    near = _passing(scope, forbidden)
    paths = {each.id: _paths(scope, each.id, forbidden, near) for each in targets}
    edges = scope.edges({pair for found in paths.values() for path in found for pair in _pairs(path)})
    violations = []
    for target in targets:
        for path in paths[target.id]:
            source = scope.datasets[path[0]]
            through = f" through {len(path) - 2} without a layer" if len(path) > 2 else ""
            violations.append(
                violation_of(
                    target,
                    f"reads {source.title} of layer {scope.layer_of[source.id]}{through}",
                    "read a dataset of a layer in between",
                    policy,
                    tuple(edges[pair] for pair in _pairs(path) if pair in edges),
                )
            )
    layers = set(scope.layer_of.values())
    notes = [
        f"layer {name} has no datasets" for name in (rule.layer, *rule.must_not_read) if name not in layers
    ]
    if scope.dag and not of_layer and rule.layer in layers:
        notes.append(f"layer {rule.layer} has no datasets of DAG {scope.dag}")
    notes += scope.unmatched([glob for glob in policy.exceptions if glob not in used], policy.exceptions)
    return CheckedPolicy(policy, len(targets), tuple(violations), tuple(notes))


def _passing(scope: Scope, forbidden: set[str]) -> set[str]:
    """Return the datasets without a layer that forbidden ones feed."""
    found: set[str] = set()
    frontier = deque(forbidden)
    while frontier:
        for target in scope.feeds.get(frontier.popleft(), ()):
            if target not in found and target not in scope.layer_of:
                found.add(target)
                frontier.append(target)
    return found


def _paths(scope: Scope, target: str, forbidden: set[str], passing: set[str]) -> list[Path]:
    """Return the shortest path from each forbidden dataset, through `passing`, to the target."""
    found: dict[str, Path] = {}
    visited = {target}
    frontier: deque[Path] = deque([(target,)])
    while frontier:
        path = frontier.popleft()
        for source in scope.fed_by.get(path[0], ()):
            if source in visited:
                continue
            visited.add(source)
            if source in forbidden:
                found[source] = (source, *path)
            elif source in passing:
                frontier.append((source, *path))
    return [found[source] for source in sorted(found)]


def _pairs(path: Path) -> list[tuple[str, str]]:
    return list(pairwise(path))
