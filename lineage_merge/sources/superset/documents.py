"""Documents of an export: YAML of dashboards, charts, data sets and databases. Pure."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

from lineage_merge.infra import yaml_text
from lineage_merge.model.elements import Problem
from lineage_merge.model.errors import ConfigError
from lineage_merge.sources.document_files import Text
from lineage_merge.sources.json_values import as_mapping, as_text
from lineage_merge.sources.superset.server_facts import ServerFacts

DocumentKind = Literal["dashboard", "chart", "data_set", "database"]
Document = Mapping[str, Any]

# The keys by which a document is recognized.
_KEYS: Mapping[DocumentKind, tuple[str, ...]] = {
    "dashboard": ("dashboard_title",),
    "chart": ("slice_name", "viz_type"),
    "data_set": ("table_name", "columns"),
    "database": ("database_name", "sqlalchemy_uri"),
}
# Objects that are kept as text in the database, and may be in an export.
_TEXTS = ("params", "template_params", "position", "metadata")


class Located(NamedTuple):
    """A document, and where it is."""

    location: str
    body: Document


@dataclass(slots=True)
class Export:
    """The documents of an export by kind and UUID, what is wrong with others, and what its server knows."""

    documents: dict[DocumentKind, dict[str, Located]] = field(
        default_factory=lambda: {kind: {} for kind in _KEYS}
    )
    problems: list[Problem] = field(default_factory=list)
    server: ServerFacts = field(default_factory=ServerFacts)

    def include(self, other: "Export") -> None:
        """Add the documents of another export that this one does not have."""
        for kind, documents in other.documents.items():
            self.documents[kind] = {**documents, **self.documents[kind]}
        self.problems += other.problems

    def find(self, kind: DocumentKind, uuid: Any) -> Located | None:
        """Return a document, None if the export does not have it."""
        return self.documents[kind].get(as_text(uuid).lower())


def recognize(document: Any) -> DocumentKind | None:
    """Return what a parsed document describes, None for anything else."""
    written = as_mapping(document)
    if not as_text(written.get("uuid")):
        return None
    return next((kind for kind, keys in _KEYS.items() if all(key in written for key in keys)), None)


def read_export(texts: Iterable[Text | Problem]) -> Export:
    """Return the documents of an export."""
    export = Export()
    for text in texts:
        if isinstance(text, Problem):
            export.problems.append(text)
            continue
        try:
            parsed = yaml_text.parse(text.text, text.location)
        except ConfigError as error:
            export.problems.append(Problem("rejected", text.location, error.key, error.problem))
            continue
        kind = recognize(parsed)
        if kind is not None:
            body = {**parsed, **{key: parse_object(parsed.get(key)) for key in _TEXTS if key in parsed}}
            export.documents[kind].setdefault(as_text(body["uuid"]).lower(), Located(text.location, body))
    return export


def parse_object(value: Any) -> Document:
    """Return an object that may be written as JSON text; an empty one for anything else."""
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except (ValueError, RecursionError):
            return {}
    return as_mapping(value)
