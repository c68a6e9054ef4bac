"""Policies on selected datasets: on their properties, their sources and their last update."""

from collections.abc import Iterable, Sequence

from lineage_merge.config import Policy
from lineage_merge.config.policies import RequirementRule, SourceRule, UpdateRule
from lineage_merge.graph_format.elements import Vertex
from lineage_merge.graph_format.schema import SEMANTIC_LABELS
from lineage_merge.model.errors import did_you_mean
from lineage_merge.model.times import duration_text
from lineage_merge.questions.dataset_globs import DatasetGlobs, is_name
from lineage_merge.questions.expectations import Expectations
from lineage_merge.questions.last_updates import LastUpdate, last_updates
from lineage_merge.questions.policies.scope import Scope
from lineage_merge.questions.policies.violations import CheckedPolicy, Violation, violation_of

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


def requirements(policy: Policy, rule: RequirementRule, scope: Scope) -> CheckedPolicy:
    """Return the datasets that lack something, one violation per dataset."""
    targets, notes = scope.select(rule.datasets, policy.exceptions)
    violations = []
    for dataset in targets:
        missing = [requirement for requirement in rule.must_have if not _has(scope, dataset, requirement)]
        if missing:
            fixes = dict.fromkeys(_fix(requirement) for requirement in missing)
            violations.append(violation_of(dataset, f"has no {_listed(missing)}", "; ".join(fixes), policy))
    absent, notes = _missing_datasets(rule.datasets, scope, notes)
    return CheckedPolicy(policy, len(targets), (*violations, *absent), tuple(notes))


def _has(scope: Scope, dataset: Vertex, requirement: str) -> bool:
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


def _listed(missing: list[str]) -> str:
    shown = [f"tag {each.partition(':')[2]}" if ":" in each else each for each in missing]
    return " or ".join([", ".join(shown[:-1]), shown[-1]] if len(shown) > 1 else shown)


def sources(policy: Policy, rule: SourceRule, scope: Scope) -> CheckedPolicy:
    """Return the datasets that a required source does not feed. A source may match several datasets."""
    targets, notes = scope.select(rule.datasets, policy.exceptions)
    violations = []
    for required in rule.must_be_fed_by:
        globs = DatasetGlobs([required])
        starts = [each for each, names in scope.names.items() if globs.matching(names)]
        unknown = "" if starts else ", which no dataset matches"
        similar = _suggestion(required, scope) if not starts and is_name(required) else ""
        fed = scope.downstream(starts)
        for dataset in targets:
            if dataset.id not in fed:
                message = f"is not fed by {required}{unknown}; {_inputs(scope, dataset)}"
                fix = f"read the source, or correct its name in the policy{similar}"
                violations.append(violation_of(dataset, message, fix, policy))
    absent, notes = _missing_datasets(rule.datasets, scope, notes)
    return CheckedPolicy(policy, len(targets), (*violations, *absent), tuple(notes))


def _inputs(scope: Scope, dataset: Vertex) -> str:
    inputs = scope.fed_by.get(dataset.id, ())
    if not inputs:
        return "it reads nothing"
    shown = ", ".join(scope.datasets[id_].title for id_ in inputs[:_MAX_SHOWN] if id_ in scope.datasets)
    more = f" and {len(inputs) - _MAX_SHOWN} more" if len(inputs) > _MAX_SHOWN else ""
    return f"it reads {shown}{more}"


def updates(policy: Policy, rule: UpdateRule, scope: Scope) -> CheckedPolicy:
    """Return the datasets whose last update is too long ago or unknown. Those without rows have no age."""
    targets, notes = scope.select(rule.datasets, policy.exceptions)
    stored = [update for update in last_updates(scope.graph, targets).values() if update.stores_rows]
    if without_rows := len(targets) - len(stored):
        notes.append(f"not checked, without rows of their own: {without_rows:,} (views, dashboards, metrics)")
    expectations = Expectations(scope.now, policies=[policy])
    violations = [
        violation for update in stored if (violation := _update_violation(policy, rule, update, expectations))
    ]
    absent, notes = _missing_datasets(rule.datasets, scope, notes)
    return CheckedPolicy(policy, len(stored), (*violations, *absent), tuple(notes))


def _update_violation(
    policy: Policy, rule: UpdateRule, update: LastUpdate, expectations: Expectations
) -> Violation | None:
    if any(expectation.unmet for expectation in expectations.of(update) if expectation.policy):
        age = duration_text(expectations.now - (update.not_after or 0))
        message = f"was last updated {age} ago; the maximum is {duration_text(rule.within_ms)}"
        return violation_of(update.dataset, message, "run the job that writes it", policy)
    if update.updated_at is None or update.is_uncertain:
        cause = "its newest run failed" if update.is_uncertain else "no run and no freshness check are known"
        fix = "run the job that writes it, or add a freshness check"
        return violation_of(update.dataset, f"has no known last update: {cause}", fix, policy)
    return None


def _missing_datasets(
    globs: Iterable[str], scope: Scope, notes: Sequence[str]
) -> tuple[list[Violation], list[str]]:
    """Return violations for required datasets that are missing, and the notes without those on them.

    A name without wildcards requires the dataset. In a query of one DAG it may belong to another: a note.
    """
    if scope.dag:
        return [], list(notes)
    violations = []
    left = list(notes)
    for glob in globs:
        (note,) = scope.unmatched([glob])
        if is_name(glob) and note in left:
            left.remove(note)
            fix = f"merge the job that writes it, or correct the name in the policy{_suggestion(glob, scope)}"
            violations.append(Violation("", glob, "is missing in the graph", fix))
    return violations, left


def _suggestion(name: str, scope: Scope) -> str:
    """Return ``; did you mean ...?`` with similar names of datasets."""
    return did_you_mean(name, (dataset.title for dataset in scope.datasets.values()))
