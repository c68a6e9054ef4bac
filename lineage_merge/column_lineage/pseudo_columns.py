"""Names of columns that a reader adds to those of a table, and that the table does not store.

Hudi's ``_hoodie_commit_time`` and others are not among them: Hudi stores them in each record.
"""

from collections.abc import Iterable

# https://iceberg.apache.org/spec/#reserved-field-ids; a table cannot be read by columns of its own with
# these names.
ICEBERG = frozenset(
    {"_deleted", "_file", "_last_updated_sequence_number", "_partition", "_pos", "_row_id", "_spec_id"}
)
# Those that Spark adds to a relation all together, in every version of Iceberg.
ICEBERG_TOGETHER = frozenset({"_deleted", "_file", "_partition", "_pos", "_spec_id"})
# Of a row of Iceberg's changelog, and of Delta's change data feed; after the columns of the table.
ICEBERG_CHANGE = ("_change_type", "_change_ordinal", "_commit_snapshot_id")
DELTA_CHANGE = ("_change_type", "_commit_version", "_commit_timestamp")

# Spark's structure of a row's file. `__metadata` if the file has a column `_metadata` itself.
FILE_METADATA = "_metadata"
_OF_EVERY_FILE = frozenset({"file_path", "file_name", "file_size", "file_modification_time"})
# All versions of Spark, Delta's row tracking included.
FILE_FIELDS = _OF_EVERY_FILE | {
    *"""
    base_row_id default_row_commit_version file_block_length file_block_start row_commit_version row_id
    row_index
    """.split()
}


def is_file_metadata(name: str, fields: Iterable[str]) -> bool:
    """Return whether a structure with these fields is Spark's `_metadata`, or a stored copy of it."""
    known = set(fields)
    return name.lstrip("_") == FILE_METADATA.lstrip("_") and _OF_EVERY_FILE <= known <= FILE_FIELDS
