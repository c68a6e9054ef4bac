"""Diagnosis of the connections and permissions that a configuration needs."""

from lineage_merge.orchestration.doctor.finding import Finding

__all__ = ["CONFIGURATION", "Finding"]

CONFIGURATION = "configuration"
