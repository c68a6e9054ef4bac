"""Documents of captured lineage: nodes and edges of one job, and the clauses of its query.

`Captured.save` writes them, `lineage-merge review --capture` compares them::

    {"format": "lineage-merge capture", "version": 1, "environment": "dev", "dag_name": "notebook",
     "job": {"type": "spark", "name": "sales"}, "nodes": [...], "edges": [...],
     "clauses": [{"kind": "filter", "text": "qtysold > 0"}], "notes": ["..."]}

Nodes and edges are rows as in the files of `build`. Fields are only added to a version.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from lineage_merge.graph_format.schema import Row
from lineage_merge.model.errors import DocumentError

FORMAT = "lineage-merge capture"
VERSION = 1
CLAUSE_KINDS = ("filter", "join", "grouping", "set operation", "limit")


class Clause(NamedTuple):
    """A condition, join or grouping of a query: its kind (`CLAUSE_KINDS`) and its text."""

    kind: str
    text: str


@dataclass(frozen=True, slots=True)
class CaptureDocument:
    """The captured lineage of one job. `notes`: what the plan does not contain."""

    environment: str
    dag_name: str
    job_type: str
    job_name: str
    nodes: Sequence[Row]
    edges: Sequence[Row]
    clauses: Sequence[Clause] = ()
    notes: Sequence[str] = ()

    def text(self) -> str:
        """Return the document as JSON."""
        values: Mapping[str, Any] = {
            "format": FORMAT,
            "version": VERSION,
            "environment": self.environment,
            "dag_name": self.dag_name,
            "job": {"type": self.job_type, "name": self.job_name},
            "nodes": [*self.nodes],
            "edges": [*self.edges],
            "clauses": [clause._asdict() for clause in self.clauses],
            "notes": [*self.notes],
        }
        return json.dumps(values, ensure_ascii=False, indent=1) + "\n"


def parse_capture(location: str, text: str) -> CaptureDocument:
    """Parse a document; `location` names it in errors. Raises `DocumentError`."""
    try:
        content = json.loads(text.removeprefix("\ufeff"))
    except (ValueError, RecursionError):
        raise DocumentError(location, "", "is not valid JSON") from None
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        remedy = "create it with capture(...).save(FILE)"
        raise DocumentError(location, "format", f"is not {FORMAT!r}: not captured lineage", remedy)
    if content.get("version") != VERSION:
        raise DocumentError(location, "version", f"is unknown: version {VERSION} is supported")
    job = content.get("job")
    named = {
        "environment": content.get("environment"),
        "dag_name": content.get("dag_name"),
        "job.type": job.get("type") if isinstance(job, dict) else None,
        "job.name": job.get("name") if isinstance(job, dict) else None,
    }
    for field, value in named.items():
        if not isinstance(value, str) or not value:
            raise DocumentError(location, field, "must be text")
    return CaptureDocument(
        environment=str(named["environment"]),
        dag_name=str(named["dag_name"]),
        job_type=str(named["job.type"]),
        job_name=str(named["job.name"]),
        nodes=_rows(location, content, "nodes", ("id", "label")),
        edges=_rows(location, content, "edges", ("id", "label", "from", "to")),
        clauses=_clauses(location, content),
        notes=[str(note) for note in content.get("notes") or ()],
    )


def _clauses(location: str, document: Mapping[str, Any]) -> list[Clause]:
    rows = _rows(location, document, "clauses", Clause._fields)
    for number, row in enumerate(rows):
        if row["kind"] not in CLAUSE_KINDS:
            problem = f"is unknown: {', '.join(CLAUSE_KINDS)} are supported"
            raise DocumentError(location, f"clauses[{number}].kind", problem)
    return [Clause(row["kind"], row["text"]) for row in rows]


def _rows(location: str, document: Mapping[str, Any], field: str, required: Sequence[str]) -> list[Row]:
    rows = document.get(field)
    if not isinstance(rows, list):
        raise DocumentError(location, field, "must be a list")
    for number, row in enumerate(rows):
        if not isinstance(row, dict):
            raise DocumentError(location, f"{field}[{number}]", "must be an object")
        for key in required:
            if not isinstance(row.get(key), str):
                raise DocumentError(location, f"{field}[{number}].{key}", "must be text")
    return rows
