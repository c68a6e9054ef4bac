"""A review as JSON and as SARIF 2.1.0."""

import hashlib
from typing import Any
from urllib.parse import quote

from lineage_merge.model.version import __version__
from lineage_merge.questions.impact_question import impact_as_json
from lineage_merge.questions.policies.reports import SCHEMA
from lineage_merge.review.findings import Assessed, ReviewResult, Severity

_LEVELS = {
    Severity.BREAKING: "error",
    Severity.POLICY: "error",
    Severity.CHANGED: "warning",
    Severity.INFO: "note",
}


def review_as_json(result: ReviewResult) -> dict[str, Any]:
    """Return the fields of a review; fields are only added::

    {"counts": {"breaking": 1, "policy": 0, "changed": 2, "info": 0},
     "findings": [{"severity": "breaking", "kind": "column renamed", "title": "shop.orders#revenue",
                   "unique_id": "model.shop.orders", "message": "...", "before": "revenue",
                   "after": "net_revenue", "is_guess": true, "file_path": "models/orders.sql",
                   "impact": {...}}],
     "notes": []}

    `impact` is that of the command impact with the finding's change, null if the graph lacks the element.
    """
    return {
        "counts": {severity.value: number for severity, number in result.counts.items()},
        "findings": [_finding(finding) for finding in result.findings],
        "notes": list(result.notes),
    }


def _finding(found: Assessed) -> dict[str, Any]:
    finding = found.finding
    return {
        "severity": finding.severity.value,
        "kind": finding.kind,
        "title": finding.title,
        "unique_id": finding.unique_id,
        "message": finding.message,
        "before": finding.before,
        "after": finding.after,
        "is_guess": finding.is_guess,
        "file_path": finding.file_path,
        "owners": found.owners,
        "impact": impact_as_json(found.dependents, found.tests) if found.dependents else None,
    }


def review_sarif(result: ReviewResult) -> dict[str, Any]:
    """Return a log with one run: a rule per kind of finding, a result per finding, located in its file."""
    kinds = sorted({finding.finding.kind for finding in result.findings})
    rules = [{"id": _rule_id(kind), "shortDescription": {"text": kind}} for kind in kinds]
    notifications = [{"level": "note", "message": {"text": note}} for note in result.notes]
    run = {
        "tool": {"driver": {"name": "lineage-merge review", "version": __version__, "rules": rules}},
        "invocations": [{"executionSuccessful": True, "toolExecutionNotifications": notifications}],
        "columnKind": "unicodeCodePoints",
        "results": [_result(finding, kinds.index(finding.finding.kind)) for finding in result.findings],
    }
    return {"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}


def _rule_id(kind: str) -> str:
    return kind.replace(" ", "-")


def _result(found: Assessed, index: int) -> dict[str, Any]:
    finding = found.finding
    lines = [f"{finding.title}: {finding.kind}: {finding.message}"]
    broken = sorted({each.vertex.title for each in found.broken if each.kind in ("dataset", "exposure")})
    if broken:
        lines.append(f"breaks: {', '.join(broken)}")
    if found.affected:
        lines.append(f"affected: {', '.join(each.vertex.title for each in found.affected)}")
    kind = "member" if finding.column else "resource"
    location: dict[str, Any] = {"logicalLocations": [{"fullyQualifiedName": finding.title, "kind": kind}]}
    if finding.file_path:
        path = finding.file_path.replace("\\", "/").lstrip("/")
        uri = quote(path.encode("utf-8", "replace"), safe="/")
        location["physicalLocation"] = {"artifactLocation": {"uri": uri}, "region": {"startLine": 1}}
    identity = "\n".join((finding.kind, finding.unique_id, finding.title, finding.after))
    return {
        "ruleId": _rule_id(finding.kind),
        "ruleIndex": index,
        "level": _LEVELS[finding.severity],
        "message": {"text": "\n".join(lines)},
        "locations": [location],
        "partialFingerprints": {
            "lineageMerge/v1": hashlib.sha256(identity.encode("utf-8", "replace")).hexdigest()
        },
    }
