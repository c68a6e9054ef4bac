"""Policies on last updates: a dataset must have been updated within a duration."""

from lineage_merge.config import Policy
from lineage_merge.config.policies import UpdateRule
from lineage_merge.model.times import duration_text
from lineage_merge.questions.expectations import Expectations
from lineage_merge.questions.last_updates import LastUpdate, last_updates
from lineage_merge.questions.policies.missing import missing_datasets
from lineage_merge.questions.policies.scope import Scope
from lineage_merge.questions.policies.violations import CheckedPolicy, Violation, violation_of


def updates(policy: Policy, rule: UpdateRule, scope: Scope) -> CheckedPolicy:
    """Return the datasets whose last update is too long ago or unknown. Those without rows have no age."""
    targets, notes = scope.select(rule.datasets, policy.exceptions)
    stored = [update for update in last_updates(scope.graph, targets).values() if update.stores_rows]
    if without_rows := len(targets) - len(stored):
        notes.append(f"not checked, without rows of their own: {without_rows:,} (views, dashboards, metrics)")
    expectations = Expectations(scope.now, policies=[policy])
    violations = [
        violation for update in stored if (violation := _violation(policy, rule, update, expectations))
    ]
    absent, notes = missing_datasets(policy, rule.datasets, scope, notes)
    return CheckedPolicy(policy, len(stored), (*violations, *absent), tuple(notes))


def _violation(
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
