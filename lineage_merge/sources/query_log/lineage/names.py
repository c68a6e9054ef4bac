"""Resolution of the names in a logged statement to datasets, by the search path of its session. Pure."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from sqlglot import exp

from lineage_merge.column_lineage.scripts.variables import Variables
from lineage_merge.model.elements import Reference
from lineage_merge.sources.query_log.statements.catalog import Catalog, TableName, fold_name, reference_of
from lineage_merge.sources.query_log.statements.reads import LocalTable

# Begins the key of a table that is no dataset.
NO_DATASET = "\0"
_SYSTEM_SCHEMAS = frozenset({"information_schema", "pg_catalog", "pg_internal"})
_SYSTEM_TABLES = ("pg_", "stcs_", "stl_", "stv_", "svcs_", "svl_", "svv_", "sys_")


@dataclass(slots=True)
class LoggedTables:
    """The datasets in a unit, by key. An unqualified name is the first table on the search path.

    A table that no schema of it has, such as a new one, is in its first schema. `local`: tables of the
    session; one that is not renamed later is no dataset, its key begins with `NO_DATASET`. So do those of the
    warehouse's own tables, if `skips_system`. `external`: the names of external tables, by the key of their
    path. `renamed`: tables that have other names later.
    """

    namespace: str
    resolve_id: Callable[[Reference], str]
    catalog: Catalog
    database: str
    search_path: tuple[str, ...]
    renamed: Mapping[TableName, TableName] = field(default_factory=dict)
    local: tuple[LocalTable, ...] = ()
    skips_system: bool = False
    references: dict[str, Reference] = field(default_factory=dict)
    external: dict[str, Reference] = field(default_factory=dict)

    def name_table(self, table: exp.Table, _database: tuple[str, ...], _variables: Variables) -> str | None:
        """Return the key of a table."""
        parts = [part.name for part in table.parts]
        if "://" in parts[-1]:
            return self.name_path(parts[-1], _variables)
        local = self._local(parts) if self.local else None
        if local is not None:
            if not local.renamed_to:
                return f"{NO_DATASET}{local.name}"
            parts[-1] = local.renamed_to
        whole = self._parts(parts)
        if self.skips_system and self._is_system(parts, whole):
            return f"{NO_DATASET}{whole[-1]}"
        return self.find_key(whole)

    def find_key(self, whole: TableName) -> str:
        """Return the key of a table with a complete name."""
        name = self.renamed.get(fold_name(*whole), whole)
        location = self.catalog.locations.get(fold_name(*name))
        if not location:
            return self._key(reference_of(self.namespace, name))
        key = self._key(Reference("", location))
        self.external[key] = reference_of(self.namespace, name)
        return key

    def whole_name(self, table: exp.Table) -> TableName:
        """Return the database, schema and name of a table."""
        return self._parts([part.name for part in table.parts])

    def name_path(self, path: str, _variables: Variables) -> str | None:
        """Return the key of a path; None if its file system is unknown."""
        return self._key(Reference("", path)) if ":/" in path else None

    def _local(self, parts: list[str]) -> LocalTable | None:
        name, schema = parts[-1].casefold(), parts[-2].casefold() if len(parts) > 1 else ""
        for table in self.local:
            if table.name == name and (
                not schema or (not table.is_temporary and table.schema in ("", schema))
            ):
                return table
        return None

    def _is_system(self, parts: list[str], name: TableName) -> bool:
        if len(parts) > 1:
            return name[1].casefold() in _SYSTEM_SCHEMAS
        return parts[0].casefold().startswith(_SYSTEM_TABLES) and fold_name(*name) not in self.catalog

    def _parts(self, parts: list[str]) -> tuple[str, str, str]:
        if len(parts) > 2:
            return parts[-3], parts[-2], parts[-1]
        if len(parts) == 2:
            return self.database, parts[0], parts[1]
        name = parts[0]
        if self._is_system(parts, (self.database, "", name)):
            return self.database, "pg_catalog", name
        schemas = [
            schema
            for schema in self.search_path
            for table in (fold_name(self.database, schema, name),)
            if table in self.catalog or table in self.renamed
        ]
        return self.database, next(iter((*schemas, *self.search_path)), ""), name

    def _key(self, reference: Reference) -> str:
        key = self.resolve_id(reference)
        self.references.setdefault(key, reference)
        return key
