"""JSON of the answers about late or wrong data; fields are only added."""

from typing import Any

from lineage_merge.questions.assertions import Check
from lineage_merge.questions.causes import Cause
from lineage_merge.questions.freshness import Freshness


def freshness_as_json(found: Freshness) -> dict[str, Any]:
    """Return the update and status of a dataset."""
    update, cause = found.update, found.because_of
    check = update.check
    return {
        "dataset": found.dataset.id,
        "status": found.status,
        "reasons": list(found.reasons),
        "expectations": [
            {
                "source": each.source,
                "policy": each.policy or None,
                "limit_ms": each.limit_ms,
                "holds": each.unmet is None,
            }
            for each in found.expectations
        ],
        "age_ms": found.age_ms,
        "updated_at": update.updated_at,
        "written_at": update.written_at,
        "failed_at": update.failed_at,
        "max_loaded_at": update.loaded_at,
        "freshness_check": {
            "assertion": check.id,
            "status": check.properties.get("status"),
            "checked_at": check.properties.get("last_run_at"),
        }
        if check
        else None,
        "jobs": [each.id for each in update.jobs],
        "because_of": {"dataset": cause.dataset, "distance": cause.distance} if cause else None,
    }


def check_as_json(found: Check) -> dict[str, Any]:
    """Return a test of a dataset or column with its newest result."""
    held = found.assertion.properties
    return {
        "assertion": found.assertion.id,
        "name": found.assertion.name,
        "type": held.get("assertion_type"),
        "dataset": found.dataset,
        "checked": found.checked.id,
        "column": found.column or None,
        "distance": found.distance,
        "severity": held.get("severity"),
        "status": found.status or None,
        "failures": held.get("failures"),
        "last_run_at": held.get("last_run_at"),
    }


def cause_as_json(found: Cause, options: tuple[str, ...]) -> dict[str, Any]:
    """Return a cause; `options` are added to its command."""
    from lineage_merge.questions.formats.freshness_tables import command_text

    finding = found.finding
    return {
        "kind": found.kind,
        "distance": found.distance,
        "dataset": found.dataset,
        "element": finding.element.id,
        "evidence": finding.evidence,
        "at": finding.at,
        "status": finding.status or None,
        "failures": finding.failures,
        "other": finding.other,
        "other_at": finding.other_at,
        "path": list(found.path),
        "next": command_text(finding.next, options),
    }
