"""Parsing of a dbt manifest: version, JSON Schema, and the fields that lineage needs.

Manifests v1 to v12 differ little in these fields: `disabled` was a list before v4, metrics were added in v4,
semantic models in v10, saved queries in v11, functions within v12, and `metadata.project_name` in v10. v20 is
dbt Fusion's number for v12. The schemas are published at https://schemas.getdbt.com/dbt/manifest/v12.json and
so on.
"""

import hashlib
import json
import re
from collections.abc import Iterable, Mapping
from datetime import datetime
from functools import cache
from typing import Any, NamedTuple

from lineage_merge.infra.document_decoder import DocumentDecoder
from lineage_merge.infra.json_schema import Checker, load_schema
from lineage_merge.model.elements import Problem
from lineage_merge.model.errors import DocumentError
from lineage_merge.model.times import epoch_ms
from lineage_merge.naming import redact
from lineage_merge.sources.dbt import artefact
from lineage_merge.sources.dbt.declared_tests import tests_of
from lineage_merge.sources.dbt.nodes import MAPS, SECTIONS, Manifest, Node, nodes_of
from lineage_merge.sources.dbt.settings import DbtProject

_SUPPORTED = frozenset({*range(1, 13), 20})
_VERSION = re.compile(r"https?://schemas\.getdbt\.com/dbt/manifest/v([0-9]{1,4})\.json")

# The fields that are read. The others (code, columns, ...) are most of a manifest.
_READ = frozenset(
    {
        "unique_id",  # before v4, disabled nodes are in a list
        "resource_type",
        "name",
        "package_name",
        "database",
        "schema",
        "identifier",
        "alias",
        "path",
        "original_file_path",
        "description",
        "tags",
        "depends_on",
        "config",
        "external",
        "relation_name",
        "meta",
        "owner",
        "group",
        "access",
        "version",
        "latest_version",
        "deprecation_date",
        "constraints",
        # sources
        "freshness",
        "loaded_at_field",
        # exposures and metrics
        "type",
        "url",
        "maturity",
        "type_params",
        "filter",
        # semantic models and saved queries
        "entities",
        "dimensions",
        "measures",
        "node_relation",
        "primary_entity",
        "query_params",
        # tests
        "attached_node",
        "column_name",
        "test_metadata",
        "tested_node_unique_id",
    }
)

# Additional fields for column lineage.
_READ_FOR_COLUMNS = frozenset({"columns"})
_READ_OF_CODE = frozenset({"compiled_code", "compiled_sql", "language"})
# Of code that is not compiled: whether it differs.
_READ_OF_SOURCE = frozenset({"raw_code", "raw_sql", "checksum"})
_WITH_CODE = frozenset({"model", "snapshot"})
_READ_OF_SEED = frozenset({"checksum"})


def read_manifest(location: str, text: str, *, with_columns: bool = False) -> tuple[Manifest, list[Problem]]:
    """Parse and validate a manifest; `location` names it in errors.

    `with_columns` also reads compiled SQL and declared columns. Raises `DocumentError` for text that is not
    JSON, no manifest, or of an unknown version. A single malformed entry is left out and returned as a
    `Problem` (`rejected`).
    """
    return manifest_of(location, parse_manifest(location, text, with_columns=with_columns))


def manifest_of(location: str, document: dict[str, Any]) -> tuple[Manifest, list[Problem]]:
    """Validate a parsed manifest, as `read_manifest` does; malformed entries are removed from `document`."""
    metadata = _metadata(location, document)
    rejected = _reject_malformed_entries(location, document)
    problems = list(rejected.values())
    adapter = metadata.get("adapter_type") or ""
    nodes, left_out = nodes_of(document, adapter)
    left_out.update((unique_id, "was rejected") for section, unique_id in rejected if section in SECTIONS)
    generated_at = _milliseconds(location, metadata.get("generated_at"))
    if not generated_at:
        message = "is missing: the age of this manifest is unknown"
        problems.append(Problem("notice", location, "metadata.generated_at", message))
    manifest = Manifest(
        project=_project(metadata, nodes.values()),
        dbt_version=metadata.get("dbt_version") or "",
        generated_at=generated_at,
        adapter=adapter,
        nodes=nodes,
        left_out=left_out,
        tests=tests_of(document),
        invocation_id=metadata.get("invocation_id") or "",
    )
    return manifest, problems


def check_project(settings: DbtProject, manifest: Manifest) -> None:
    """Raise `DocumentError` if the configuration names another project than the manifest."""
    if settings.project and settings.project != manifest.project:
        found = manifest.project or "no project name"
        remedy = "correct dbt[].manifest, or dbt[].project"
        problem = f"is {found}, but dbt[].project is {settings.project}: {remedy}"
        raise DocumentError(settings.manifest, "metadata.project_name", problem, remedy)


def parse_manifest(location: str, text: str, *, with_columns: bool = False) -> dict[str, Any]:
    """Parse a manifest to the fields that are read. Raises `DocumentError` for other text."""
    keep = _include_columns if with_columns else _only_what_is_read
    return artefact.parse(location, text, "manifest", keep)


def _only_what_is_read(entry: dict[str, Any]) -> dict[str, Any]:
    # Called for each JSON object while parsing, so that the code and columns of a large project are never all
    # in memory.
    if isinstance(entry.get("unique_id"), str) and isinstance(entry.get("resource_type"), str):
        return {key: value for key, value in entry.items() if key in _READ}
    return entry


def _include_columns(entry: dict[str, Any]) -> dict[str, Any]:
    if isinstance(entry.get("unique_id"), str) and isinstance(entry.get("resource_type"), str):
        read = _READ | _READ_FOR_COLUMNS
        if entry["resource_type"] in _WITH_CODE:
            read |= _READ_OF_CODE
            if not (entry.get("compiled_code") or entry.get("compiled_sql")):
                read |= _READ_OF_SOURCE
        elif entry["resource_type"] == "seed":
            read |= _READ_OF_SEED
        return {key: value for key, value in entry.items() if key in read}
    return entry


def _metadata(location: str, document: Mapping[str, Any]) -> Mapping[str, Any]:
    metadata = document.get("metadata")
    if not isinstance(metadata, dict):
        raise DocumentError(location, "metadata", "is missing: not a dbt manifest")
    field, supported = "metadata.dbt_schema_version", "v1 to v12 and v20 are supported"
    version = metadata.get("dbt_schema_version")
    if version is None:
        raise DocumentError(location, field, f"is missing: not a dbt manifest ({supported})")
    match = _VERSION.fullmatch(version) if isinstance(version, str) else None
    if match is None or int(match[1]) not in _SUPPORTED:
        shown = redact(json.dumps(version, ensure_ascii=False))[:120]
        raise DocumentError(location, field, f"{shown} is not a supported manifest: {supported}")
    return metadata


def _reject_malformed_entries(location: str, document: dict[str, Any]) -> dict[tuple[str, str], Problem]:
    """Remove entries that do not fit the schema from `document`; return problems by (section, id)."""
    sections = {name: value for name, value in document.items() if name in _checkers().entries}
    emptied: dict[str, Any] = {name: {} for name, value in sections.items() if isinstance(value, dict)}
    error = _checkers().document.error(document | emptied)
    if error is not None:
        raise DocumentError(location, error.path, error.problem)
    rejected: dict[tuple[str, str], Problem] = {}
    for section in emptied:
        checker = _checkers().entries[section]
        for unique_id, entry in sections[section].items():
            error = checker.error(entry)
            if error is not None:
                path = f"{section}.{unique_id}"
                if error.path:
                    path += error.path if error.path.startswith("[") else f".{error.path}"
                problem = Problem("rejected", f"{location}: {unique_id}", path, error.problem)
                rejected[section, unique_id] = problem
    for section, unique_id in rejected:
        del document[section][unique_id]
    return rejected


class _Checkers(NamedTuple):
    """Validators of the document without its entries, and of one entry of each section."""

    document: Checker
    entries: Mapping[str, DocumentDecoder]


@cache
def _checkers() -> _Checkers:
    schema = load_schema(__package__, "manifest.schema.json")
    entries = {
        section: DocumentDecoder(
            {"$defs": schema["$defs"], **schema["properties"][section]["additionalProperties"]}
        )
        for section in (*SECTIONS, *MAPS)
    }
    return _Checkers(Checker(schema), entries)


def _project(metadata: Mapping[str, Any], nodes: Iterable[Node]) -> str:
    name: str | None = metadata.get("project_name")
    if name:
        return name
    # Before v10 a manifest has only the MD5 of the project's name, which must be one of its nodes' packages.
    packages = sorted({node.package_name for node in nodes if node.package_name})
    for package in packages:
        if hashlib.md5(package.encode(errors="replace"), usedforsecurity=False).hexdigest() == metadata.get(
            "project_id"
        ):
            return package
    return packages[0] if len(packages) == 1 else ""


def _milliseconds(location: str, text: str | None) -> int:
    if not text:
        return 0
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        message = "is not a date and time in ISO 8601"
        raise DocumentError(location, "metadata.generated_at", message) from None
    return epoch_ms(moment)
