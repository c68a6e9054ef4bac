"""Violations of policies as lines of text, JSON, JUnit XML and SARIF 2.1.0.

CI systems read JUnit XML as test reports, code scanning services and editors read SARIF.
"""

import hashlib
from collections.abc import Iterator, Sequence
from typing import Any
from urllib.parse import quote
from xml.etree import ElementTree as ET

from lineage_merge.graph_format.elements import COLUMN, Edge, Subgraph, title_in
from lineage_merge.model.version import __version__
from lineage_merge.questions.formats.describe import declaration, xml_characters
from lineage_merge.questions.policies.violations import CheckedPolicy, PolicyCheck, Violation


def path_lines(violation: Violation, graph: Subgraph) -> Iterator[str]:
    """Yield the start of the path, then a line per edge: target, transformation, expression, job."""
    for number, edge in enumerate(violation.path):
        if number == 0:
            yield title_in(graph.vertices, edge.from_id)
        yield f"→ {title_in(graph.vertices, edge.to_id)}{edge_text(edge)}"


def edge_text(edge: Edge) -> str:
    """Return how an edge transforms data, and its job: `` (TRANSFORMATION: upper(email), job load)``."""
    how = [str(edge.properties[key]) for key in ("transformation", "expression") if key in edge.properties]
    said = [": ".join(how)] if how else []
    if edge.label == "influences":
        said.insert(0, "determines rows")
    if edge.job:
        said.append(f"job {edge.job}")
    if declared := declaration(edge):
        said.append(declared)
    return f" ({', '.join(said)})" if said else ""


def result_as_json(result: CheckedPolicy, graph: Subgraph) -> dict[str, Any]:
    """Return a policy with its violations; fields are only added to this format."""
    policy = result.policy
    return {
        "name": policy.name,
        "kind": policy.kind,
        "severity": policy.severity,
        "description": policy.description,
        "checked": result.checked,
        "notes": list(result.notes),
        "violations": [_violation_as_json(violation, graph) for violation in result.violations],
    }


def summary_as_json(check: PolicyCheck) -> dict[str, Any]:
    """Return the numbers of policies and violations."""
    return {
        "policies": len(check.results),
        "errors": check.count("error"),
        "warnings": check.count("warning"),
        "passed": not check.failed,
    }


def _violation_as_json(violation: Violation, graph: Subgraph) -> dict[str, Any]:
    return {
        "id": violation.element_id or None,
        "title": violation.title,
        "label": violation.label or None,
        "file_path": violation.file_path or None,
        "message": violation.message,
        "fix": violation.fix,
        "path": [_edge_as_json(edge, graph) for edge in violation.path],
    }


def _edge_as_json(edge: Edge, graph: Subgraph) -> dict[str, Any]:
    return {
        "from": edge.from_id,
        "from_title": title_in(graph.vertices, edge.from_id),
        "to": edge.to_id,
        "to_title": title_in(graph.vertices, edge.to_id),
        "label": edge.label,
        "transformation": edge.properties.get("transformation"),
        "expression": edge.properties.get("expression"),
        "job": edge.job or None,
        "dag": edge.properties.get("dag_name"),
        "declared": declaration(edge) or None,
    }


def junit(check: PolicyCheck) -> str:
    """Return a test suite per policy, with a test case per violation, or one if there is none.

    Violations of policies with the severity warning are skipped test cases, which fail no build; so is a
    policy that checked nothing.
    """
    suites = ET.Element("testsuites", name="lineage-merge check")
    counts = [0, 0, 0]
    for result in check.results:
        cases = _cases(result, check)
        numbers = (len(cases), *(sum(case.find(kind) is not None for case in cases) for kind in _KINDS))
        suite = ET.SubElement(suites, "testsuite", _attributes(result.policy.name, numbers))
        suite.extend(cases)
        if result.notes:
            ET.SubElement(suite, "system-out").text = xml_characters("\n".join(result.notes))
        counts = [sum(pair) for pair in zip(counts, numbers, strict=True)]
    suites.attrib |= _attributes("lineage-merge check", counts)
    ET.indent(suites)
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{ET.tostring(suites, encoding="unicode")}'


_KINDS = ("failure", "skipped")


def _attributes(name: str, numbers: Sequence[int]) -> dict[str, str]:
    tests, failures, skipped = (str(number) for number in numbers)
    return {"name": name, "tests": tests, "failures": failures, "errors": "0", "skipped": skipped}


def _cases(result: CheckedPolicy, check: PolicyCheck) -> list[ET.Element]:
    if result.violations:
        return [_violation(result, violation, check) for violation in result.violations]
    name = f"{result.checked} checked"
    case = ET.Element("testcase", classname=result.policy.name, name=name)
    if not result.checked:
        ET.SubElement(case, "skipped", message=xml_characters("; ".join(result.notes) or "nothing to check"))
    return [case]


def _violation(result: CheckedPolicy, violation: Violation, check: PolicyCheck) -> ET.Element:
    case = ET.Element("testcase", classname=result.policy.name, name=xml_characters(violation.title))
    if violation.file_path:
        case.set("file", xml_characters(violation.file_path))
    message = xml_characters(f"{violation.title} {violation.message}")
    kind = "failure" if result.policy.severity == "error" else "skipped"
    item = ET.SubElement(case, kind, message=message, type=result.policy.kind)
    item.text = xml_characters("\n".join((*path_lines(violation, check.subgraph), f"Fix: {violation.fix}")))
    return case


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
        "rules": [_rule(result) for result in check.results],
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
    sarif_result: dict[str, Any] = {
        "ruleId": result.policy.name,
        "ruleIndex": index,
        "level": result.policy.severity,
        "message": {"text": "\n".join((*lines, f"Fix: {violation.fix}"))},
        "locations": [_location(violation)],
        "partialFingerprints": {"lineageMerge/v1": _fingerprint(result, violation)},
    }
    if violation.path:
        sarif_result["codeFlows"] = [{"threadFlows": [{"locations": _steps(violation, check)}]}]
    return sarif_result


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
