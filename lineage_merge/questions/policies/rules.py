"""Checks of policies: one function per kind of rule, and the check of all policies of a configuration."""

import time
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise

from lineage_merge.config import Policy
from lineage_merge.config.policies import LayerRule, RequirementRule, SourceRule, TagRule, UpdateRule
from lineage_merge.config.propagation import Propagation
from lineage_merge.graph_format.elements import COLUMN, Vertex, subgraph, title_in
from lineage_merge.graph_format.schema import SEMANTIC_LABELS
from lineage_merge.infra.engine.local import collection_off
from lineage_merge.model.counts import format_names
from lineage_merge.model.elements import FIELD, column_of, dataset_of
from lineage_merge.model.errors import did_you_mean
from lineage_merge.model.graph_walks import reachable
from lineage_merge.model.times import duration_text
from lineage_merge.questions.graph import LineageGraph
from lineage_merge.questions.layers import Layer
from lineage_merge.questions.policies.scope import PolicyScope
from lineage_merge.questions.policies.violations import (
    CheckedPolicy,
    PolicyCheck,
    Violation,
    violation_of,
)
from lineage_merge.questions.traversal.dataset_globs import DatasetGlobs, Selection, is_name
from lineage_merge.questions.traversal.last_updates import LastUpdate, last_updates
from lineage_merge.questions.traversal.lineage import ends
from lineage_merge.questions.traversal.staleness import Expectations
from lineage_merge.questions.traversal.tag_propagation import Carrier

# Requirements of data: dashboards and metrics hold none.
_OF_DATA = frozenset({"test", "freshness", "contract"})
_WITHOUT_DATA = frozenset({"exposure", *SEMANTIC_LABELS})
_FIXES = {
    "owner": "add an owner in dbt, the catalog or `metadata`",
    "description": "add a description in dbt, the catalog or `metadata`",
    "test": "add a dbt test or a data quality check",
    "freshness": "add a freshness check to the dbt source",
    "contract": "enforce the contract of the dbt model",
    "tag": "add a tag in dbt, the catalog or `metadata`",
}
_MAX_SHOWN = 3
Path = tuple[str, ...]


def layer_reads(policy: Policy, rule: LayerRule, scope: PolicyScope) -> CheckedPolicy:
    """Return the datasets of the layer that read a forbidden one, each with the shortest path.

    Datasets without a layer do not hide a read: the path leads through them. A dataset of a third layer ends
    it, because that layer is responsible for what it reads.
    """
    of_layer = [dataset for dataset in scope.checked if scope.layer_of.get(dataset.id) == rule.layer]
    accepted = DatasetGlobs(policy.exceptions)
    used = {glob for dataset in of_layer for glob in accepted.matching(scope.names[dataset.id])}
    targets = [dataset for dataset in of_layer if not accepted.matching(scope.names[dataset.id])]
    forbidden = {identifier for identifier, layer in scope.layer_of.items() if layer in rule.must_not_read}
    near = _passing(scope, forbidden)
    paths = {dataset.id: _paths(scope, dataset.id, forbidden, near) for dataset in targets}
    edges = scope.edges({pair for own in paths.values() for path in own for pair in _pairs(path)})
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
    notes += scope.report_unmatched(policy.exceptions, policy.exceptions, used)
    return CheckedPolicy(policy, len(targets), tuple(violations), tuple(notes))


def _passing(scope: PolicyScope, forbidden: set[str]) -> set[str]:
    """Return the datasets without a layer that forbidden ones feed."""
    without_layer = {
        source: [target for target in targets if target not in scope.layer_of]
        for source, targets in scope.feeds.items()
    }
    return reachable(forbidden, without_layer) - forbidden


def _paths(scope: PolicyScope, target: str, forbidden: set[str], passing: set[str]) -> list[Path]:
    """Return the shortest path from each forbidden dataset, through `passing`, to the target."""
    path_from: dict[str, Path] = {}
    visited = {target}
    frontier: deque[Path] = deque([(target,)])
    while frontier:
        path = frontier.popleft()
        for source in scope.fed_by.get(path[0], ()):
            if source in visited:
                continue
            visited.add(source)
            if source in forbidden:
                path_from[source] = (source, *path)
            elif source in passing:
                frontier.append((source, *path))
    return [path_from[source] for source in sorted(path_from)]


def _pairs(path: Path) -> list[tuple[str, str]]:
    return list(pairwise(path))


def tag_reach(policy: Policy, rule: TagRule, scope: PolicyScope) -> CheckedPolicy:
    """Return the columns and datasets that carry a tag where they must not.

    `propagation` of the configuration decides where a tag stops. Columns that only carry the tag of their
    dataset are not listed in addition to it.
    """
    wanted, accepted = DatasetGlobs(rule.must_not_reach), DatasetGlobs(policy.exceptions)
    used: set[str] = set()
    selected: dict[str, tuple[Selection, Selection]] = {}
    for dataset in scope.checked:
        chosen = wanted.selection(scope.names[dataset.id])
        if chosen.whole or chosen.of_columns:
            but = accepted.selection(scope.names[dataset.id])
            selected[dataset.id] = (chosen, but)
            used.update(chosen.whole, chosen.of_columns, but.whole, but.of_columns)
    carriers = [carrier for carrier in scope.tags.carriers if carrier.tag in rule.tags]
    # The origin by dataset and tag, of datasets that are listed as a whole.
    whole = {
        (carrier.id, carrier.tag): carrier.origin
        for carrier in carriers
        if not carrier.by_rows and carrier.id in selected and _is_violated(selected[carrier.id])
    }
    violating = []
    for carrier in carriers:
        is_column = carrier.id not in scope.datasets
        owner = dataset_of(carrier.id) if is_column else carrier.id
        if owner not in selected:
            continue
        column = column_of(carrier.id) if is_column else None
        if _is_violated(selected[owner], column) and not (is_column and _is_repeated(carrier, owner, whole)):
            violating.append((carrier, owner))
    ids = {id_ for carrier, _ in violating for id_ in (carrier.id, carrier.origin)}
    vertices = scope.vertices(ids | {dataset_of(identifier) for identifier in ids})
    violations = [
        _violation(policy, carrier, vertices[carrier.id], vertices[owner], vertices)
        for carrier, owner in violating
        if carrier.id in vertices
    ]
    # A tag that is cleared everywhere exists, too.
    existing = {carrier.tag for carrier in carriers} | {stop.tag for stop in scope.tags.stops}
    notes = [
        f"no column or dataset has the tag {tag}{did_you_mean(tag, scope.tag_names)}"
        for tag in rule.tags
        if tag not in existing
    ]
    notes += scope.report_unmatched((*wanted.globs, *accepted.globs), accepted.globs, used)
    return CheckedPolicy(policy, len(selected), tuple(violations), tuple(notes))


def _is_violated(selected: tuple[Selection, Selection], column: str | None = None) -> bool:
    """Whether the policy selects a dataset, or a column of it, and does not accept it."""
    wanted, accepted = selected
    if column is None:
        return bool(wanted.whole) and not accepted.whole
    # What holds for a column holds for its fields.
    names = column.split(FIELD)
    paths = [".".join(names[:number]) for number in range(1, len(names) + 1)]
    return any(map(wanted.holds_column, paths)) and not any(map(accepted.holds_column, paths))


def _is_repeated(carrier: Carrier, dataset: str, whole: Mapping[tuple[str, str], str]) -> bool:
    """Whether a column only carries the tag of its dataset, which is listed."""
    origin = whole.get((dataset, carrier.tag))
    return origin is not None and carrier.origin in (origin, dataset)


def _violation(
    policy: Policy, carrier: Carrier, vertex: Vertex, dataset: Vertex, vertices: Mapping[str, Vertex]
) -> Violation:
    if carrier.own:
        message = f"has the tag {carrier.tag}"
        fix = "remove the tag or the column"
    else:
        verb = "has rows that depend on" if carrier.by_rows else "carries"
        unknown = ", because column lineage is unknown" if carrier.path[-1].label == "feeds" else ""
        message = f"{verb} {carrier.tag} of {title_in(vertices, carrier.origin)}{unknown}"
        fix = "drop, hash or mask the column on the path, declare where the tag stops in `propagation`"
    column = vertex if vertex.label == COLUMN else None
    return violation_of(dataset, message, fix, policy, carrier.path, column)


def find_lacking_datasets(
    policy: Policy, rule: RequirementRule | SourceRule | UpdateRule, scope: PolicyScope
) -> CheckedPolicy:
    """Return the selected datasets that lack something, a source or a recent update."""
    targets, notes = scope.select(rule.datasets, policy.exceptions)
    checked = len(targets)
    if isinstance(rule, RequirementRule):
        violations = [*_requirements(policy, rule, scope, targets)]
    elif isinstance(rule, SourceRule):
        violations = [*_sources(policy, rule, scope, targets)]
    else:
        # Datasets without rows have no age.
        stored = [update for update in last_updates(scope.graph, targets).values() if update.stores_rows]
        if without_rows := checked - len(stored):
            kinds = "(views, dashboards, metrics)"
            notes.append(f"not checked, without rows of their own: {without_rows:,} {kinds}")
        checked = len(stored)
        violations = [*_updates(policy, rule, stored, Expectations(scope.now, policies=[policy]))]
    absent, notes = _missing_datasets(rule.datasets, scope, notes)
    return CheckedPolicy(policy, checked, (*violations, *absent), tuple(notes))


def _requirements(
    policy: Policy, rule: RequirementRule, scope: PolicyScope, targets: Iterable[Vertex]
) -> Iterator[Violation]:
    for dataset in targets:
        missing = [requirement for requirement in rule.must_have if not _has(scope, dataset, requirement)]
        if missing:
            fixes = dict.fromkeys(_fix(requirement) for requirement in missing)
            yield violation_of(dataset, f"has no {_list_missing(missing)}", "; ".join(fixes), policy)


def _has(scope: PolicyScope, dataset: Vertex, requirement: str) -> bool:
    if requirement in _OF_DATA and dataset.label in _WITHOUT_DATA:
        return True
    properties = dataset.properties
    kind, _, tag = requirement.partition(":")
    if kind == "tag":
        tags = properties.get("tags", ())
        return tag in tags if tag else bool(tags)
    if requirement in ("test", "freshness"):
        tests, freshness = scope.tested
        return dataset.id in (tests if requirement == "test" else freshness)
    if requirement == "contract":
        return bool(properties.get("contract") == "enforced")
    return bool(properties.get({"owner": "owners"}.get(requirement, requirement)))


def _fix(requirement: str) -> str:
    kind, _, tag = requirement.partition(":")
    return f"add the tag {tag} in dbt, the catalog or `metadata`" if tag else _FIXES[kind]


def _list_missing(missing: list[str]) -> str:
    shown = [f"tag {name.partition(':')[2]}" if ":" in name else name for name in missing]
    return " or ".join([", ".join(shown[:-1]), shown[-1]] if len(shown) > 1 else shown)


def _sources(
    policy: Policy, rule: SourceRule, scope: PolicyScope, targets: Iterable[Vertex]
) -> Iterator[Violation]:
    """Yield the datasets that a required source does not feed. A source may match several datasets."""
    for required in rule.must_be_fed_by:
        globs = DatasetGlobs([required])
        starts = [identifier for identifier, names in scope.names.items() if globs.matching(names)]
        unknown = "" if starts else ", which no dataset matches"
        similar = _suggestion(required, scope) if not starts and is_name(required) else ""
        fed = scope.downstream(starts)
        for dataset in targets:
            if dataset.id not in fed:
                message = f"is not fed by {required}{unknown}; {_inputs(scope, dataset)}"
                fix = f"read the source, or correct its name in the policy{similar}"
                yield violation_of(dataset, message, fix, policy)


def _inputs(scope: PolicyScope, dataset: Vertex) -> str:
    inputs = scope.fed_by.get(dataset.id, ())
    if not inputs:
        return "it reads nothing"
    titles = [scope.datasets[id_].title for id_ in inputs if id_ in scope.datasets]
    return f"it reads {format_names(titles, _MAX_SHOWN)}"


def _updates(
    policy: Policy, rule: UpdateRule, updates: Iterable[LastUpdate], expectations: Expectations
) -> Iterator[Violation]:
    """Yield the datasets whose last update is too long ago or unknown."""
    for update in updates:
        if any(expectation.unmet for expectation in expectations.derive(update) if expectation.policy):
            age = duration_text(expectations.now - (update.not_after or 0))
            message = f"was last updated {age} ago; the maximum is {duration_text(rule.within_ms)}"
            yield violation_of(update.dataset, message, "run the job that writes it", policy)
        elif update.updated_at is None or update.is_uncertain:
            failed = "its newest run failed"
            cause = failed if update.is_uncertain else "no run and no freshness check are known"
            fix = "run the job that writes it, or add a freshness check"
            yield violation_of(update.dataset, f"has no known last update: {cause}", fix, policy)


def _missing_datasets(
    globs: Iterable[str], scope: PolicyScope, notes: Sequence[str]
) -> tuple[list[Violation], list[str]]:
    """Return violations for required datasets that are missing, and the notes without those on them.

    A name without wildcards requires the dataset. In a query of one DAG it may belong to another: a note.
    """
    if scope.dag:
        return [], list(notes)
    violations = []
    left = list(notes)
    for glob in globs:
        (note,) = scope.report_unmatched([glob])
        if is_name(glob) and note in left:
            left.remove(note)
            fix = f"merge the job that writes it, or correct the name in the policy{_suggestion(glob, scope)}"
            violations.append(Violation("", glob, "is missing in the graph", fix))
    return violations, left


def _suggestion(name: str, scope: PolicyScope) -> str:
    """Return ``; did you mean ...?`` with similar names of datasets."""
    return did_you_mean(name, (dataset.title for dataset in scope.datasets.values()))


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
    scope = PolicyScope(graph, tuple(layers), environment, dag, now, sorted(tags), propagation or {})
    results = [_sort(_result(policy, scope)) for policy in policies]
    violations = [violation for result in results for violation in result.violations]
    edges = [edge for violation in violations for edge in violation.path]
    ids = ends(edges) | {violation.element_id for violation in violations if violation.element_id}
    owners = {dataset_of(identifier) for identifier in ids} & scope.datasets.keys()
    return PolicyCheck(tuple(results), subgraph(scope.vertices(ids | owners).values(), edges))


def _result(policy: Policy, scope: PolicyScope) -> CheckedPolicy:
    match policy.rule:
        case TagRule() as rule:
            return tag_reach(policy, rule, scope)
        case LayerRule() as rule:
            return layer_reads(policy, rule, scope)
        case rule:
            return find_lacking_datasets(policy, rule, scope)


def _sort(result: CheckedPolicy) -> CheckedPolicy:
    violations = sorted(
        result.violations, key=lambda violation: (violation.title, violation.element_id, violation.message)
    )
    return replace(result, violations=tuple(violations))
