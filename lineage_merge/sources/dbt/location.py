"""Storage locations of dbt datasets, as far as the manifest contains them.

Sources have `external.location` (dbt-external-tables) or are a path (dbt-duckdb), models an adapter-specific
setting. Locations that only the profile (a root directory) or only the run (a generated directory) determines
are unknown.
"""

import re
from collections.abc import Callable, Mapping
from typing import Any

from lineage_merge.sources.dbt import relation

Settings = Mapping[str, Any]

_URI = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:/\S*")
_ABSOLUTE = re.compile(r"/\S+")


def source_location(entry: Settings) -> str:
    """Return the URI of an external source's files, "" if the manifest has none."""
    external = entry.get("external")
    location = _uri(external.get("location")) if isinstance(external, Mapping) else ""
    # dbt-duckdb renders `meta.external_location` as the relation's name.
    return location or _path(relation.path_of(entry.get("relation_name") or ""))


def derive_location(adapter: str, config: Settings, materialized: str, names: tuple[str, str, str]) -> str:
    """Return the URI of what dbt builds, "" if the manifest has none.

    `names` are database, schema and identifier.
    """
    name = adapter.lower()
    tell = _ADAPTERS.get(name)
    if tell is None or "view" in materialized:
        return ""
    # Only DuckDB writes to the file system of the machine that runs dbt.
    return (_path if name == "duckdb" else _uri)(tell(config, names))


def _uri(value: object) -> str:
    text = _text(value)
    return text if _URI.fullmatch(text) else ""


def _path(value: object) -> str:
    """Return a URI, or an absolute path. The base of a relative one is not in the manifest."""
    text = _text(value)
    return text if _URI.fullmatch(text) or _ABSOLUTE.fullmatch(text) else ""


def _text(value: object) -> str:
    return value.strip().strip("'\"").strip() if isinstance(value, str) else ""


def _athena(config: Settings, names: tuple[str, str, str]) -> str:
    # https://docs.getdbt.com/reference/resource-configs/athena-configs
    external, root = config.get("external_location"), config.get("s3_data_dir")
    if external:
        return str(external)
    _, schema, identifier = names
    table = config.get("s3_path_table_part") or identifier
    # A `_unique` name ends with a UUID, which is not part of a dataset's name.
    below = {
        "table": f"{table}",
        "table_unique": f"{table}",
        "schema_table": f"{schema}/{table}",
        "schema_table_unique": f"{schema}/{table}",
    }.get(str(config.get("s3_data_naming")))
    return f"{_strip_slash(root)}/{below}" if root and below else ""


def _derive_below_root(config: Settings, names: tuple[str, str, str]) -> str:
    root = config.get("location_root")
    parts = names if config.get("include_full_name_in_path") is True else names[-1:]
    return "/".join([_strip_slash(root), *(part for part in parts if part)]) if root else ""


def _glue(config: Settings, _: tuple[str, str, str]) -> str:
    return str(config.get("custom_location") or "")


def _trino(config: Settings, _: tuple[str, str, str]) -> str:
    properties = config.get("properties")
    if not isinstance(properties, Mapping):
        return ""
    return str(properties.get("external_location") or properties.get("location") or "")


def _duckdb(config: Settings, _: tuple[str, str, str]) -> str:
    return str(config.get("location") or "") if config.get("materialized") == "external" else ""


def _strip_slash(root: object) -> str:
    return str(root).rstrip("/")


_ADAPTERS: Mapping[str, Callable[[Settings, tuple[str, str, str]], str]] = {
    "athena": _athena,
    "databricks": _derive_below_root,
    "duckdb": _duckdb,
    "fabricspark": _derive_below_root,
    "glue": _glue,
    "spark": _derive_below_root,
    "starburst": _trino,
    "trino": _trino,
}
