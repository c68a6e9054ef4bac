"""Reads the text of a dbt manifest: version, JSON Schema, and the few fields that lineage needs.

Manifests v1 to v12 differ little in these fields: `disabled` was a list before v4,
metrics came with v4, semantic models with v10, saved queries with v11, functions within
v12, and `metadata.project_name` with v10. v20 is v12 as dbt Fusion numbers it. The
schemas are published at https://schemas.getdbt.com/dbt/manifest/v12.json and so on.
"""

import hashlib
import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cache
from importlib.resources import files
from typing import Any, Literal, NamedTuple, cast, get_args

from lineage_merge.errors import DocumentError
from lineage_merge.json_schema import Checker
from lineage_merge.model import Problem
from lineage_merge.sources.dbt.location import built_location, source_location

Kind = Literal[
    "source",
    "model",
    "seed",
    "snapshot",
    "exposure",
    "metric",
    "semantic_model",
    "saved_query",
    "function",
]


class DeclaredColumn(NamedTuple):
    """A column as the project's YAML describes it; a project need not name all of them."""

    name: str
    data_type: str
    description: str


@dataclass(frozen=True, slots=True)
class Code:
    """What an entry says of its columns, read only when asked for.

    `sql` is the compiled SQL (empty: not compiled), `language` `sql` or `python`,
    `relation_name` what SQL calls the relation. `contract`: dbt enforces that the declared
    columns are all. `snapshot_columns` are those that dbt adds to a snapshot.
    """

    sql: str = ""
    language: str = "sql"
    relation_name: str = ""
    columns: tuple[DeclaredColumn, ...] = ()
    contract: bool = False
    snapshot_columns: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Node:
    """One entry of a manifest that data flows through.

    `identifier` is the last part of its name in the warehouse. `parents` are the unique
    ids of what it reads, each once; they may be ids that the manifest does not have.
    `parents_at` is the field that names them. `built_elsewhere`: another dbt project
    builds it, this one only refers to it. `location` is the URI of its files, "" where it
    has none or the manifest does not tell.
    """

    unique_id: str
    kind: Kind
    name: str
    package_name: str
    database: str
    schema: str
    identifier: str
    materialized: str
    description: str
    tags: tuple[str, ...]
    parents: tuple[str, ...]
    parents_at: str
    built_elsewhere: bool
    location: str = ""
    code: Code = Code()

    @property
    def folded(self) -> bool:
        """It leaves nothing in the warehouse: who reads it reads what is behind it."""
        return self.kind in _FOLDED or (self.kind == "model" and self.materialized == "ephemeral")


@dataclass(frozen=True, slots=True)
class Manifest:
    """What lineage needs of a manifest.

    `project` is the root project (empty when the manifest does not tell), `generated_at`
    is ms since 1970 (0 when the manifest does not tell). `adapter` is
    the platform's name in dbt (`redshift`). `nodes` are the enabled, valid
    ones by unique id; `left_out` says of others why they are not among them, as words
    that follow "which".
    """

    project: str
    dbt_version: str
    generated_at: int
    invocation_id: str
    adapter: str
    nodes: Mapping[str, Node]
    left_out: Mapping[str, str]


_SUPPORTED = frozenset({*range(1, 13), 20})
_VERSION = re.compile(r"https?://schemas\.getdbt\.com/dbt/manifest/v([0-9]{1,4})\.json")

# A section of the manifest, and what stands in it (None: each entry says it itself).
_SECTIONS: Mapping[str, Kind | None] = {
    "nodes": None,
    "sources": "source",
    "exposures": "exposure",
    "metrics": "metric",
    "semantic_models": "semantic_model",
    "saved_queries": "saved_query",
    "functions": "function",
}
_MAPS = ("parent_map", "child_map")
_KINDS: frozenset[str] = frozenset(get_args(Kind))
_FOLDED: frozenset[Kind] = frozenset({"metric", "semantic_model", "saved_query", "function"})
# They read data and build none. Ids start with these words too.
_WITHOUT_DATA = frozenset(
    {"test", "unit_test", "analysis", "operation", "sql operation", "sql_operation", "rpc", "macro"}
)

# All that is read of an entry. The rest (code, columns, meta, ...) is most of a manifest.
_READ = frozenset(
    {
        "unique_id",  # before v4 disabled nodes stand in a list
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
    }
)

# What is read in addition where columns are asked for.
_READ_FOR_COLUMNS = frozenset({"columns", "relation_name"})
_READ_OF_CODE = frozenset({"compiled_code", "compiled_sql", "language"})
_WITH_CODE = frozenset({"model", "snapshot"})
# The columns that dbt adds to a snapshot; the last only where deleted rows get a row.
_SNAPSHOT_COLUMNS = ("dbt_scd_id", "dbt_updated_at", "dbt_valid_from", "dbt_valid_to", "dbt_is_deleted")


def read_manifest(location: str, text: str, *, with_columns: bool = False) -> tuple[Manifest, list[Problem]]:
    """Read and check a manifest; `location` names it in errors.

    `with_columns` also reads the compiled SQL and what is declared of columns.
    Raises `DocumentError` for text that is no JSON, is no manifest or is of an unknown
    version. A single broken entry is left out and returned as a `Problem` (`rejected`).
    """
    document = _parse(location, text, with_columns=with_columns)
    metadata = _metadata(location, document)
    rejected = _reject_broken_entries(location, document)
    problems = list(rejected.values())
    adapter = metadata.get("adapter_type") or ""
    nodes, left_out = _nodes(document, adapter)
    left_out.update((unique_id, "was rejected") for section, unique_id in rejected if section in _SECTIONS)
    generated_at = _milliseconds(location, metadata.get("generated_at"))
    if not generated_at:
        message = "is missing: nobody can tell whether this manifest is newer than another"
        problems.append(Problem("notice", location, "metadata.generated_at", message))
    manifest = Manifest(
        project=_project(metadata, nodes.values()),
        dbt_version=metadata.get("dbt_version") or "",
        generated_at=generated_at,
        invocation_id=metadata.get("invocation_id") or "",
        adapter=adapter,
        nodes=nodes,
        left_out=left_out,
    )
    return manifest, problems


def _parse(location: str, text: str, *, with_columns: bool) -> dict[str, Any]:
    keep = _with_columns_too if with_columns else _only_what_is_read
    try:
        document = json.loads(text.removeprefix("\ufeff"), object_hook=keep)
    except json.JSONDecodeError as error:
        place = f"line {error.lineno}, column {error.colno}"
        raise DocumentError(location, "", f"is not valid JSON: {error.msg} ({place})") from None
    except RecursionError:
        raise DocumentError(location, "", "is not a dbt manifest: nested too deeply") from None
    if not isinstance(document, dict):
        raise DocumentError(location, "", "is not a dbt manifest: not a JSON object")
    return document


def _only_what_is_read(entry: dict[str, Any]) -> dict[str, Any]:
    # Called for each JSON object as soon as it is read, so that the code and the columns of
    # a large project never stand in memory all at once.
    if isinstance(entry.get("unique_id"), str) and isinstance(entry.get("resource_type"), str):
        return {key: value for key, value in entry.items() if key in _READ}
    return entry


def _with_columns_too(entry: dict[str, Any]) -> dict[str, Any]:
    if isinstance(entry.get("unique_id"), str) and isinstance(entry.get("resource_type"), str):
        read = _READ | _READ_FOR_COLUMNS
        if entry["resource_type"] in _WITH_CODE:
            read |= _READ_OF_CODE
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
        shown = json.dumps(version, ensure_ascii=False)[:120]
        raise DocumentError(location, field, f"{shown} is not a supported manifest: {supported}")
    return metadata


def _reject_broken_entries(location: str, document: dict[str, Any]) -> dict[tuple[str, str], Problem]:
    """Take entries that do not fit the schema out of `document`: (section, id) to the problem."""
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
    """For the document without its entries, and for one entry of each section."""

    document: Checker
    entries: Mapping[str, Checker]


@cache
def _checkers() -> _Checkers:
    text = files(__package__).joinpath("manifest.schema.json").read_text(encoding="utf-8")
    schema = json.loads(text)
    entries = {
        section: Checker({"$defs": schema["$defs"], **schema["properties"][section]["additionalProperties"]})
        for section in (*_SECTIONS, *_MAPS)
    }
    return _Checkers(Checker(schema), entries)


def _nodes(document: Mapping[str, Any], adapter: str) -> tuple[dict[str, Node], dict[str, str]]:
    entries: dict[str, tuple[str, Kind, Mapping[str, Any]]] = {}
    left_out = dict.fromkeys(_disabled(document.get("disabled")), "is disabled")
    for section, kind_of_section in _SECTIONS.items():
        for unique_id, entry in (document.get(section) or {}).items():
            kind = kind_of_section or entry["resource_type"]
            if kind not in _KINDS:
                if kind not in _WITHOUT_DATA:
                    left_out[unique_id] = f"is of an unknown type ({kind})"
            elif (entry.get("config") or {}).get("enabled") is False:
                left_out[unique_id] = "is disabled"
            else:
                entries[unique_id] = (section, cast("Kind", kind), entry)
    # The two maps repeat what `depends_on` says: they stand in where it says nothing.
    stated = {unique_id: _stated_parents(entry) for unique_id, (_, _, entry) in entries.items()}
    mapped = _mapped_parents(document, {unique_id for unique_id, parents in stated.items() if not parents})
    nodes: dict[str, Node] = {}
    for unique_id, (section, kind, entry) in entries.items():
        parents = tuple(dict.fromkeys(filter(_has_data, stated[unique_id] or mapped[unique_id])))
        at = f"{section}.{unique_id}.depends_on.nodes" if stated[unique_id] else f"parent_map.{unique_id}"
        nodes[unique_id] = _node(unique_id, kind, entry, parents, at, adapter)
    return nodes, {unique_id: why for unique_id, why in left_out.items() if unique_id not in nodes}


def _node(
    unique_id: str, kind: Kind, entry: Mapping[str, Any], parents: tuple[str, ...], at: str, adapter: str
) -> Node:
    config = entry.get("config") or {}
    name = entry["name"]
    # dbt writes a model of another project, which a plugin brought in, with empty paths.
    elsewhere = kind == "model" and entry.get("path") == entry.get("original_file_path") == ""
    names = (
        entry.get("database") or "",
        entry.get("schema") or "",
        entry.get("identifier" if kind == "source" else "alias") or name,
    )
    materialized = config.get("materialized") or "view"  # dbt's own default
    location = ""
    if kind == "source":
        location = source_location(entry)
    elif kind in ("model", "seed", "snapshot") and not elsewhere:
        location = built_location(adapter, config, materialized, names)
    return Node(
        unique_id=unique_id,
        kind=kind,
        name=name,
        package_name=entry.get("package_name") or "",
        database=names[0],
        schema=names[1],
        identifier=names[2],
        materialized=materialized,
        description=entry.get("description") or "",
        tags=tuple(sorted({*_tags(entry.get("tags")), *_tags(config.get("tags"))})),
        parents=() if elsewhere else parents,
        parents_at=at,
        built_elsewhere=elsewhere,
        location=location,
        code=_code(entry, kind, config),
    )


def _code(entry: Mapping[str, Any], kind: Kind, config: Mapping[str, Any]) -> Code:
    declared = tuple(
        DeclaredColumn(
            column.get("name") or name, column.get("data_type") or "", column.get("description") or ""
        )
        for name, column in (entry.get("columns") or {}).items()
    )
    return Code(
        sql=entry.get("compiled_code") or entry.get("compiled_sql") or "",
        language=entry.get("language") or "sql",
        relation_name=entry.get("relation_name") or "",
        columns=declared,
        contract=(config.get("contract") or {}).get("enforced") is True,
        snapshot_columns=_snapshot_columns(config) if kind == "snapshot" else (),
    )


def _snapshot_columns(config: Mapping[str, Any]) -> tuple[str, ...]:
    names = config.get("snapshot_meta_column_names") or {}
    added = _SNAPSHOT_COLUMNS if config.get("hard_deletes") == "new_record" else _SNAPSHOT_COLUMNS[:-1]
    return tuple(names.get(name) or name for name in added)


def _stated_parents(entry: Mapping[str, Any]) -> list[str]:
    return (entry.get("depends_on") or {}).get("nodes") or []


def _mapped_parents(document: Mapping[str, Any], wanted: set[str]) -> dict[str, list[str]]:
    parent_map, child_map = (document.get(name) or {} for name in _MAPS)
    found = {unique_id: list(parent_map.get(unique_id) or ()) for unique_id in wanted}
    for parent, children in child_map.items():
        for child in children or ():
            if child in found:
                found[child].append(parent)
    return found


def _has_data(unique_id: str) -> bool:
    return unique_id.partition(".")[0] not in _WITHOUT_DATA


def _disabled(section: Any) -> list[str]:
    # Not checked by the schema: a broken entry here takes nothing away from the graph.
    if isinstance(section, dict):
        return list(section)
    return [
        entry["unique_id"]
        for entry in section or ()
        if isinstance(entry, dict) and isinstance(entry.get("unique_id"), str)
    ]


def _tags(tags: str | list[str] | None) -> list[str]:
    return [tag for tag in ([tags] if isinstance(tags, str) else tags or ()) if tag]


def _project(metadata: Mapping[str, Any], nodes: Iterable[Node]) -> str:
    name: str | None = metadata.get("project_name")
    if name:
        return name
    # Before v10 a manifest has only the MD5 of the project's name: of the packages whose
    # nodes it has, one is the project.
    packages = sorted({node.package_name for node in nodes if node.package_name})
    for package in packages:
        if hashlib.md5(package.encode(), usedforsecurity=False).hexdigest() == metadata.get("project_id"):
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
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)  # dbt writes UTC
    return (moment - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(milliseconds=1)
