"""Policies on properties: a dataset must have an owner, a description, a test, ..."""

from lineage_merge.config import Policy
from lineage_merge.config.policies import RequirementRule
from lineage_merge.graph_format.elements import Vertex
from lineage_merge.graph_format.schema import SEMANTIC_LABELS
from lineage_merge.questions.policies.missing import missing_datasets
from lineage_merge.questions.policies.scope import Scope
from lineage_merge.questions.policies.violations import CheckedPolicy, violation_of

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


def requirements(policy: Policy, rule: RequirementRule, scope: Scope) -> CheckedPolicy:
    """Return the datasets that lack something, one violation per dataset."""
    targets, notes = scope.select(rule.datasets, policy.exceptions)
    violations = []
    for target in targets:
        missing = [what for what in rule.must_have if not _has(scope, target, what)]
        if missing:
            fixes = dict.fromkeys(_fix(what) for what in missing)
            violations.append(violation_of(target, f"has no {_listed(missing)}", "; ".join(fixes), policy))
    absent, notes = missing_datasets(policy, rule.datasets, scope, notes)
    return CheckedPolicy(policy, len(targets), (*violations, *absent), tuple(notes))


def _has(scope: Scope, dataset: Vertex, what: str) -> bool:
    if what in _OF_DATA and dataset.label in _WITHOUT_DATA:
        return True
    properties = dataset.properties
    kind, _, tag = what.partition(":")
    if kind == "tag":
        tags = properties.get("tags", ())
        return tag in tags if tag else bool(tags)
    if what in ("test", "freshness"):
        tests, freshness = scope.tested
        return dataset.id in (tests if what == "test" else freshness)
    if what == "contract":
        return bool(properties.get("contract") == "enforced")
    return bool(properties.get({"owner": "owners"}.get(what, what)))


def _fix(what: str) -> str:
    kind, _, tag = what.partition(":")
    return f"add the tag {tag} in dbt, the catalog or `metadata`" if tag else _FIXES[kind]


def _listed(missing: list[str]) -> str:
    shown = [f"tag {each.partition(':')[2]}" if ":" in each else each for each in missing]
    return " or ".join([", ".join(shown[:-1]), shown[-1]] if len(shown) > 1 else shown)
