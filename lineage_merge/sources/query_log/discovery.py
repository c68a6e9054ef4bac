"""How `init` finds exports of Redshift's system views, and files of statements."""

import json
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

from lineage_merge.infra.storage import StoredFile, find_files
from lineage_merge.model.errors import SourceError
from lineage_merge.sources.discovery import (
    Discovered,
    InitOption,
    SourceDiscovery,
    SourceInput,
    locations_with,
)
from lineage_merge.sources.line_files import first_lines
from lineage_merge.sources.query_log.logs.archive_layout import is_marker
from lineage_merge.sources.query_log.settings import STATEMENTS

_FORMAT = {"format": "redshift"}
_STATEMENTS = {"format": "statements"}
_MAX_TESTED = 3
_UNKNOWN = "redshift://cluster.region:5439"
# The dialect of the statements of a warehouse, by the platform of a project on it.
_DIALECTS = {"sqlserver": "tsql", "synapse": "tsql"} | {
    platform: platform
    for platform in (
        *("athena", "bigquery", "clickhouse", "databricks", "duckdb", "fabric", "mysql", "oracle"),
        *("postgres", "redshift", "snowflake", "teradata", "trino"),
    )
}


class QueryLogDiscovery(SourceDiscovery):
    """An export is a folder with a folder per view; its tables need the namespace of the warehouse."""

    options = (
        InitOption(
            "--query-log",
            "path",
            "folder with Redshift's exported system views",
            "query logs",
            is_repeatable=True,
        ),
    )
    is_list = True
    job_word = "statement"

    def read_options(self, given: Mapping[str, Any]) -> SourceInput | None:
        """Return the named folders; the first one decides the format."""
        source_input = super().read_options(given)
        if source_input is None:
            return None
        with suppress(SourceError):
            if any(map(has_statements, find_files(source_input.locations[0])[:_MAX_TESTED])):
                return source_input._replace(settings=_STATEMENTS)
        return source_input._replace(settings=_FORMAT)

    def own_files(self, files: Iterable[StoredFile]) -> Iterable[str]:
        """Return the files of views, and the markers of an archive."""
        return [file.location for file in files if _root(file.location) or is_marker(file)]

    def search(self, files: Sequence[StoredFile], rest: Sequence[StoredFile]) -> Discovered:
        """Return the folders above those of the views, or else those with files of statements."""
        from lineage_merge.sources.query_log.logs.redshift_views import HISTORY

        roots = {
            root
            for file in files
            if (root := _root(file.location)) and f"/{HISTORY}/" in file.location.lower()
        }
        statements = locations_with(has_statements, files, rest)
        if not roots:
            return Discovered(SourceInput("path", statements, _STATEMENTS) if statements else None)
        notes = tuple(f"{location}: statements of a query log, not used" for location in statements)
        return Discovered(SourceInput("path", tuple(sorted(roots)), _FORMAT), notes)

    def settings(
        self, source_input: SourceInput, folder: Path | None, namespaces: Mapping[str, str] = {}
    ) -> Any:
        """Return an entry per folder, with the warehouse of a project, or the given namespace."""
        platform, namespace = _warehouse(source_input, namespaces)
        entries = super().settings(source_input, folder)
        dialect = {"dialect": _DIALECTS[platform]} if source_input.settings == _STATEMENTS else {}
        return [{**entry, **dialect, "namespace": namespace or _UNKNOWN} for entry in entries]

    def check(self, source_input: SourceInput, namespaces: Mapping[str, str]) -> str:
        """Return what is not known of the warehouse."""
        if _warehouse(source_input, namespaces).namespace:
            return ""
        keys = "dialect and namespace" if source_input.settings == _STATEMENTS else "namespace"
        return f"a query log does not name its warehouse, set {keys}"


class _Warehouse(NamedTuple):
    """The warehouse of a log; without a namespace it is a guess."""

    platform: str
    namespace: str


def _warehouse(source_input: SourceInput, namespaces: Mapping[str, str]) -> _Warehouse:
    """Return the warehouse of the only project, or that of the given namespace."""
    platforms = [platform for platform in namespaces if platform in _DIALECTS]
    if source_input.settings == _FORMAT or not platforms:
        return _Warehouse("redshift", namespaces.get("redshift") or namespaces.get("", ""))
    if len(platforms) > 1:
        return _Warehouse("redshift", "")
    return _Warehouse(platforms[0], namespaces[platforms[0]])


def has_statements(file: StoredFile) -> bool:
    """Return whether a file has a line with a statement. Raises `SourceError`."""
    for _, line in first_lines(file):
        with suppress(ValueError, RecursionError):
            if STATEMENTS.recognizes(json.loads(line)):
                return True
    return False


def _root(location: str) -> str:
    """Return the folder that contains the folder of a view, "" if the file is in none."""
    from lineage_merge.sources.query_log.logs.redshift_views import VIEWS

    parts = location.split("/")
    for at in range(len(parts) - 2, 0, -1):
        if parts[at].lower() in VIEWS:
            return "/".join(parts[:at])
    return ""
