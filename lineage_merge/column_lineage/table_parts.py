"""Names below a table: Iceberg's metadata tables, changelog, branches, tags and snapshots. Pure.

``lake.db.orders.snapshots`` and ``s3://lake/orders#snapshots`` are not datasets of their own. A database may
be called like a table and have a table `snapshots`, so the columns decide where they are known.
"""

import re
from collections.abc import Collection, Mapping, Sequence
from typing import Literal

from lineage_merge.column_lineage.pseudo_columns import ICEBERG_CHANGE

# What of the table is read: rows (of a branch or snapshot), changes of rows, or no rows.
TablePart = Literal["rows", "changes", "metadata"]

_FILES = frozenset({"content", "file_path", "file_format", "record_count", "file_size_in_bytes"})
_ENTRIES = frozenset({"status", "snapshot_id", "sequence_number", "data_file"})
_MANIFESTS = frozenset({"path", "length", "partition_spec_id", "added_snapshot_id"})
# Of Iceberg 1.3 and newer; the columns of older versions are not enough to know the table by.
_PARTITIONS = frozenset({"record_count", "file_count", "position_delete_record_count"})
# Columns that each metadata table has in every version of Iceberg.
_METADATA: Mapping[str, frozenset[str]] = {
    "all_data_files": _FILES,
    "all_delete_files": _FILES,
    "all_entries": _ENTRIES,
    "all_files": _FILES,
    "all_manifests": _MANIFESTS,
    "data_files": _FILES,
    "delete_files": _FILES,
    "entries": _ENTRIES,
    "files": _FILES,
    "history": frozenset({"made_current_at", "snapshot_id", "parent_id", "is_current_ancestor"}),
    "manifests": _MANIFESTS,
    "metadata_log_entries": frozenset({"timestamp", "file", "latest_snapshot_id", "latest_schema_id"}),
    "partitions": frozenset({"record_count", "file_count"}),
    "position_deletes": frozenset({"file_path", "pos", "row", "delete_file_path"}),
    "refs": frozenset({"name", "type", "snapshot_id", "min_snapshots_to_keep"}),
    "snapshots": frozenset({"committed_at", "snapshot_id", "parent_id", "operation", "manifest_list"}),
}
METADATA_TABLES = frozenset(_METADATA)
_CHANGELOG = "changes"
# Spark reads a path as a table of its format: parquet.`s3://lake/sales`.
_FORMATS = frozenset(
    {"avro", "binaryfile", "csv", "delta", "hudi", "iceberg", "json", "orc", "parquet", "text", "xml"}
)
_OF_ROWS = re.compile(r"(?:branch|tag)_.+|(?:snapshot_id|at_timestamp)_\d+")
# Names that start with the catalog: one level more than a table has, unless namespaces are nested.
BELOW_A_TABLE = 4


def part_of_name(name: Sequence[str], columns: Collection[str] = (), location: str = "") -> TablePart | None:
    """Return what of the table above it a name with its catalog refers to; None for a table itself.

    `columns` are those that are read, `location` is the path, as far as they are known.
    """
    if len(name) < 3 or _last(location) == name[-1]:
        return None
    is_below = len(name) >= BELOW_A_TABLE or _last(location) == name[-2]
    return _part(name[-1], columns, is_below=is_below)


def path_of_name(name: Sequence[str]) -> str:
    """Return the path in a name such as delta.`/data/t`, by its parts; "" for a table's name."""
    is_path = len(name) == 2 and name[0].lower() in _FORMATS and "/" in name[1]
    return name[1] if is_path else ""


def part_of_path(path: str, columns: Collection[str] = ()) -> tuple[str, TablePart] | None:
    """Split ``s3://lake/orders#files``; None for the path of a table."""
    table, _, name = path.rpartition("#")
    part = _part(name, (), is_below=True) if "/" in table else None
    if part:
        return table, part
    if "/" in path and path.endswith(f".{_CHANGELOG}") and set(columns).issuperset(ICEBERG_CHANGE):
        return path.removesuffix(f".{_CHANGELOG}"), "changes"
    return None


def has_metadata_columns(columns: Collection[str]) -> bool:
    """Return whether the columns are those of a metadata table, whatever its name."""
    known = set(columns)
    return known >= _PARTITIONS or any(
        known >= own for name, own in _METADATA.items() if name != "partitions"
    )


def _part(name: str, columns: Collection[str], *, is_below: bool) -> TablePart | None:
    name = name.lower()
    if name == _CHANGELOG or name in _METADATA:
        is_part = set(columns).issuperset(_METADATA.get(name, ICEBERG_CHANGE)) if columns else is_below
        if not is_part:
            return None
        return "changes" if name == _CHANGELOG else "metadata"
    return "rows" if is_below and _OF_ROWS.fullmatch(name) else None


def _last(location: str) -> str:
    return location.rstrip("/").rpartition("/")[2]
