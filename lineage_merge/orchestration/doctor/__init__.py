"""Looks at each connection and right that a configuration needs, before anybody runs it."""

from lineage_merge.orchestration.doctor.finding import Finding

__all__ = ["CONFIGURATION", "Finding"]

CONFIGURATION = "configuration"
