"""Temporary tables and views of one file: their readers read what they are made of. Pure."""

from collections.abc import Callable
from dataclasses import dataclass, field

from sqlglot import exp

from lineage_merge.column_lineage.scripts.clauses import find_used_database
from lineage_merge.column_lineage.scripts.syntax import Script
from lineage_merge.column_lineage.scripts.writes import Reads
from lineage_merge.column_lineage.sql.scope import NamedColumn, Relation
from lineage_merge.column_lineage.sql.sql_values import UNTRACED, Columns, SqlRows, merge_columns
from lineage_merge.column_lineage.sql.tables import fold


@dataclass(slots=True)
class Temporary:
    """A temporary table: its columns, and the datasets behind it with the temporary tables between."""

    name: str
    relation: Relation
    reads: Reads = field(default_factory=Reads)

    def add_rows(self, columns: Columns, decided: SqlRows, reads: Reads, *, overwrite: bool) -> None:
        """Add rows; `overwrite`: replacing the existing ones."""
        before = self.relation
        names = [(item.name, UNTRACED if overwrite else item.value) for item in before.named]
        items = [NamedColumn(name, made) for name, made in merge_columns([*names, *columns])]
        rows = decided if overwrite else SqlRows(of=(before.rows, decided))
        self.relation = Relation([*items, *before.stars], rows, None, before.rest)
        if overwrite:
            self.reads = Reads()
        self.reads.include(reads)


class Temporaries:
    """The temporary tables of one file, by unqualified name or by dataset key."""

    def __init__(self) -> None:
        self._by_name: dict[str, Temporary] = {}
        self._by_key: dict[str, Temporary] = {}

    def add(self, table: exp.Table, key: str | None, temporary: Temporary) -> None:
        """Register a table under its name."""
        if not table.args.get("db"):
            self._by_name[fold(table.name)] = temporary
        if key is not None:
            self._by_key[key] = temporary

    def find(self, table: exp.Table, key: str | None) -> Temporary | None:
        """Return the table that a name resolves to."""
        if not table.args.get("db") or fold(table.db).startswith("pg_temp"):
            return self._by_name.get(fold(table.name))
        return self._by_key.get(key or "")

    def drop(self, table: exp.Table, key: str | None) -> bool:
        """Remove a table; False if there is none of this name."""
        known = self.find(table, key)
        for names in (self._by_name, self._by_key):
            for name in [name for name, other in names.items() if other is known and known is not None]:
                del names[name]
        return known is not None


def find_dropped_again(
    script: Script, platform: str, key_of: Callable[[exp.Table, tuple[str, ...]], str | None]
) -> set[str | None]:
    """Return the tables that a file creates and later drops: they are treated as temporary."""
    database: tuple[str, ...] = ()
    made: set[str | None] = set()
    dropped: set[str | None] = set()
    for statement in script.statements:
        tree = statement.tree
        if isinstance(tree, exp.Use):
            database = find_used_database(tree, platform) or database
        elif isinstance(tree, exp.Create) and tree.find(exp.TemporaryProperty) is None:
            table = tree.find(exp.Table)
            if table is not None:
                key = key_of(table, database)
                made.add(key)
                dropped.discard(key)
        elif isinstance(tree, exp.Drop):
            for table in tree.args.get("tables") or ():
                if isinstance(table, exp.Table) and (key := key_of(table, database)) in made:
                    dropped.add(key)
        elif isinstance(tree, exp.Alter) and isinstance(tree.this, exp.Table):
            for action in tree.args.get("actions") or ():
                if isinstance(action, exp.AlterRename):
                    made.discard(key_of(tree.this, database))
                elif isinstance(action, exp.SwapTable) and isinstance(action.this, exp.Table):
                    swapped = {key_of(table, database) for table in (tree.this, action.this)}
                    if len(made & swapped) == 1:
                        made ^= swapped
    return dropped - {None}
