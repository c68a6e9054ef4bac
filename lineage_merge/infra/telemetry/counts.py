"""Counts of a run, with the same names in logs, metrics and spans."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lineage_merge.load.result import LoadResult
    from lineage_merge.merge.report import Report


def report_counts(report: "Report") -> dict[str, int]:
    """Return the counts of a build: documents read and rejected, elements built and not joined."""
    return {
        "documents_read": sum(report.read.values()),
        "documents_rejected": report.totals.get("rejected", 0),
        "vertices_built": sum(report.nodes.values()),
        "edges_built": sum(report.edges.values()),
        "not_joined": report.totals.get("not-joined", 0),
    }


def load_counts(loaded: "LoadResult") -> dict[str, int]:
    """Return the counts of a load; a dry run writes nothing."""
    wrote = 0 if loaded.dry_run else 1
    return {
        "vertices_written": loaded.nodes * wrote,
        "edges_written": loaded.edges * wrote,
        "elements_unchanged": loaded.unchanged,
        "vertices_retired": loaded.retired_nodes * wrote,
        "edges_retired": loaded.retired_edges * wrote,
        "datasets_moved": loaded.moved * wrote,
        "requests": loaded.requests * wrote,
    }
