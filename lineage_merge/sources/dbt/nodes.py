"""Entries of a dbt manifest that data flows through: sources, models, exposures and so on. Pure."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, cast, get_args

from lineage_merge.sources.dbt.declared_tests import (
    NOT_CHECKED,
    DeclaredTest,
    Freshness,
    freshness_of,
)
from lineage_merge.sources.dbt.location import derive_location, source_location
from lineage_merge.sources.dbt.metadata import (
    NOTHING,
    Metadata,
    column_path,
    owners_of_groups,
    read_column,
    read_entry,
)
from lineage_merge.sources.dbt.relation import names_of
from lineage_merge.sources.dbt.semantic_layer import Semantics, semantics_of

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
    """A column, or a field (`field_path`), in the project's YAML, which need not declare all columns."""

    name: str
    data_type: str
    description: str
    metadata: Metadata = NOTHING


@dataclass(frozen=True, slots=True)
class Code:
    """The SQL and declared columns of an entry, read only for column lineage.

    `sql` is the compiled SQL (empty: not compiled), `language` `sql` or `python`, `relation_name` the
    relation's name in SQL. `contract`: dbt enforces that the declared columns are complete.
    `snapshot_columns` are those that dbt adds to a snapshot. `source_digest` is a digest of the code before
    compilation, only if it is not compiled, and of a seed's file.
    """

    sql: str = ""
    language: str = "sql"
    relation_name: str = ""
    columns: tuple[DeclaredColumn, ...] = ()
    contract: bool = False
    snapshot_columns: tuple[str, ...] = ()
    source_digest: str = ""


@dataclass(frozen=True, slots=True)
class Node:
    """An entry of a manifest that data flows through.

    `identifier` is the last part of its name in the warehouse. `parents` are the unique ids of its inputs,
    without duplicates; the manifest may lack them. `parents_at` is the field that names them.
    `built_elsewhere`: another dbt project builds it. `has_own_place`: its configuration sets a database or
    schema; other entries are built in those of the target. `location` is the URI of its files, "" if none or
    unknown.
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
    metadata: Metadata = NOTHING
    freshness: Freshness = NOT_CHECKED
    semantics: Semantics | None = None
    has_own_place: bool = False

    @property
    def is_built(self) -> bool:
        """Return whether a job of this project builds it."""
        return self.kind in ("model", "seed", "snapshot") and not self.built_elsewhere

    @property
    def folded(self) -> bool:
        """Return whether it is collapsed: it is not in the warehouse, so its readers read its inputs."""
        return self.kind in _FOLDED or (self.kind == "model" and self.materialized == "ephemeral")


@dataclass(frozen=True, slots=True)
class Manifest:
    """The parts of a manifest that lineage needs.

    `project` is the root project (empty if unknown), `generated_at` is ms since 1970 (0 if unknown).
    `adapter` is dbt's name of the platform (`redshift`). `nodes` are the enabled, valid ones by unique id;
    `left_out` says why others are missing, as phrases that follow "which". `tests` are its enabled tests.
    `invocation_id` is that of the dbt command that wrote it ("": unknown).
    """

    project: str
    dbt_version: str
    generated_at: int
    adapter: str
    nodes: Mapping[str, Node]
    left_out: Mapping[str, str]
    tests: tuple[DeclaredTest, ...] = ()
    invocation_id: str = ""


# Sections of the manifest and their resource type (None: each entry has its own).
SECTIONS: Mapping[str, Kind | None] = {
    "nodes": None,
    "sources": "source",
    "exposures": "exposure",
    "metrics": "metric",
    "semantic_models": "semantic_model",
    "saved_queries": "saved_query",
    "functions": "function",
}
MAPS = ("parent_map", "child_map")
_KINDS: frozenset[str] = frozenset(get_args(Kind))
# Entries of dbt's semantic layer: not in the warehouse, but used by name.
SEMANTIC: frozenset[Kind] = frozenset({"metric", "semantic_model", "saved_query"})
_FOLDED: frozenset[Kind] = frozenset({"function"})
# These read data and build none. Ids start with these words too.
_WITHOUT_DATA = frozenset(
    {"test", "unit_test", "analysis", "operation", "sql operation", "sql_operation", "rpc", "macro"}
)
# Keys of an entry's configuration that replace the target's database or schema.
_PLACES = ("database", "schema", "target_database", "target_schema")
# Resource types with columns.
_RELATIONS: frozenset[Kind] = frozenset({"source", "model", "seed", "snapshot"})
# The columns that dbt adds to a snapshot; the last only if deleted rows are recorded.
_SNAPSHOT_COLUMNS = ("dbt_scd_id", "dbt_updated_at", "dbt_valid_from", "dbt_valid_to", "dbt_is_deleted")


def nodes_of(document: Mapping[str, Any], adapter: str) -> tuple[dict[str, Node], dict[str, str]]:
    """Return the nodes of a validated manifest, and why others are missing, by unique id."""
    entries: dict[str, tuple[str, Kind, Mapping[str, Any]]] = {}
    left_out = dict.fromkeys(_list_disabled(document.get("disabled")), "is disabled")
    for section, kind_of_section in SECTIONS.items():
        for unique_id, entry in (document.get(section) or {}).items():
            kind = kind_of_section or entry["resource_type"]
            if kind not in _KINDS:
                if kind not in _WITHOUT_DATA:
                    left_out[unique_id] = f"has an unknown type ({kind})"
            elif (entry.get("config") or {}).get("enabled") is False:
                left_out[unique_id] = "is disabled"
            else:
                entries[unique_id] = (section, cast("Kind", kind), entry)
    # The two maps repeat `depends_on`: they are used if it is empty.
    stated = {unique_id: _list_stated_parents(entry) for unique_id, (_, _, entry) in entries.items()}
    mapped = _map_parents(document, {unique_id for unique_id, parents in stated.items() if not parents})
    groups = owners_of_groups(document)
    nodes: dict[str, Node] = {}
    for unique_id, (section, kind, entry) in entries.items():
        parents = tuple(dict.fromkeys(filter(_has_data, stated[unique_id] or mapped[unique_id])))
        at = f"{section}.{unique_id}.depends_on.nodes" if stated[unique_id] else f"parent_map.{unique_id}"
        nodes[unique_id] = _node(unique_id, kind, entry, parents, at, adapter, groups)
    return nodes, {unique_id: why for unique_id, why in left_out.items() if unique_id not in nodes}


def _node(
    unique_id: str,
    kind: Kind,
    entry: Mapping[str, Any],
    parents: tuple[str, ...],
    at: str,
    adapter: str,
    groups: Mapping[str, tuple[str, ...]],
) -> Node:
    config = entry.get("config") or {}
    name = entry["name"]
    # dbt writes models of another project, added by a plugin, with empty paths.
    elsewhere = kind == "model" and entry.get("path") == entry.get("original_file_path") == ""
    names = (
        entry.get("database") or "",
        entry.get("schema") or "",
        entry.get("identifier" if kind == "source" else "alias") or name,
    )
    if kind in _RELATIONS:
        names = names_of(adapter, entry.get("relation_name") or "", names)
    materialized = config.get("materialized") or "view"  # dbt's default
    location = ""
    if kind == "source":
        location = source_location(entry)
    elif kind in ("model", "seed", "snapshot") and not elsewhere:
        location = derive_location(adapter, config, materialized, names)
    metadata = read_entry(kind, entry, groups)
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
        tags=metadata.tags,
        parents=() if elsewhere else parents,
        parents_at=at,
        built_elsewhere=elsewhere,
        location=location,
        code=_code(entry, kind, config) if kind in _RELATIONS else Code(),
        metadata=metadata,
        freshness=freshness_of(entry) if kind == "source" else NOT_CHECKED,
        semantics=semantics_of(kind, entry) if kind in SEMANTIC else None,
        has_own_place=any(config.get(key) for key in _PLACES),
    )


def _code(entry: Mapping[str, Any], kind: Kind, config: Mapping[str, Any]) -> Code:
    declared = tuple(
        DeclaredColumn(
            _column_name(column, name),
            column.get("data_type") or "",
            column.get("description") or "",
            read_column(column),
        )
        for name, column in (entry.get("columns") or {}).items()
    )
    sql = entry.get("compiled_code") or entry.get("compiled_sql") or ""
    return Code(
        sql=sql,
        language=entry.get("language") or "sql",
        relation_name=entry.get("relation_name") or "",
        columns=declared,
        contract=(config.get("contract") or {}).get("enforced") is True,
        snapshot_columns=_snapshot_columns(config) if kind == "snapshot" else (),
        source_digest="" if sql else _source_digest(entry),
    )


def _column_name(column: Mapping[str, Any], key: str) -> str:
    name = column.get("name") or key
    return name if column.get("quote") is True else column_path(name)


def _source_digest(entry: Mapping[str, Any]) -> str:
    source = entry.get("raw_code") or entry.get("raw_sql")
    if isinstance(source, str):
        return hashlib.sha256(source.strip().encode(errors="replace")).hexdigest()
    checksum = entry.get("checksum")
    digest = checksum.get("checksum") if isinstance(checksum, dict) else None
    return digest if isinstance(digest, str) else ""


def _snapshot_columns(config: Mapping[str, Any]) -> tuple[str, ...]:
    names = config.get("snapshot_meta_column_names") or {}
    added = _SNAPSHOT_COLUMNS if config.get("hard_deletes") == "new_record" else _SNAPSHOT_COLUMNS[:-1]
    return tuple(names.get(name) or name for name in added)


def _list_stated_parents(entry: Mapping[str, Any]) -> list[str]:
    return (entry.get("depends_on") or {}).get("nodes") or []


def _map_parents(document: Mapping[str, Any], wanted: set[str]) -> dict[str, list[str]]:
    parent_map, child_map = (document.get(name) or {} for name in MAPS)
    mapped_parents = {unique_id: list(parent_map.get(unique_id) or ()) for unique_id in wanted}
    for parent, children in child_map.items():
        for child in children or ():
            if child in mapped_parents:
                mapped_parents[child].append(parent)
    return mapped_parents


def _has_data(unique_id: str) -> bool:
    return unique_id.partition(".")[0] not in _WITHOUT_DATA


def _list_disabled(section: Any) -> list[str]:
    # Not validated by the schema: a malformed entry here does not affect the graph.
    if isinstance(section, dict):
        return list(section)
    return [
        entry["unique_id"]
        for entry in section or ()
        if isinstance(entry, dict) and isinstance(entry.get("unique_id"), str)
    ]
