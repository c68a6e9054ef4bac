"""Results of policies as SARIF 2.1.0, which code scanning services and editors read."""

import hashlib
from typing import Any
from urllib.parse import quote

from lineage_merge.graph_format.elements import COLUMN, title_in
from lineage_merge.model.version import __version__
from lineage_merge.questions.formats.policy_text import edge_text, path_lines
from lineage_merge.questions.policies import CheckedPolicy, PolicyCheck, Violation

SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/os/schemas/sarif-schema-2.1.0.json"


def sarif(check: PolicyCheck) -> dict[str, Any]:
    """Return a log with one run: a rule per policy, a result per violation.

    A result is located in the file of the dbt model, if known, and at its dataset or column. Parts of
    policies that match nothing are notifications.
    """
    results = [
        _result(index, result, violation, check)
        for index, result in enumerate(check.results)
        for violation in result.violations
    ]
    notifications = [
        {
            "level": "note",
            "message": {"text": note},
            "associatedRule": {"id": result.policy.name, "index": index},
        }
        for index, result in enumerate(check.results)
        for note in result.notes
    ]
    driver = {
        "name": "lineage-merge",
        "version": __version__,
        "rules": [_rule(each) for each in check.results],
    }
    run = {
        "tool": {"driver": driver},
        "invocations": [{"executionSuccessful": True, "toolExecutionNotifications": notifications}],
        "columnKind": "unicodeCodePoints",
        "results": results,
    }
    return {"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}


def _rule(result: CheckedPolicy) -> dict[str, Any]:
    policy = result.policy
    return {
        "id": policy.name,
        "shortDescription": {"text": policy.description or policy.name},
        "defaultConfiguration": {"level": policy.severity},
        "properties": {"kind": policy.kind},
    }


def _result(index: int, result: CheckedPolicy, violation: Violation, check: PolicyCheck) -> dict[str, Any]:
    lines = [f"{violation.title} {violation.message}", *path_lines(violation, check.subgraph)]
    found: dict[str, Any] = {
        "ruleId": result.policy.name,
        "ruleIndex": index,
        "level": result.policy.severity,
        "message": {"text": "\n".join((*lines, f"Fix: {violation.fix}"))},
        "locations": [_location(violation)],
        "partialFingerprints": {"lineageMerge/v1": _fingerprint(result, violation)},
    }
    if violation.path:
        found["codeFlows"] = [{"threadFlows": [{"locations": _steps(violation, check)}]}]
    return found


def _location(violation: Violation) -> dict[str, Any]:
    location: dict[str, Any] = {"logicalLocations": [_logical(violation.title, violation.label)]}
    if violation.file_path:
        path = violation.file_path.replace("\\", "/").lstrip("/")
        uri = quote(path.encode("utf-8", "replace"), safe="/")
        location["physicalLocation"] = {"artifactLocation": {"uri": uri}, "region": {"startLine": 1}}
    return location


def _steps(violation: Violation, check: PolicyCheck) -> list[dict[str, Any]]:
    first = title_in(check.subgraph.vertices, violation.path[0].from_id)
    steps = [(first, first)]
    for edge in violation.path:
        name = title_in(check.subgraph.vertices, edge.to_id)
        steps.append((name, name + edge_text(edge)))
    return [
        {"location": {"message": {"text": text}, "logicalLocations": [{"fullyQualifiedName": name}]}}
        for name, text in steps
    ]


def _logical(name: str, label: str) -> dict[str, str]:
    # SARIF has no kind for columns and datasets; these are closest.
    return {"fullyQualifiedName": name, "kind": "member" if label == COLUMN else "resource"}


def _fingerprint(result: CheckedPolicy, violation: Violation) -> str:
    """Return an identity that stays equal between runs: policy, element, and the start of the path."""
    start = violation.path[0].from_id if violation.path else ""
    text = "\n".join((result.policy.name, violation.element_id or violation.title, start))
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()
