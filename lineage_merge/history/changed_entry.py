"""Writes an entry from the one before it and the elements that a load changed.

The files of an entry are written in parts, each by one process. A part without a changed element is copied,
on a disk as a link; in the others rows are replaced. New elements are rows of the last part, or of another
one if that is full.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

from lineage_merge.graph_format.columns import Columns, open_parquet, rows_at
from lineage_merge.graph_format.schema import Row
from lineage_merge.history import layout
from lineage_merge.history.entry_files import (
    FILE_ROWS,
    copy_into,
    read_columns,
    rows_as_table,
    sort_by_start,
    sort_table,
    write_part,
)
from lineage_merge.history.fingerprints import Sums, add_sums, read_sums, subtract_sums, sums_of, write_sums
from lineage_merge.history.layout import DagScope, MergeName
from lineage_merge.history.merge_record import MergeRecord
from lineage_merge.history.pictures import open_entry
from lineage_merge.infra import storage
from lineage_merge.infra.arrow_tables import get_column, is_one_of
from lineage_merge.infra.embedded.graph_tables import Kind, concat_tables
from lineage_merge.infra.engine.rows import Engine, Shared
from lineage_merge.load.graph_state import Picture
from lineage_merge.load.result import ChangedIds
from lineage_merge.model.errors import IntermediateError

_PART = re.compile(r".*/part-(\d{5})-\d{5}\.parquet")
# Maximum share of changed elements: above it, an entry is read from the graph.
_MOST = 0.2
_TABLES: Mapping[layout.Kind, Kind] = {"nodes": "vertices", "edges": "edges"}


class _Part(NamedTuple):
    """A part of the entry before: its files, and those of `edges_from`."""

    number: int
    rows: int
    files: tuple[str, ...]
    by_start: tuple[str, ...]


class _Folders(NamedTuple):
    """Where parts are written. `by_start`: `edges_from`; "" for nodes."""

    kind: layout.Kind
    rows: str
    by_start: str


class _Changes(NamedTuple):
    """Rows by id, which replace those of `ids`."""

    ids: frozenset[str]
    rows: Mapping[str, Row]


class _Written(NamedTuple):
    """A part of the new entry. `found`: changed ids that the part before had; `sums`: how its sums change."""

    rows: int
    sums: Sums
    found: frozenset[str]


def is_applicable(before: MergeRecord, changed: ChangedIds) -> bool:
    """Return whether an entry of so few changes is written from the one before."""
    return sum(map(len, changed)) <= _MOST * (before.vertices + before.edges)


def write_changed_entry(
    location: str, scope: DagScope, name: MergeName, before: MergeRecord, ids: ChangedIds, changed: Picture
) -> tuple[int, int] | None:
    """Write an entry with `changed` instead of the elements of `ids`; return the numbers of nodes and edges.

    `before`: the merge after which the graph was as before the load. None if its entry cannot be used, so
    that nothing was written. Raises `SourceError`.
    """
    try:
        entry = open_entry(location, scope, before)
        before_name = before.entry or before.name
        by_start = read_columns(_folder(location, "edges_from", scope, before_name))
        (sums,) = read_sums(location, [(scope, before_name)])
    except IntermediateError:
        return None
    node_parts = _list_parts(entry.nodes.files)
    edge_parts = _list_parts(entry.edges.files, by_start.files)
    if not node_parts or not edge_parts or by_start.num_rows != entry.edges.num_rows:
        return None
    nodes, edges = _by_id(changed.nodes.collect()), _by_id(changed.edges.collect())
    runs = _by_id(_list_rows(entry.runs)) if entry.runs else {}
    nodes = {key: row for key, row in runs.items() if key not in ids.vertices} | nodes
    engine = changed.nodes.engine
    folders = _Folders("nodes", _folder(location, "nodes", scope, name), "")
    written_nodes = _write_parts(engine, folders, node_parts, _Changes(ids.vertices | runs.keys(), nodes))
    folders = _Folders(
        "edges", _folder(location, "edges", scope, name), _folder(location, "edges_from", scope, name)
    )
    written_edges = _write_parts(engine, folders, edge_parts, _Changes(ids.edges, edges))
    if sums is not None:
        write_sums(location, scope, name, add_sums([sums, written_nodes.sums, written_edges.sums]))
    return written_nodes.rows, written_edges.rows


def _folder(location: str, kind: layout.Kind, scope: DagScope, name: MergeName) -> str:
    return layout.entry_folder(location, kind, scope, name)


def _by_id(rows: Iterable[Row]) -> dict[str, Row]:
    return {row["id"]: row for row in rows}


def _list_rows(columns: Columns) -> Iterable[Row]:
    return rows_at(columns, range(columns.num_rows))


def _list_parts(
    files: Sequence[tuple[str, Any]], by_start: Sequence[tuple[str, Any]] = ()
) -> list[_Part] | None:
    """Return the parts of an entry; None if Spark wrote its files, which have other names."""
    parts: dict[int, _Part] = {}
    for is_by_start, several in enumerate((files, by_start)):
        for file, opened in several:
            if not (found := _PART.fullmatch(file)):
                return None
            number = int(found[1])
            part = parts.get(number, _Part(number, 0, (), ()))
            if is_by_start:
                parts[number] = part._replace(by_start=(*part.by_start, file))
            else:
                rows = part.rows + opened.metadata.num_rows
                parts[number] = part._replace(rows=rows, files=(*part.files, file))
    return [part for _, part in sorted(parts.items())]


def _write_parts(engine: Engine, folders: _Folders, parts: Sequence[_Part], changes: _Changes) -> _Written:
    for each in filter(None, (folders.rows, folders.by_start)):
        storage.make_folder(each)
    *first, last = parts
    if last.rows >= FILE_ROWS:
        first, last = [*parts], _Part(last.number + 1, 0, (), ())
    with engine.own_errors():
        write = partial(_write_each, folders, engine.share(changes))
        written = engine.rows(first, max(1, len(first))).map_partitions(write).collect()
    found = frozenset[str]().union(*(part.found for part in written))
    rest = _Changes(changes.ids - found, {key: row for key, row in changes.rows.items() if key not in found})
    written.append(_write_part(folders, last, rest, adds_rows=True))
    return _Written(sum(part.rows for part in written), add_sums(part.sums for part in written), found)


def _write_each(folders: _Folders, changes: Shared[_Changes], parts: Iterable[_Part]) -> Iterator[_Written]:
    for part in parts:
        yield _write_part(folders, part, changes.value, adds_rows=False)


def _write_part(folders: _Folders, part: _Part, changes: _Changes, *, adds_rows: bool) -> _Written:
    """Write a part with its changes. `adds_rows`: also the rows that it did not have."""
    import pyarrow.compute as pc

    before = _read_table(part.files)
    is_replaced = is_one_of(get_column(before, "id"), changes.ids)
    replaced = before.filter(is_replaced)
    found = frozenset(get_column(replaced, "id").to_pylist())
    rows = [row for key, row in changes.rows.items() if adds_rows or key in found]
    if not found and not rows:
        copy_into(folders.rows, part.files)
        copy_into(folders.by_start, part.by_start)
        return _Written(len(before), add_sums([]), found)
    added = rows_as_table(rows, folders.kind)
    kind = _TABLES[folders.kind]
    table = sort_table(concat_tables(kind, [before.filter(pc.invert(is_replaced)), added]), folders.kind)
    write_part(table, folders.kind, folders.rows, part.number)
    if folders.by_start and found == {row["id"] for row in rows}:  # an id has the ends and the label
        copy_into(folders.by_start, part.by_start)
    elif folders.by_start:
        write_part(sort_by_start(table), "edges_from", folders.by_start, part.number)
    return _Written(len(table), subtract_sums(sums_of(added), sums_of(replaced)), found)


def _read_table(files: Sequence[str]) -> Any:
    import pyarrow as pa

    columns = open_parquet(files)
    return pa.table({name: columns.column(name) for name in columns.names})
