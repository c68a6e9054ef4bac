"""Policies on lineage: violations with their path, on any backend."""

from lineage_merge.questions.policies.check import check_policies
from lineage_merge.questions.policies.violations import PolicyCheck, PolicyResult, Violation

__all__ = ["PolicyCheck", "PolicyResult", "Violation", "check_policies"]
