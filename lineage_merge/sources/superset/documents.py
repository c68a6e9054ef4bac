"""Documents of an export: YAML of dashboards, charts, data sets and databases. Pure."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any, Literal, NamedTuple

from lineage_merge.infra import yaml_text
from lineage_merge.infra.document_decoder import DocumentDecoder
from lineage_merge.infra.json_schema import load_schema
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
_TEXTS = frozenset({"params", "template_params", "position", "metadata"})


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
        kind = next((kind for kind, keys in _KEYS.items() if keys[0] in as_mapping(parsed)), None)
        if kind is not None:
            _add(export, kind, Located(text.location, _parse_texts(parsed)))
    return export


def _add(export: Export, kind: DocumentKind, document: Located) -> None:
    """Add a document. What is wrong with one of its fields costs this field, but for those that name it."""
    location, body = document
    error = _decoder(kind).error(body)
    if error is not None:
        is_lost = recognize(body) is None
        message = error.problem if is_lost else f"{error.problem}: the field is not read"
        export.problems.append(
            Problem("rejected" if is_lost else "no-columns", location, error.path, message)
        )
        if is_lost:
            return
    uuid = as_text(body["uuid"]).lower()
    known = export.documents[kind].setdefault(uuid, document)
    if known.body != body:
        export.problems.append(Problem("rejected", location, "uuid", f"is the UUID of {known.location} too"))


def _parse_texts(document: Document) -> Document:
    """Return a document with objects in place of the texts of objects; other text stays."""
    return {key: _parse_text(value) if key in _TEXTS else value for key, value in document.items()}


def _parse_text(value: Any) -> Any:
    if not isinstance(value, str):
        return value
    try:
        parsed = json.loads(value or "null")
    except (ValueError, RecursionError):
        return value
    return parsed if parsed is None or isinstance(parsed, Mapping) else value


@cache
def _decoder(kind: DocumentKind) -> DocumentDecoder:
    schema = load_schema(__package__, "superset.schema.json")
    return DocumentDecoder({"$defs": schema["$defs"], **schema["$defs"][kind]})


def parse_object(value: Any) -> Document:
    """Return an object that may be written as JSON text; an empty one for anything else."""
    return as_mapping(_parse_text(value))
