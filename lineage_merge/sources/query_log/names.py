"""Resolution of the names in a logged statement to datasets, by the search path of its session. Pure."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from sqlglot import exp

from lineage_merge.column_lineage.scripts.variables import Variables
from lineage_merge.model.elements import Reference
from lineage_merge.sources.query_log.catalog import Catalog, TableName, folded, reference_of


@dataclass(slots=True)
class LoggedTables:
    """The datasets in a unit, by key. An unqualified name is the first table on the search path.

    A table that no schema of it has, such as a new one, is in its first schema. `external`: the names of
    external tables, by the key of their path. `renamed`: tables that have other names later.
    """

    namespace: str
    resolve_id: Callable[[Reference], str]
    catalog: Catalog
    database: str
    search_path: tuple[str, ...]
    renamed: Mapping[TableName, TableName] = field(default_factory=dict)
    references: dict[str, Reference] = field(default_factory=dict)
    external: dict[str, Reference] = field(default_factory=dict)

    def of_table(self, table: exp.Table, _database: tuple[str, ...], _variables: Variables) -> str | None:
        """Return the key of a table."""
        parts = self._parts([part.name for part in table.parts])
        database, schema, name = self.renamed.get(folded(*parts), parts)
        location = self.catalog.locations.get(folded(database, schema, name))
        if not location:
            return self._key(reference_of(self.namespace, (database, schema, name)))
        key = self._key(Reference("", location))
        self.external[key] = reference_of(self.namespace, (database, schema, name))
        return key

    def of_path(self, path: str, _variables: Variables) -> str | None:
        """Return the key of a path; None if its file system is unknown."""
        return self._key(Reference("", path)) if ":/" in path else None

    def _parts(self, parts: list[str]) -> tuple[str, str, str]:
        if len(parts) > 2:
            return parts[-3], parts[-2], parts[-1]
        if len(parts) == 2:
            return self.database, parts[0], parts[1]
        name = parts[0]
        schemas = [
            schema
            for schema in self.search_path
            for table in (folded(self.database, schema, name),)
            if table in self.catalog or table in self.renamed
        ]
        return self.database, next(iter((*schemas, *self.search_path)), ""), name

    def _key(self, reference: Reference) -> str:
        key = self.resolve_id(reference)
        self.references.setdefault(key, reference)
        return key
