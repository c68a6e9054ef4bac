"""Policies on lineage: violations with their path, on any backend."""

from lineage_merge.questions.policies.rules import check_policies
from lineage_merge.questions.policies.violations import CheckedPolicy, PolicyCheck, Violation

__all__ = ["CheckedPolicy", "PolicyCheck", "Violation", "check_policies"]
