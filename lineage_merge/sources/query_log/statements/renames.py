"""Renames of tables in all sessions of a log: the names that tables had before, and got. Pure.

A swap makes another table of the old name, and what was read and written under that name remains under it:
``daily`` to ``daily_old``, ``daily_new`` to ``daily`` is a new name of `daily_new` only. If two tables
exchange their names, both have new ones.
"""

from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from typing import NamedTuple

from lineage_merge.infra.batches import gather
from lineage_merge.sources.query_log.statements.catalog import Catalog, TableName, fold_name

# The order of statements: time (microseconds since 1970), number in the log, and part of a statement.
Moment = tuple[int, int, int]


class Rename(NamedTuple):
    """A committed rename, with the names as written; `recreated`: the session made the old name again."""

    at: Moment
    session: str
    database: str
    search_path: tuple[str, ...]
    old: tuple[str, ...]
    new: tuple[str, ...]
    recreated: bool = False


class ColumnRename(NamedTuple):
    """A committed rename of a column."""

    at: Moment
    database: str
    search_path: tuple[str, ...]
    table: tuple[str, ...]
    old: str
    new: str


AnyRename = Rename | ColumnRename


class RenamedTable(NamedTuple):
    """A table that has another name after the time `at`."""

    at: Moment
    old: TableName
    new: TableName


@dataclass(frozen=True, slots=True)
class Renames:
    """The renames of each table in order of time, and the tables by the last part of their name.

    `columns`: the renames of columns by table, with their times.
    """

    of_table: Mapping[TableName, Sequence[RenamedTable]] = field(default_factory=dict)
    tables: Mapping[str, Sequence[TableName]] = field(default_factory=dict)
    columns: Mapping[TableName, Sequence[tuple[Moment, str, str]]] = field(default_factory=dict)

    def __bool__(self) -> bool:
        """Return whether anything was renamed."""
        return bool(self.tables or self.columns)

    def columns_after(self, at: Moment, words: AbstractSet[str]) -> tuple[tuple[TableName, str, str], ...]:
        """Return the columns, of tables among the `words` of a statement at a time, with their last names."""
        renamed: list[tuple[TableName, str, str]] = []
        for table, renames in self.columns.items():
            if table[2] not in words:
                continue
            names: dict[str, str] = {}
            for _, old, new in renames[bisect_right(renames, at, key=lambda rename: rename[0]) :]:
                before = next((first for first, last in names.items() if last == old), old)
                names[before] = new
            renamed += [(table, old, new) for old, new in names.items() if old != new]
        return tuple(sorted(renamed))

    def find_after(self, at: Moment, words: AbstractSet[str]) -> tuple[tuple[TableName, TableName], ...]:
        """Return the tables among the `words` of a statement at a time, with their last names."""
        renamed: dict[TableName, TableName] = {}
        for word in words & self.tables.keys():
            for table in self.tables[word]:
                last = self._last(table, at)
                if last != table:
                    renamed[table] = last
        return tuple(sorted(renamed.items()))

    def _last(self, name: TableName, at: Moment) -> TableName:
        while True:
            renames = self.of_table.get(name, ())
            later = bisect_right(renames, at, key=lambda rename: rename.at)
            if later == len(renames):
                return name
            at, _, name = renames[later]


def renames_of(renames: Iterable[AnyRename], catalog: Catalog) -> Renames:
    """Return the renames by which tables and columns have other names than before."""
    columns: defaultdict[TableName, list[tuple[Moment, str, str]]] = defaultdict(list)
    tables_renamed: list[Rename] = []
    for rename in renames:
        if isinstance(rename, Rename):
            tables_renamed.append(rename)
        else:
            table_name = _name(rename.database, rename.search_path, rename.table, rename.table[-1], catalog)
            columns[table_name].append((rename.at, rename.old, rename.new))
    of_table: defaultdict[TableName, list[RenamedTable]] = defaultdict(list)
    for group in _group_related(
        [(_resolve(renamed, catalog), renamed.recreated) for renamed in sorted(tables_renamed)]
    ):
        tables = _Group([table for table, _ in group])
        for at, (table, recreated) in enumerate(group):
            if tables.is_followed(at, recreated=recreated):
                of_table[table.old].append(table)
    by_name = gather((name[2], name) for name in of_table)
    return Renames(
        dict(of_table), dict(by_name), {name: sorted(changes) for name, changes in columns.items()}
    )


def _group_related(renames: Sequence[tuple[RenamedTable, bool]]) -> Iterable[list[tuple[RenamedTable, bool]]]:
    """Return the renames in groups without common names, each in order of time."""
    group_of: dict[TableName, set[TableName]] = {}
    for table, _ in renames:
        old, new = group_of.setdefault(table.old, {table.old}), group_of.setdefault(table.new, {table.new})
        if old is not new:
            smaller, larger = sorted((old, new), key=len)
            larger |= smaller
            group_of.update(dict.fromkeys(smaller, larger))
    return gather((id(group_of[rename[0].old]), rename) for rename in renames).values()


def _resolve(rename: Rename, catalog: Catalog) -> RenamedTable:
    """Return the rename with complete names."""
    new_name = rename.new[-1]
    old = _name(rename.database, rename.search_path, rename.old, new_name, catalog)
    new_database, new_schema = old[:2] if len(rename.new) == 1 else (old[0], *rename.new[:-1])[-2:]
    return RenamedTable(rename.at, old, fold_name(new_database, new_schema, new_name))


def _name(
    database: str, search_path: Sequence[str], parts: Sequence[str], other: str, catalog: Catalog
) -> TableName:
    """Return a complete name; unqualified ones as `LoggedTables` resolves them, by it or an `other` name."""
    *_, name = parts
    if len(parts) > 1:
        database, schema = ("", database, *parts[:-1])[-2:]
    else:
        schemas = [
            schema
            for schema in search_path
            if fold_name(database, schema, name) in catalog or fold_name(database, schema, other) in catalog
        ]
        schema = next(iter((*schemas, *search_path)), "")
    return fold_name(database, schema, name)


class _Group:
    """Renames with common names in order of time, with the positions of each old and of each new name."""

    def __init__(self, tables: Sequence[RenamedTable]) -> None:
        self.tables = tables
        self.of_old = gather((table.old, at) for at, table in enumerate(tables))
        self.of_new = gather((table.new, at) for at, table in enumerate(tables))

    def is_followed(self, at: int, *, recreated: bool) -> bool:
        """Return whether what had the old name has the new one: the old one is not given to another table."""
        table = self.tables[at]
        if table.old == table.new:
            return False
        taken = _later(self.of_new, table.old, at)
        # By another table, unless the two exchange their names.
        if taken is not None and self._names_after(at).isdisjoint(self._names_before(taken)):
            return False
        # A staging table that is made again replaced a table, which was renamed before.
        return not recreated or _earlier(self.of_old, table.new, at) is not None

    def _names_after(self, position: int | None) -> set[TableName]:
        """Return the name that a rename gives to a table, and those that it gets later."""
        names: set[TableName] = set()
        while position is not None:
            name = self.tables[position].new
            names.add(name)
            position = _later(self.of_old, name, position)
        return names

    def _names_before(self, position: int | None) -> set[TableName]:
        """Return the old name in a rename, and those that the table had earlier."""
        names: set[TableName] = set()
        while position is not None:
            name = self.tables[position].old
            names.add(name)
            position = _earlier(self.of_new, name, position)
        return names


def _later(positions: Mapping[TableName, Sequence[int]], name: TableName, at: int) -> int | None:
    of_name = positions.get(name, ())
    number = bisect_right(of_name, at)
    return of_name[number] if number < len(of_name) else None


def _earlier(positions: Mapping[TableName, Sequence[int]], name: TableName, at: int) -> int | None:
    of_name = positions.get(name, ())
    number = bisect_left(of_name, at)
    return of_name[number - 1] if number else None
