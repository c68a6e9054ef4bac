"""The interface by which scripts resolve names to datasets, and names that are paths."""

import re
from collections.abc import Mapping
from typing import Protocol

from sqlglot import exp

from lineage_merge.column_lineage.scripts.variables import Variables
from lineage_merge.column_lineage.sql.external_reads import path_of
from lineage_merge.column_lineage.table_parts import path_of_name
from lineage_merge.model.elements import Reference

# A version of Delta's table: delta.`s3://lake/sales@v3`, delta.`s3://lake/sales@20260131120000000`.
_VERSION = re.compile(r"@(?:v\d+|\d{17})$", re.IGNORECASE)


class Datasets(Protocol):
    """Resolves the names and paths in a script to datasets, by key; all names of a dataset have one key."""

    @property
    def references(self) -> Mapping[str, Reference]:
        """Return a name of each dataset that was resolved, by key."""

    def name_table(self, table: exp.Table, database: tuple[str, ...], variables: Variables) -> str | None:
        """Return the dataset of a table in the current `database`; None if the name contains a variable."""

    def name_path(self, path: str, variables: Variables) -> str | None:
        """Return the dataset of a path; None if it contains a variable or its file system is unknown."""


def path_of_table(table: exp.Table) -> str:
    """Return the path in the place of a table, without a version; "" for a table's name."""
    if path := path_of(table):
        return path
    parts = [part.name for part in table.parts]
    path = path_of_name(parts)
    return _VERSION.sub("", path) if parts[0].lower() == "delta" else path
