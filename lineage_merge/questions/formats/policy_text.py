"""Violations of policies as lines of text and as JSON."""

from collections.abc import Iterator
from typing import Any

from lineage_merge.graph_format.elements import Edge, Subgraph, title_in
from lineage_merge.questions.policies import CheckedPolicy, PolicyCheck, Violation


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
        "violations": [_violation(violation, graph) for violation in result.violations],
    }


def summary_as_json(check: PolicyCheck) -> dict[str, Any]:
    """Return the numbers of policies and violations."""
    return {
        "policies": len(check.results),
        "errors": check.count("error"),
        "warnings": check.count("warning"),
        "passed": not check.failed,
    }


def _violation(violation: Violation, graph: Subgraph) -> dict[str, Any]:
    return {
        "id": violation.element_id or None,
        "title": violation.title,
        "label": violation.label or None,
        "file_path": violation.file_path or None,
        "message": violation.message,
        "fix": violation.fix,
        "path": [_edge(each, graph) for each in violation.path],
    }


def _edge(edge: Edge, graph: Subgraph) -> dict[str, Any]:
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
    }
