"""Policies on sources: a dataset must be fed by others, directly or transitively."""

from lineage_merge.config import Policy
from lineage_merge.config.policies import SourceRule
from lineage_merge.graph_format.elements import Vertex
from lineage_merge.questions.dataset_globs import DatasetGlobs, is_name
from lineage_merge.questions.policies.missing import missing_datasets, suggestion
from lineage_merge.questions.policies.scope import Scope
from lineage_merge.questions.policies.violations import CheckedPolicy, violation_of

_MAX_SHOWN = 3


def sources(policy: Policy, rule: SourceRule, scope: Scope) -> CheckedPolicy:
    """Return the datasets that a required source does not feed. A source may match several datasets."""
    targets, notes = scope.select(rule.datasets, policy.exceptions)
    violations = []
    for required in rule.must_be_fed_by:
        globs = DatasetGlobs([required])
        starts = [each for each, names in scope.names.items() if globs.matching(names)]
        unknown = "" if starts else ", which no dataset matches"
        similar = suggestion(required, scope) if not starts and is_name(required) else ""
        fed = scope.downstream(starts)
        for target in targets:
            if target.id not in fed:
                message = f"is not fed by {required}{unknown}; {_inputs(scope, target)}"
                fix = f"read the source, or correct its name in the policy{similar}"
                violations.append(violation_of(target, message, fix, policy))
    absent, notes = missing_datasets(policy, rule.datasets, scope, notes)
    return CheckedPolicy(policy, len(targets), (*violations, *absent), tuple(notes))


def _inputs(scope: Scope, dataset: Vertex) -> str:
    found = scope.fed_by.get(dataset.id, ())
    if not found:
        return "it reads nothing"
    shown = ", ".join(scope.datasets[each].title for each in found[:_MAX_SHOWN] if each in scope.datasets)
    more = f" and {len(found) - _MAX_SHOWN} more" if len(found) > _MAX_SHOWN else ""
    return f"it reads {shown}{more}"
