"""What the warehouse's catalog says about tables: columns, and the path of external ones. Pure."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from lineage_merge.column_lineage.scripts.shapes import Shape, ShapeColumn
from lineage_merge.model.elements import Reference
from lineage_merge.naming.identifiers import join_name

# Database, schema and table, folded; "" for a level that the warehouse lacks.
TableName = tuple[str, str, str]


class CatalogColumn(NamedTuple):
    """A column of a table; `position` from 1."""

    database: str
    schema: str
    table: str
    column: str
    position: int
    data_type: str = ""


class ExternalTable(NamedTuple):
    """A table whose rows are files at a path."""

    database: str
    schema: str
    table: str
    location: str


CatalogRow = CatalogColumn | ExternalTable


@dataclass(frozen=True, slots=True)
class Catalog:
    """The tables of a warehouse: their columns, and the paths of external ones, by name."""

    columns: Mapping[TableName, tuple[ShapeColumn, ...]] = field(default_factory=dict)
    locations: Mapping[TableName, str] = field(default_factory=dict)

    def __contains__(self, name: object) -> bool:
        """Return whether a table exists."""
        return name in self.columns or name in self.locations

    def with_locations(self, tables: Iterable[ExternalTable]) -> "Catalog":
        """Return the catalog with the paths of other external tables."""
        locations = {
            fold_name(table.database, table.schema, table.table): table.location for table in sorted(tables)
        }
        return Catalog(self.columns, {**locations, **self.locations})

    def shapes(self, namespace: str, resolve_id: Callable[[Reference], str]) -> dict[str, Shape]:
        """Return the columns by the id of each table."""
        by_id = {}
        for name, columns in self.columns.items():
            location = self.locations.get(name)
            reference = Reference("", location) if location else reference_of(namespace, name)
            by_id[resolve_id(reference)] = Shape(columns, complete=True, declared=True)
        return by_id


def catalog_of(rows: Iterable[CatalogRow]) -> Catalog:
    """Return the catalog of its rows."""
    columns: defaultdict[TableName, set[tuple[int, str, str]]] = defaultdict(set)
    locations: dict[TableName, str] = {}
    for row in rows:
        name = fold_name(row.database, row.schema, row.table)
        if isinstance(row, ExternalTable):
            locations[name] = max(row.location, locations.get(name, ""))
        else:
            columns[name].add((row.position, row.column, row.data_type))
    ordered = {
        name: tuple(ShapeColumn(column, kind) for _, column, kind in sorted(numbered))
        for name, numbered in columns.items()
    }
    return Catalog(ordered, locations)


def fold_name(*parts: str) -> TableName:
    """Return a table's name for comparison."""
    database, schema, table = (part.strip().casefold() for part in parts)
    return database, schema, table


def reference_of(namespace: str, parts: Iterable[str]) -> Reference:
    """Return a table of the warehouse."""
    return Reference(namespace, join_name([part for part in parts if part]))
