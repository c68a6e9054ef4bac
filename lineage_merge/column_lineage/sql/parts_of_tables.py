"""Names in FROM that are part of a table: Iceberg's metadata tables, and changes of Iceberg and Delta."""

from dataclasses import dataclass

from sqlglot import exp

from lineage_merge.column_lineage import pseudo_columns
from lineage_merge.column_lineage.sql.scope import Named, Relation
from lineage_merge.column_lineage.sql.tables import AllColumns, Table
from lineage_merge.column_lineage.table_parts import BELOW_A_TABLE, METADATA_TABLES, TablePart, part_of_name

# `db.orders.snapshots`
_DOTTED = frozenset({"databricks", "hive", "spark", "spark2"})
# `db."orders$snapshots"`
_DOLLAR = frozenset({"athena", "doris", "presto", "starrocks", "trino"})
# Trino has `$properties` besides.
_AFTER_DOLLAR = METADATA_TABLES | {"properties"}
# Spark takes the first part of `t.files` for a namespace, whatever the current database.
_DATABASE_OR_CATALOG = 3


@dataclass(frozen=True, slots=True)
class PartOfTable:
    """What a name refers to if `table` is a table; `is_certain`: unless the name is known as a table.

    `added` are the columns that the part has besides those of the table.
    """

    table: exp.Table
    part: TablePart
    added: tuple[str, ...] = ()
    is_certain: bool = True

    def relation(self, table: Table) -> Relation:
        """Return the columns of the part: none of metadata has an origin."""
        if self.part == "metadata":
            return Relation([AllColumns(None)])
        found = Relation.of(table)
        return Relation([*found.items, *(Named(name, {}) for name in self.added)], base=found.base)


def part_of_table(table: exp.Table, platform: str) -> PartOfTable | None:
    """Return the part of a table that a name may refer to; None for other names."""
    if isinstance(table.this, exp.Anonymous) and table.this.name.lower() == "table_changes":
        name = next(iter(table.this.expressions), None)
        if platform not in _DOTTED or not isinstance(name, exp.Literal):
            return None
        return PartOfTable(exp.to_table(name.name), "changes", pseudo_columns.DELTA_CHANGE)
    parts = table.parts
    if platform in _DOLLAR:
        name, _, selected = table.name.partition("$")
        if not name or selected.lower() not in _AFTER_DOLLAR:
            return None
        return PartOfTable(_named([*parts[:-1], exp.to_identifier(name, quoted=True)]), "metadata")
    if platform not in _DOTTED or len(parts) < _DATABASE_OR_CATALOG:
        return None
    names = [each.name for each in parts]
    part = part_of_name(["", *names[-3:]], location=names[-2])  # if the name above is a table's
    if part is None:
        return None
    added = pseudo_columns.ICEBERG_CHANGE if part == "changes" else ()
    return PartOfTable(_named(parts[:-1]), part, added, len(parts) >= BELOW_A_TABLE)


def _named(parts: list[exp.Expr]) -> exp.Table:
    copies = [part.copy() for part in parts[-3:]]
    return exp.Table(**dict(zip(("this", "db", "catalog"), reversed(copies), strict=False)))
