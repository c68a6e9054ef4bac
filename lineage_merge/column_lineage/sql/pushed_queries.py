"""Parsing of queries that Spark pushes down to a database: their tables and column lineage. Pure.

Needs sqlglot.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from sqlglot import Dialect, exp
from sqlglot.errors import SqlglotError
from sqlglot.optimizer.scope import traverse_scope

from lineage_merge.column_lineage.derive import derive_flows, derive_influences
from lineage_merge.column_lineage.sql.parsing import parse, run_with_deep_stack
from lineage_merge.column_lineage.sql.query import Queries
from lineage_merge.column_lineage.sql.scope import Item, NamedColumn, Relation
from lineage_merge.column_lineage.sql.sql_values import SqlRows, SqlValue
from lineage_merge.column_lineage.sql.tables import AllColumns, KnownTable, fold, only
from lineage_merge.column_lineage.sql.text import cut
from lineage_merge.column_lineage.transformations import ColumnFlow, Influence

# A query, after comments.
_QUERY = re.compile(r"(?:\s|--[^\n]*\n|/\*(?:[^*]|\*(?!/))*\*/)*(?:select|with)(?!\w)", re.IGNORECASE)


class UnreadableQuery(Exception):
    """Why the tables of a query are unknown; never contains the query, which may have secrets."""


@dataclass(frozen=True, slots=True)
class QueryColumns:
    """Column lineage of a query's result.

    `flows` into each column by position, None if its origin is unknown; they name a table by its address.
    `columns` are the used columns of each table. `problems` say what could not be traced.
    """

    flows: tuple[tuple[ColumnFlow[str], ...] | None, ...]
    influences: tuple[Influence[str], ...] = ()
    columns: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    problems: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class QueryValues:
    """The values of a query's columns by position, None if the origin of one is unknown.

    `rows`: what decides on its rows; `columns` and `problems` as in `QueryColumns`.
    """

    values: tuple[SqlValue | None, ...]
    rows: SqlRows = field(default_factory=SqlRows)
    columns: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    problems: tuple[str, ...] = ()


class PushedQuery:
    """A parsed query; `url` is the connection through which its tables are read."""

    def __init__(self, text: str, url: str, dialect: str) -> None:
        """Parse `text`: a SELECT, or what follows FROM. Raises `UnreadableQuery`."""
        self._url = url
        self._dialect = Dialect.get_or_raise(dialect or None)
        sql = text if _QUERY.match(text) else f"select * from {text}"  # noqa: S608 (never run)
        try:
            [tree] = parse(sql, self._dialect)
            scopes = traverse_scope(tree) if isinstance(tree, exp.Query) else []
            names = {
                name
                for scope in scopes
                for source in scope.sources.values()
                if isinstance(source, exp.Table) and (name := _name(source))
            }
        except (SqlglotError, ValueError, RecursionError) as error:
            # The original message contains part of the query.
            reason = "nested too deeply" if isinstance(error, RecursionError) else "cannot be parsed"
            raise UnreadableQuery(reason) from None
        if not scopes:
            raise UnreadableQuery("not a SELECT")
        self._tree = tree
        self.tables = tuple(self._address(name) for name in sorted(names))

    def _address(self, name: str) -> str:
        return f"{self._url}:{name}"

    def columns(self, names: Sequence[str]) -> QueryColumns:
        """Return the lineage of the result's columns; `names` are their names in the database."""
        read = self.values(names)
        try:
            flows = tuple(
                None if value is None else derive_flows([(name, value)])
                for name, value in zip(names, read.values, strict=True)
            )
            influences = derive_influences(read.rows)
        except Exception as error:  # noqa: BLE001 - a parser's own bug costs one query its columns
            return QueryColumns((None,) * len(names), problems=(_unreadable(error),))
        return QueryColumns(flows, influences, read.columns, read.problems)

    def values(
        self,
        names: Sequence[str],
        known: Mapping[str, Sequence[str]] = {},
        keys: Mapping[str, str] = {},
    ) -> QueryValues:
        """Return the values of the result's columns.

        `known`: names of columns of tables, by address; `keys`: what values name tables by, if not by this.
        """
        tables: dict[str, KnownTable] = {}
        notes: dict[str, dict[str, None]] = {}

        def table_of(table: exp.Table) -> KnownTable | Relation | None:
            name = _name(table)
            if name:
                address = self._address(name)
                if address not in tables:
                    columns = {fold(column): column for column in known.get(address, ())}
                    tables[address] = KnownTable(keys.get(address, address), columns)
                return tables[address]
            return Relation([]) if isinstance(table.this, exp.Identifier) else None

        def note(what: str, name: str) -> None:
            notes.setdefault(what, {})[name] = None

        try:
            relation = run_with_deep_stack(lambda: Queries(self._dialect, table_of, note).read(self._tree))
            values = tuple(_values(relation, names))
        except Exception as error:  # noqa: BLE001 - a parser's own bug costs one query its columns
            return QueryValues((None,) * len(names), problems=(_unreadable(error),))
        for name, value in zip(names, values, strict=True):
            if value is None:
                note("has columns that cannot be traced to one table", name)
        return QueryValues(
            values,
            relation.rows,
            {address: tuple(table.columns.values()) for address, table in tables.items()},
            tuple(cut(_problem(what, note)) for what, note in notes.items()),
        )


def _unreadable(error: Exception) -> str:
    return f"has columns that cannot be read ({type(error).__name__})"


def _problem(what: str, names: Iterable[str]) -> str:
    shown = ", ".join(sorted(name for name in names if name))
    return f"{what}: {shown}" if shown else what


def _values(relation: Relation, names: Sequence[str]) -> Iterable[SqlValue | None]:
    """Return the columns' values: by position if all are listed, else by name and by known neighbours."""
    if relation.closed and len(relation.items) == len(names):
        return [item.value for item in relation.named]
    places = _items_by_position(relation.items, names) if relation.rest is None else {}
    return [_find_value(relation, places.get(position), name) for position, name in enumerate(names)]


def _items_by_position(items: Sequence[Item], names: Sequence[str]) -> dict[int, Item]:
    """Return the SELECT item of each column, by position, as far as it is certain.

    Items yield columns in order: all columns between two columns of the same ``*`` belong to it.
    """
    anchors: dict[int, int] = {}
    for position, name in enumerate(names):
        matching = [index for index, item in enumerate(items) if _gives(item, name)]
        if len(matching) == 1:
            anchors[position] = matching[0]
    anchors.update(_match_ends(items, len(names)))
    in_order = [anchors[position] for position in sorted(anchors)]
    if in_order != sorted(in_order):
        return {}
    lowest = _bounds(items, anchors, range(len(names)), 1)
    highest = _bounds(items, anchors, range(len(names) - 1, -1, -1), -1)
    pairs = zip(lowest, reversed(highest), strict=True)
    return {position: items[low] for position, (low, high) in enumerate(pairs) if low == high}


def _bounds(
    items: Sequence[Item], anchors: Mapping[int, int], positions: Iterable[int], direction: int
) -> list[int]:
    """Return the first item that each position can belong to; `direction` starts at the first position."""
    bounds: list[int] = []
    bound = 0 if direction > 0 else len(items) - 1
    for position in positions:
        bound = anchors.get(position, bound)
        bounds.append(bound)
        if position in anchors and isinstance(items[bound], NamedColumn):
            bound += direction  # a listed column is one column
    return bounds


def _gives(item: Item, name: str) -> bool:
    return item.knows(name) if isinstance(item, AllColumns) else fold(item.name) == fold(name)


def _match_ends(items: Sequence[Item], count: int) -> Iterable[tuple[int, int]]:
    """Return the listed columns before the first ``*`` and after the last, and the outer column of either."""
    stars = {index: item for index, item in enumerate(items) if isinstance(item, AllColumns)}
    if not stars or count < len(items) - len(stars):
        return
    first, last = min(stars), max(stars)
    offset = count - len(items)
    # After removing the columns of USING, a table may have none left.
    yield from ((index, index) for index in range(first if stars[first].hidden else first + 1))
    start = last + 1 if stars[last].hidden else last
    yield from ((offset + index, index) for index in range(start, len(items)))


def _find_value(relation: Relation, item: Item | None, name: str) -> SqlValue | None:
    if isinstance(item, NamedColumn):
        return item.value
    if item is not None and item.table is not None:
        return item.find(name)
    return _find_by_name(relation, name)


def _find_by_name(relation: Relation, name: str) -> SqlValue | None:
    listed = [item.value for item in relation.named if fold(item.name) == fold(name)]
    if listed:
        return listed[0] if len(listed) == 1 else None
    star, _ = only(relation.stars, name)
    if star is not None and star.table is not None:
        return star.find(name)
    return relation.rest


def _name(table: Any) -> str:
    """Return ``"My.Schema".event``, quoted as in the query; "" for a table function."""
    parts = [table.args.get(part) for part in ("catalog", "db", "this")]
    while parts and not parts[0]:
        del parts[0]
    # A table of four parts (on a linked server) belongs to another server, as its name says.
    name: list[Any] = []
    for part in parts:
        name.extend(part.flatten() if isinstance(part, exp.Dot) else [part])
    # The schema of SQL Server's db..table is empty.
    if not all(not part or isinstance(part, exp.Identifier) for part in name):
        return ""
    if len(name) == 1 and not name[0].quoted and name[0].name.lower() == "dual":
        return ""  # one empty row
    return ".".join(_quote(part) if part else "" for part in name)


def _quote(identifier: Any) -> str:
    value = str(identifier.name)
    return '"' + value.replace('"', '""') + '"' if identifier.quoted else value
