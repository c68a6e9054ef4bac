"""Known columns of each dataset, extended while queries are read.

The columns of a dataset may be incomplete: those of a source without a schema, or of a model that selects
all columns of such a source. A column that a query names exists; if only one source can provide it, it
originates there.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field

from lineage_merge.column_lineage.sql.sql_values import (
    UNTRACED,
    SqlColumn,
    SqlRows,
    SqlValue,
    column_value,
    field_of,
    find_fields,
    is_same,
)


def fold(name: str) -> str:
    """Return a column name for case-insensitive comparison."""
    return name.casefold()


class AllColumns:
    """`*` of a dataset whose columns are incomplete; `hidden` (folded) columns are excluded.

    `table` is None for an unknown relation. `own`: the previous state of the table that the query builds.
    `structure`: the columns are its fields (`address.*`).
    """

    __slots__ = ("hidden", "own", "structure", "table")

    def __init__(
        self,
        table: "KnownTable | None",
        hidden: frozenset[str] = frozenset(),
        *,
        own: bool = False,
        structure: SqlValue | None = None,
    ) -> None:
        self.table = table
        self.hidden = hidden
        self.own = own
        self.structure = structure

    def hide(self, hidden: frozenset[str]) -> "AllColumns":
        """Return it without more columns (folded)."""
        return AllColumns(self.table, self.hidden | hidden, structure=self.structure)

    def is_same(self, other: "AllColumns") -> bool:
        """Whether both are the same columns."""
        structures = [one for one in (self.structure, other.structure) if one is not None]
        return (self.table, self.hidden) == (other.table, other.hidden) and (
            not structures or (len(structures) == 2 and is_same(*structures))
        )

    def may_have(self, name: str) -> bool:
        """Whether it has or may have the column."""
        return fold(name) not in self.hidden and (self.table is None or self.table.may_have(name))

    def knows(self, name: str) -> bool:
        """Whether it certainly has the column."""
        if fold(name) in self.hidden:
            return False
        if self.structure is not None and (known := find_fields(self.structure)) is not None:
            return known.has(name)
        return self.table is not None and self.table.knows(name)

    def find(self, name: str) -> SqlValue | None:
        """Return the value of a column; None: no such column. An unknown relation has no origins."""
        if fold(name) in self.hidden:
            return None
        if self.structure is not None:
            return field_of(self.structure, name)
        return UNTRACED if self.table is None else self.table.find(name)


def only(stars: Iterable[AllColumns], name: str) -> tuple[AllColumns | None, bool]:
    """Return the only star that has the column, and whether any may have it."""
    possible = [star for star in stars if star.may_have(name)]
    certain = [star for star in possible if star.knows(name)]
    if len(certain) == 1 or len(possible) == 1:
        return (certain or possible)[0], True
    return None, bool(possible)


@dataclass(slots=True, eq=False)
class KnownTable:
    """A dataset. `columns`: spelling by folded name; `complete`: it has no other columns.

    `values` and `rows` come from its own SQL; `stars` are incomplete `*` in it.
    `built`: its SQL was read.
    """

    unique_id: str
    columns: dict[str, str] = field(default_factory=dict)
    complete: bool = False
    built: bool = False
    values: dict[str, SqlValue] = field(default_factory=dict)
    rows: SqlRows = field(default_factory=SqlRows)
    stars: list[AllColumns] = field(default_factory=list)
    _readers: list[tuple["KnownTable", frozenset[str]]] = field(default_factory=list)
    _read: dict[str, SqlValue] = field(default_factory=dict)

    def knows(self, name: str) -> bool:
        """Whether it certainly has the column."""
        return fold(name) in self.columns

    def may_have(self, name: str) -> bool:
        """Whether it has or may have the column."""
        return self.knows(name) or (not self.complete and self._may_grow(name))

    def _may_grow(self, name: str) -> bool:
        return not self.built or any(star.may_have(name) for star in self.stars)

    def find(self, name: str) -> SqlValue | None:
        """Return the value of a column that a query names, and add the column. None: no such column."""
        if not self.knows(name):
            if not self.may_have(name):
                return None
            self._name(name)
        return self.read(name) if self.knows(name) else None

    def read(self, name: str) -> SqlValue:
        """Return the value of a known column."""
        column = SqlColumn(self.unique_id, self.columns[fold(name)])
        if column.column not in self._read:
            self._read[column.column] = column_value(column)
        return self._read[column.column]

    def assume(self, name: str) -> SqlValue | None:
        """Like `find`, for a column that no other relation can have.

        The catalog may be older than the SQL, and lists no pseudo columns.
        """
        if not self.knows(name) and not (self.built and not self.stars):
            self._name(name)
        return self.find(name)

    def _name(self, name: str) -> None:
        if not self.stars:
            self.add(name)
            return
        star, possible = only(self.stars, name)
        if star is not None:
            column = star.find(name)
            # Finding it in the table of the star may already have added it here.
            if column is not None and not self.knows(name):
                self.add(name, column)
        elif possible:
            self.add(name)

    def add(self, name: str, value: SqlValue | None = None) -> None:
        """Add a column here and in all datasets that select all columns of this one."""
        key = fold(name)
        if key in self.columns:
            return
        self.columns[key] = name
        if value is not None:
            self.values[key] = value
        for reader, hidden in self._readers:
            if key not in hidden and not reader.knows(name):
                reader.add(name, self.read(name))

    def select_all_of(self, star: AllColumns) -> None:
        """Add all columns of the star, including those that are found later."""
        self.stars.append(star)
        if star.table is None:
            return
        star.table._readers.append((self, star.hidden))
        for key, name in list(star.table.columns.items()):
            if key not in star.hidden and not self.knows(name):
                self.add(name, star.table.read(name))
