"""A graph with changes that are not stored yet: tables, and the rows that changed.

The changes are those that requests make in a Gremlin server (`load.gremlin.upserts`).
"""

from collections.abc import Iterable, Iterator, Mapping, Set
from functools import cached_property, reduce
from typing import Any

from lineage_merge.graph_format.arrow import rows_of_table
from lineage_merge.graph_format.schema import EDGE_KEYS, FIRST_SEEN, NODE_KEYS, RUN_LABELS, SETS, Row
from lineage_merge.infra.arrow_tables import get_column, is_one_of
from lineage_merge.infra.embedded.graph_tables import KINDS, GraphTables, Kind, arrow, concat_tables, table_of
from lineage_merge.load.element_rows import require_keys
from lineage_merge.model.errors import GraphRejected

TAGS = "dag_name"
_KEYS = ("id", "label", "from", "to")
# What messages call a row of each table, and its required keys.
_REQUIRED: Mapping[Kind, tuple[str, tuple[str, ...]]] = {
    "vertices": ("node", NODE_KEYS),
    "edges": ("edge", EDGE_KEYS),
}


class DraftTable:
    """A table and its changes: rows by id, None for a deleted one."""

    def __init__(self, kind: Kind, table: Any) -> None:
        self._kind = kind
        self._stored = table
        self._changed: dict[str, Row | None] = {}
        self._looked_up: set[str] = set()

    @cached_property
    def _positions(self) -> Mapping[str, int]:
        return {identifier: number for number, identifier in enumerate(self._stored["id"].to_pylist())}

    def __contains__(self, identifier: str) -> bool:
        if identifier in self._changed:
            return self._changed[identifier] is not None
        return identifier not in self._looked_up and identifier in self._positions

    @property
    def changed_ids(self) -> Set[str]:
        """Return the ids of rows that may have changed."""
        return self._changed.keys()

    def prefetch(self, ids: Iterable[str]) -> None:
        """Take rows out of the table, all at once, which is faster than one after the other."""
        wanted = {identifier for identifier in ids if identifier not in self._changed}
        for row in rows_of_table(self._stored.filter(is_one_of(get_column(self._stored, "id"), wanted))):
            self._changed[row["id"]] = row
        self._looked_up |= wanted

    def get(self, identifier: str) -> Row | None:
        """Return a row, whose changes are those of the table; None if there is none."""
        if identifier not in self._changed and identifier in self:
            for row in rows_of_table(self._stored.slice(self._positions[identifier], 1)):
                self._changed[identifier] = row
        return self._changed.get(identifier)

    def add(self, row: Row) -> Row:
        """Add a row, and return it."""
        self._changed[row["id"]] = row
        return row

    def delete(self, identifier: str) -> bool:
        """Delete a row; returns whether there was one."""
        is_there = identifier in self
        if is_there:
            self._changed[identifier] = None
        return is_there

    def rows_with(self, names: Iterable[str], values: Iterable[str]) -> Iterator[Row]:
        """Yield the rows, to read, of which a column has one of the values."""
        wanted = frozenset(values)
        masks = [is_one_of(get_column(self._stored, name), wanted) for name in names]
        mask = reduce(arrow().compute.or_, masks)
        for row in rows_of_table(self._stored.filter(mask)):
            if row["id"] not in self._changed:
                yield row
        for changed in [row for row in self._changed.values() if row]:
            if any(changed.get(name) in wanted for name in names):
                yield changed

    def table(self) -> Any:
        """Return the table with its changes."""
        rows = [row for row in self._changed.values() if row is not None]
        for row in rows:
            for name, value in row.items():
                if isinstance(value, list):
                    row[name] = sorted(set(map(str, value))) or None
        if not self._changed:
            return self._stored
        is_changed = is_one_of(get_column(self._stored, "id"), self._changed)
        unchanged = self._stored.filter(arrow().compute.invert(is_changed))
        return concat_tables(self._kind, [unchanged, table_of(self._kind, rows)])


class Draft:
    """A graph with changes."""

    def __init__(self, tables: GraphTables) -> None:
        self.vertices = DraftTable("vertices", tables.vertices)
        self.edges = DraftTable("edges", tables.edges)

    def tables(self) -> GraphTables:
        """Return the graph as tables."""
        return GraphTables(self.vertices.table(), self.edges.table())

    @classmethod
    def with_new(cls, tables: GraphTables, new: GraphTables, now: int) -> "Draft":
        """Return a graph with new rows of a merge, whose ids the graph does not have.

        `now`: their `first_seen`. Raises the errors of `write_vertex` and `write_edge`.
        """
        if not (len(new.vertices) or len(new.edges)):
            return cls(tables)
        vertices, edges = (_complete(kind, table, now) for kind, table in zip(KINDS, new, strict=True))
        known = concat_tables("vertices", [tables.vertices, vertices])
        ids = get_column(known, "id")
        for end in ("from", "to"):
            column = get_column(edges, end)
            is_known = arrow().compute.is_in(column.dictionary, value_set=ids).take(column.indices)
            for row in rows_of_table(edges.filter(arrow().compute.invert(is_known)).slice(0, 1)):
                raise _missing_end(row, end)
        return cls(GraphTables(known, concat_tables("edges", [tables.edges, edges])))

    def write_vertex(self, row: Row) -> None:
        """Create or change a vertex: replace single values, add values of sets.

        Of a row with `first_seen`, which is new to the load, an existing vertex gets only values of sets, a
        job or assertion all. Raises `IntermediateError` if a key is missing.
        """
        require_keys("node", row, NODE_KEYS)
        stored = self.vertices.get(row["id"])
        target = stored or self.vertices.add({"id": row["id"], "label": row["label"]})
        is_kept = stored is not None and FIRST_SEEN in row and row["label"] not in RUN_LABELS
        for name, value in row.items():
            if name in SETS:
                for member in [value] if isinstance(value, str) else value:
                    add_value(target, name, member)
            elif name not in _KEYS and not is_kept and (stored is None or name != FIRST_SEEN):
                target[name] = value

    def write_edge(self, row: Row) -> None:
        """Create or change an edge; one with `first_seen` is only created if it is missing.

        Raises `GraphRejected` if one of its ends is missing, and `IntermediateError` if a key is.
        """
        require_keys("edge", row, EDGE_KEYS)
        target = self.edges.get(row["id"])
        if target is None:
            for end in ("from", "to"):
                if row[end] not in self.vertices:
                    raise _missing_end(row, end)
            self.edges.add(dict(row))
        elif FIRST_SEEN not in row:
            for name, value in row.items():
                if name not in _KEYS:
                    target[name] = value

    def edges_at(self, ids: Iterable[str]) -> list[Row]:
        """Return the edges of vertices, in and out, to read."""
        return list(self.edges.rows_with(("from", "to"), ids))

    def untag(self, ids: Iterable[str], dag_name: str) -> tuple[int, int]:
        """Remove a DAG's tag of vertices without edges of the DAG.

        Those without other tags and without any edges are deleted. Returns the numbers of deleted vertices,
        and of those that lost the tag.
        """
        candidates = sorted({identifier for identifier in ids if identifier in self.vertices})
        self.vertices.prefetch(candidates)
        touched: set[str] = set()
        needed: set[str] = set()
        for edge in self.edges_at(candidates):
            (touched if edge.get(TAGS) == dag_name else needed).update((edge["from"], edge["to"]))
        deleted = untagged = 0
        for identifier in candidates:
            row = self.vertices.get(identifier)
            if row is None or identifier in touched:
                continue
            others = [tag for tag in row.get(TAGS) or () if tag != dag_name]
            if not others and identifier not in needed:
                deleted += self.vertices.delete(identifier)
            elif dag_name in (row.get(TAGS) or ()):
                row[TAGS] = others
                untagged += 1
        return deleted, untagged


def _complete(kind: Kind, table: Any, now: int) -> Any:
    """Return new rows with the keys and properties that are stored. Raises `IntermediateError`."""
    pa = arrow()
    shown, keys = _REQUIRED[kind]
    for key in keys:
        column = get_column(table, key)
        is_missing = column.is_null()
        if not pa.types.is_list(column.type):
            is_missing = pa.compute.or_(is_missing, is_one_of(column, [""]))
        for row in rows_of_table(table.filter(is_missing).slice(0, 1)):
            require_keys(shown, row, keys)
    columns = {}
    for name in table.column_names:
        column = get_column(table, name)
        if kind == "vertices" and name in SETS:
            column = pa.array([_sort_set(value) for value in column.to_pylist()], pa.list_(pa.string()))
        columns[name] = column
    return pa.table({**columns, FIRST_SEEN: pa.repeat(pa.scalar(now, pa.int64()), len(table))})


def _sort_set(value: Any) -> list[str] | None:
    return sorted({value} if isinstance(value, str) else set(value or ())) or None


def _missing_end(row: Row, end: str) -> GraphRejected:
    shown = f"edge {row['id']} ({row['from']} -{row['label']}-> {row['to']})"
    return GraphRejected(f"{shown}: the graph has no vertex {row[end]}")


def add_value(row: Row, name: str, value: str) -> None:
    """Add a value to a set."""
    members = row.get(name)
    if members is None:
        row[name] = [value]
    elif value not in members:
        members.append(value)


def drop_values(row: Row, name: str, values: Iterable[str]) -> None:
    """Remove values of a property, single or a set."""
    dropped = frozenset(values)
    value = row.get(name)
    if isinstance(value, list):
        row[name] = [each for each in value if each not in dropped]
    elif value is None or str(value) in dropped:
        row.pop(name, None)
