"""Lineage as of a moment, from the newest entry of each DAG that is not younger.

Vertices that several DAGs share: the newest entry that has a vertex takes precedence, because it was read
from the graph with the values that the loads of all DAGs until then had left. `dag_name` is the set of DAGs
whose entry has the vertex. A dataset that a later merge of another DAG moved to a new id is renamed in older
entries, as in the graph.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import partial, reduce
from typing import Any, NamedTuple

from lineage_merge.graph_format.columns import (
    Columns,
    ParquetColumns,
    StackedColumns,
    columns_of_rows,
    distinct_texts,
    rows_at,
)
from lineage_merge.graph_format.schema import Row, edge_ddl, node_ddl
from lineage_merge.history import layout, merge_index
from lineage_merge.history.entry_files import missing_files, read_columns
from lineage_merge.history.layout import ENTRY_KINDS, DagScope, MergeName, format_time
from lineage_merge.history.merge_record import MergeRecord
from lineage_merge.history.moments import Moment
from lineage_merge.infra import storage
from lineage_merge.infra.arrow_tables import position_array, positions_of, text_array
from lineage_merge.load.element_rows import dataset_of_node, rename_edge
from lineage_merge.model.errors import NotFound


class ScopedMerge(NamedTuple):
    """A merge of an environment and DAG."""

    scope: DagScope
    record: MergeRecord

    def __str__(self) -> str:
        environment, dag_name = self.scope
        name = self.record.name
        return f"{dag_name} in {environment}: merge {name.id} of {format_time(name.time)}"

    def as_json(self) -> dict[str, Any]:
        """Return a JSON object for scripts."""
        return {
            "environment": self.scope.environment,
            "dag": self.scope.dag_name,
            "merge": self.record.id,
            "time": format_time(self.record.name.time),
        }


def merges_until(location: str, moment: Moment, environment: str | None = None) -> list[ScopedMerge]:
    """Return the newest merge of each DAG that is not younger, oldest first. Raises `NotFound`."""
    scopes = merge_index.scopes(location, environment)
    if not scopes:
        where = f" of {environment}" if environment else ""
        known = merge_index.environments(location) if environment else []
        raise NotFound(
            f"{storage.redact_location(location)}: no history{where}" + ("; it has:" if known else ""),
            tuple(known),
        )
    time = _time_of(location, scopes, moment)
    newest = merge_index.newest_until(location, scopes, time)
    scoped_merges = [ScopedMerge(scope, merge) for scope, merge in zip(scopes, newest, strict=True) if merge]
    if not scoped_merges:
        first = min((name[0].time for name in merge_index.merge_names(location, scopes) if name), default=0)
        raise NotFound(f"no merge until {moment}; the history begins at {format_time(first)}")
    return sorted(scoped_merges, key=lambda merge: merge.record.name)


def _time_of(location: str, scopes: Sequence[DagScope], moment: Moment) -> int:
    """Return the time of a moment, looked up if it is a merge."""
    if not moment.merge:
        return moment.time
    matching = {
        name
        for names in merge_index.merge_names(location, scopes)
        for name in names
        if name.id.startswith(moment.merge)
    }
    if len(matching) != 1:
        problem = "several merges begin with" if matching else "unknown merge:"
        raise NotFound(f"{problem} {moment.merge}", tuple(sorted(map(str, matching))))
    return matching.pop().time


class Picture(NamedTuple):
    """The lineage of a moment as columns of nodes and edges, of which none is read before it is needed."""

    nodes: Columns
    edges: Columns


def picture_of(location: str, merges: Sequence[ScopedMerge]) -> Picture:
    """Return the lineage of these merges, of one per DAG."""
    moves = {
        environment: moves_of(location, environment, merges)
        for environment in {merge.scope.environment for merge in merges}
    }
    entries: list[tuple[DagScope, Picture]] = []
    for scope, record in sorted(merges, key=precedence):
        entry = entry_columns(location, scope, record)
        for name, ids in moves[scope.environment]:
            if record.entry and name > record.entry:
                entry = rename_entry(entry, ids, scope)
        entries.append((scope, entry))
    return stack_entries(entries)


def stack_entries(entries: Sequence[tuple[DagScope, Picture]]) -> Picture:
    """Return the lineage of entries, by precedence: of nodes with the same id the last."""
    nodes = combine_nodes([(scope, entry.nodes) for scope, entry in entries])
    constants = [{"environment": scope.environment, "dag_name": scope.dag_name} for scope, _ in entries]
    return Picture(nodes, StackedColumns([entry.edges for _, entry in entries], constants=constants))


def combine_nodes(entries: Sequence[tuple[DagScope, Columns]]) -> Columns:
    """Return the nodes of several DAGs: of rows with the same id the last, `dag_name` is the set of all."""
    import pyarrow as pa

    constants = [{"environment": scope.environment, "dag_name": scope.dag_name} for scope, _ in entries]
    stacked = StackedColumns([nodes for _, nodes in entries], constants=constants)
    ids = stacked.column("id")
    if len(entries) < 2 or ids is None:
        return stacked
    dag_names = stacked.column("dag_name").dictionary_decode()
    rows = pa.Table.from_arrays([ids, dag_names, position_array(range(len(ids)))], ["id", "dag", "row"])
    groups = rows.group_by("id", use_threads=False).aggregate([("row", "max"), ("dag", "list")])
    dags = groups["dag_list"].combine_chunks()
    return StackedColumns([stacked], groups["row_max"].combine_chunks(), replaced={"dag_name": dags})


def moves_of(
    location: str, environment: str, merges: Sequence[ScopedMerge]
) -> list[tuple[MergeName, dict[str, str]]]:
    """Return the ids that merges of an environment replaced since the oldest entry, oldest first."""
    own = [merge.record for merge in merges if merge.scope.environment == environment and merge.record.entry]
    if len(own) < 2:  # the entry of a DAG has the ids that it moved itself
        return []
    oldest = min(record.entry for record in own if record.entry)
    return merge_index.read_moves(location, environment, oldest, max(record.name for record in own))


def precedence(merge: ScopedMerge) -> tuple[int, int]:
    """Return the order of entries: by the time of their nodes, then of their merges."""
    record = merge.record
    return (record.entry.time if record.entry else 0, record.name.time)


class EntryFiles(NamedTuple):
    """The files of an entry. `runs`: nodes that replace those with the same ids; None: no."""

    nodes: ParquetColumns
    edges: ParquetColumns
    runs: ParquetColumns | None


def open_entry(location: str, scope: DagScope, record: MergeRecord) -> EntryFiles:
    """Open the files of a merge that has an entry. Raises `IntermediateError` if some are missing."""
    entry = record.entry or record.name
    nodes_folder, edges_folder = (layout.entry_folder(location, kind, scope, entry) for kind in ENTRY_KINDS)
    nodes, edges = read_columns(nodes_folder), read_columns(edges_folder)
    for folder, read, stored in (
        (nodes_folder, nodes.num_rows, record.vertices),
        (edges_folder, edges.num_rows, record.edges),
    ):
        if read != stored:
            raise missing_files(folder, f"{read:,} of {stored:,} rows")
    if not record.runs:
        return EntryFiles(nodes, edges, None)
    return EntryFiles(nodes, edges, read_columns(layout.entry_folder(location, "runs", scope, record.runs)))


def entry_columns(location: str, scope: DagScope, record: MergeRecord) -> Picture:
    """Return the nodes and the edges of a DAG after a merge, without `environment` and `dag_name`.

    Raises the errors of `open_entry`.
    """
    if record.entry is None:
        return Picture(StackedColumns([]), StackedColumns([]))
    return columns_of_files(open_entry(location, scope, record))


def columns_of_files(files: EntryFiles) -> Picture:
    """Return the nodes and the edges of an entry."""
    nodes, edges, runs = files
    return Picture(nodes if runs is None else _replace(nodes, runs), edges)


def _replace(nodes: Columns, newer: Columns, removed: Collection[str] = ()) -> Columns:
    """Return nodes with the rows of `newer` instead of those with the same ids, without `removed` ids."""
    import pyarrow as pa
    import pyarrow.compute as pc

    ids, new_ids = nodes.column("id"), newer.column("id")
    if ids is None:
        return newer
    is_replaced = pc.is_in(ids, value_set=text_array(removed))
    if new_ids is not None:
        is_replaced = pc.or_(is_replaced, pc.is_in(ids, value_set=new_ids))
    retained = pc.indices_nonzero(pc.invert(is_replaced)).cast(pa.int32())
    added = position_array(range(nodes.num_rows, nodes.num_rows + newer.num_rows))
    return StackedColumns([nodes, newer], pa.concat_arrays([retained, added]))


def rename_entry(entry: Picture, ids: Mapping[str, str], scope: DagScope) -> Picture:
    """Return an entry with the new ids of datasets; a node or edge that has a new id takes precedence.

    As in the graph, an edge between the two would become a loop, and is omitted.
    """
    nodes = _change(
        entry.nodes, _find_positions(entry.nodes, ("id",), ids), partial(_rename_node, ids), node_ddl()
    )
    moved = _find_positions(entry.edges, ("from", "to"), ids)
    edges = _change(entry.edges, moved, lambda edge: rename_edge(edge, ids, *scope), edge_ddl())
    return Picture(nodes, edges)


def _rename_node(ids: Mapping[str, str], node: Row) -> Row:
    dataset = dataset_of_node(node)
    return {**node, "id": ids.get(dataset, dataset) + node["id"][len(dataset) :]}


def _find_positions(columns: Columns, names: Sequence[str], datasets: Iterable[str]) -> Sequence[int]:
    """Return the positions of rows with one of these datasets, or a column of one, in one of the columns."""
    import pyarrow.compute as pc

    names_of_datasets = tuple(datasets)
    masks = []
    for name in names:
        column = columns.column(name)
        if column is None:
            return ()
        texts = distinct_texts(column)
        mask = pc.is_in(texts, value_set=text_array(names_of_datasets))
        for dataset in names_of_datasets:
            mask = pc.or_(mask, pc.starts_with(texts, f"{dataset}|"))
        masks.append(mask if texts is column else mask.take(column.indices))
    return positions_of(pc.indices_nonzero(reduce(pc.or_, masks)))


def _change(
    columns: Columns, positions: Sequence[int], change: Callable[[Row], Row | None], ddl: str
) -> Columns:
    """Return rows of which those at `positions` are changed (None: deleted); existing ids take precedence."""
    import pyarrow.compute as pc

    if not len(positions):
        return columns
    rows = rows_at(columns, positions)
    changed = {row["id"]: change(row) for row in rows}
    new = {row["id"]: row for old, row in changed.items() if row and row["id"] != old}
    removed = {old for old, row in changed.items() if not row or row["id"] != old}
    ids = columns.column("id")
    existing = set(ids.filter(pc.is_in(ids, value_set=text_array(new))).to_pylist())
    added = [row for key, row in new.items() if key not in existing]
    return _replace(columns, columns_of_rows(added, ddl), removed)
