"""A graph with changes that are not stored yet: tables, and the rows that changed.

The changes are those that requests make in a Gremlin server (`load.gremlin.upserts`): an element is created
or matched by its id, a single value is replaced, a value of a set is added.
"""

import json
from collections.abc import Iterable, Iterator
from typing import Any

from lineage_merge.graph_format.arrow import rows_of_table
from lineage_merge.graph_format.schema import Row
from lineage_merge.infra.embedded.graph_tables import (
    OTHER_PROPERTIES,
    GraphTables,
    Kind,
    arrow,
    columns,
    table_schema,
)
from lineage_merge.load.gremlin.upserts import EdgeUpsert, VertexUpsert
from lineage_merge.model.errors import GraphRejected

TAGS = "dag_name"


class DraftTable:
    """A table and its changes: rows by id, None for a deleted one."""

    def __init__(self, kind: Kind, table: Any) -> None:
        self._kind = kind
        self._stored = table
        self._positions = {identifier: number for number, identifier in enumerate(table["id"].to_pylist())}
        self._changed: dict[str, Row | None] = {}

    def __contains__(self, identifier: str) -> bool:
        if identifier in self._changed:
            return self._changed[identifier] is not None
        return identifier in self._positions

    def prefetch(self, ids: Iterable[str]) -> None:
        """Take rows out of the table, all at once, which is faster than one after the other."""
        wanted = {identifier for identifier in ids if identifier not in self._changed}
        positions = sorted(self._positions[identifier] for identifier in wanted & self._positions.keys())
        if positions:
            for row in rows_of_table(self._stored.take(positions)):
                self._changed[row["id"]] = row

    def get(self, identifier: str) -> Row | None:
        """Return a row, whose changes are those of the table; None if there is none."""
        if identifier not in self._changed and identifier in self._positions:
            self.prefetch([identifier])
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
        pa, wanted = arrow(), frozenset(values)
        array = pa.array(sorted(wanted), pa.string())
        mask = pa.array([False] * len(self._stored), pa.bool_())
        for name in names:
            mask = pa.compute.or_(mask, pa.compute.is_in(self._stored[name], array))
        for row in rows_of_table(self._stored.filter(mask)):
            if row["id"] not in self._changed:
                yield row
        for changed in [row for row in self._changed.values() if row]:
            if any(changed.get(name) in wanted for name in names):
                yield changed

    def table(self) -> Any:
        """Return the table with its changes."""
        pa = arrow()
        texts = {name for name, kind in columns()[self._kind].items() if kind == "string"}
        rows = [row for row in self._changed.values() if row is not None]
        for row in rows:
            for name, value in row.items():
                if isinstance(value, list):
                    row[name] = sorted(set(map(str, value))) or None
                elif name in texts and value is not None:
                    row[name] = str(value)
        changed = pa.array(list(self._changed), pa.string())
        unchanged = self._stored.filter(pa.compute.invert(pa.compute.is_in(self._stored["id"], changed)))
        return pa.concat_tables([unchanged, pa.Table.from_pylist(rows, table_schema(self._kind))])


class Draft:
    """A graph with changes."""

    def __init__(self, tables: GraphTables) -> None:
        self.vertices = DraftTable("vertices", tables.vertices)
        self.edges = DraftTable("edges", tables.edges)

    def tables(self) -> GraphTables:
        """Return the graph as tables."""
        return GraphTables(self.vertices.table(), self.edges.table())

    def upsert_vertex(self, upsert: VertexUpsert) -> None:
        """Create or change a vertex."""
        row = self.vertices.get(upsert.id)
        if row is None:
            row = self.vertices.add({"id": upsert.id, "label": upsert.label, **dict(upsert.created)})
        for name, value in upsert.single:
            set_value(row, name, value)
        for name, value in upsert.sets:
            add_value(row, name, value)

    def upsert_edge(self, upsert: EdgeUpsert) -> None:
        """Create or change an edge. Raises `GraphRejected` if one of its ends is missing."""
        row = self.edges.get(upsert.id)
        if row is None:
            ends = {"from": upsert.from_id, "to": upsert.to_id}
            for end in ends.values():
                if end not in self.vertices:
                    raise GraphRejected(f"{upsert}: the graph has no vertex {end}")
            row = {"id": upsert.id, "label": upsert.label, **ends, **dict(upsert.created)}
            self.edges.add(row)
        elif upsert.only_if_missing:
            return
        for name, value in upsert.properties:
            set_value(row, name, value)

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


def set_value(row: Row, name: str, value: Any) -> None:
    """Replace a single value."""
    _drop_other(row, name)
    row[name] = value


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
        drop_property(row, name)


def drop_property(row: Row, name: str) -> None:
    """Remove a property."""
    _drop_other(row, name)
    row.pop(name, None)


def other_properties(row: Row) -> dict[str, Any]:
    """Return the properties for which there is no column, as GraphSON."""
    text = row.get(OTHER_PROPERTIES)
    members = json.loads(text)["@value"] if text else []
    return dict(zip(members[::2], members[1::2], strict=True))


def set_other_properties(row: Row, values: dict[str, Any]) -> None:
    """Replace the properties for which there is no column."""
    members = [each for pair in values.items() for each in pair]
    row[OTHER_PROPERTIES] = json.dumps({"@type": "g:Map", "@value": members}) if members else None


def _drop_other(row: Row, name: str) -> None:
    if row.get(OTHER_PROPERTIES):
        set_other_properties(row, {key: each for key, each in other_properties(row).items() if key != name})
