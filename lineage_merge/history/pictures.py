"""Lineage as of a moment, from the newest entry of each DAG that is not younger.

Vertices that several DAGs share: the newest entry that has a vertex takes precedence, because it was read
from the graph with the values that the loads of all DAGs until then had left. `dag_name` is the set of DAGs
whose entry has the vertex. A dataset that a later merge of another DAG moved to a new id is renamed in older
entries, as in the graph.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from lineage_merge.graph_format.elements import Subgraph, edge_of_row, vertex_of_row
from lineage_merge.graph_format.schema import Row
from lineage_merge.history import layout, merge_index
from lineage_merge.history.entry_files import missing_files, read_rows
from lineage_merge.history.layout import ENTRY_KINDS, DagScope, MergeName, shown_time
from lineage_merge.history.merge_record import MergeRecord
from lineage_merge.history.moments import Moment
from lineage_merge.infra import storage
from lineage_merge.load.element_rows import dataset_of_node, renamed_edge
from lineage_merge.model.errors import NotFound


class ScopedMerge(NamedTuple):
    """A merge of an environment and DAG."""

    scope: DagScope
    record: MergeRecord

    def __str__(self) -> str:
        environment, dag_name = self.scope
        name = self.record.name
        return f"{dag_name} in {environment}: merge {name.id} of {shown_time(name.time)}"

    def as_json(self) -> dict[str, Any]:
        """Return a JSON object for scripts."""
        return {
            "environment": self.scope.environment,
            "dag": self.scope.dag_name,
            "merge": self.record.id,
            "time": shown_time(self.record.name.time),
        }


def merges_until(location: str, moment: Moment, environment: str | None = None) -> list[ScopedMerge]:
    """Return the newest merge of each DAG that is not younger, oldest first. Raises `NotFound`."""
    scopes = merge_index.scopes(location, environment)
    if not scopes:
        where = f" of {environment}" if environment else ""
        known = merge_index.environments(location) if environment else []
        raise NotFound(
            f"{storage.shown(location)}: no history{where}" + ("; it has:" if known else ""), tuple(known)
        )
    time = _time_of(location, scopes, moment)
    newest = merge_index.newest_until(location, scopes, time)
    scoped_merges = [ScopedMerge(scope, each) for scope, each in zip(scopes, newest, strict=True) if each]
    if not scoped_merges:
        first = min((name[0].time for name in merge_index.merge_names(location, scopes) if name), default=0)
        raise NotFound(f"no merge until {moment}; the history begins at {shown_time(first)}")
    return sorted(scoped_merges, key=lambda merge: merge.record.name)


def _time_of(location: str, scopes: Sequence[DagScope], moment: Moment) -> int:
    """Return the time of a moment, looked up if it is a merge."""
    if not moment.merge:
        return moment.time
    found = {
        name
        for names in merge_index.merge_names(location, scopes)
        for name in names
        if name.id.startswith(moment.merge)
    }
    if len(found) != 1:
        problem = "several merges begin with" if found else "unknown merge:"
        raise NotFound(f"{problem} {moment.merge}", tuple(sorted(map(str, found))))
    return found.pop().time


def picture_of(location: str, merges: Sequence[ScopedMerge]) -> Subgraph:
    """Return the lineage of these merges, of one per DAG."""
    vertices: dict[str, Row] = {}
    dags: dict[str, set[str]] = {}
    edges: dict[str, Row] = {}
    moves = {
        environment: moves_of(location, environment, merges)
        for environment in {merge.scope.environment for merge in merges}
    }
    for scope, record in sorted(merges, key=_precedence):
        nodes, own_edges = entry_rows(location, scope, record)
        for name, ids in moves[scope.environment]:
            if record.entry and name > record.entry:
                nodes, own_edges = renamed(nodes, own_edges, ids, scope)
        for identifier, row in nodes.items():
            vertices[identifier] = {**row, "environment": scope.environment}
            dags.setdefault(identifier, set()).add(scope.dag_name)
        for edge in own_edges:
            edges[edge["id"]] = {**edge, "environment": scope.environment, "dag_name": scope.dag_name}
    by_id = {identifier: vertex_of_row(row, dags[identifier]) for identifier, row in vertices.items()}
    return Subgraph(by_id, tuple(map(edge_of_row, edges.values())))


def moves_of(
    location: str, environment: str, merges: Sequence[ScopedMerge]
) -> list[tuple[MergeName, dict[str, str]]]:
    """Return the ids that merges of an environment replaced since the oldest entry, oldest first."""
    own = [merge.record for merge in merges if merge.scope.environment == environment and merge.record.entry]
    if len(own) < 2:  # the entry of a DAG has the ids that it moved itself
        return []
    oldest = min(record.entry for record in own if record.entry)
    return merge_index.read_moves(location, environment, oldest, max(record.name for record in own))


def _precedence(merge: ScopedMerge) -> tuple[int, int]:
    """Return the order of entries: by the time of their nodes, then of their merges."""
    record = merge.record
    return (record.entry.time if record.entry else 0, record.name.time)


def entry_rows(location: str, scope: DagScope, record: MergeRecord) -> tuple[dict[str, Row], list[Row]]:
    """Return the nodes by id, and the edges, of a DAG after a merge.

    Raises `IntermediateError` if files of the entry are missing.
    """
    if record.entry is None:
        return {}, []
    nodes_folder, edges_folder = (
        layout.entry_folder(location, kind, scope, record.entry) for kind in ENTRY_KINDS
    )
    nodes = {row["id"]: row for row in read_rows(nodes_folder)}
    edges = [*read_rows(edges_folder)]
    for folder, found, stored in (
        (nodes_folder, len(nodes), record.vertices),
        (edges_folder, len(edges), record.edges),
    ):
        if found != stored:
            raise missing_files(folder, f"{found:,} of {stored:,} rows")
    if record.runs:
        for row in read_rows(layout.entry_folder(location, "runs", scope, record.runs)):
            nodes[row["id"]] = row
    return nodes, edges


def renamed(
    nodes: Mapping[str, Row], edges: Iterable[Row], ids: Mapping[str, str], scope: DagScope
) -> tuple[dict[str, Row], list[Row]]:
    """Return nodes by id, and edges, with the new ids of datasets; a node of the new id takes precedence."""
    moved: dict[str, Row] = {}
    for identifier, row in nodes.items():
        dataset = dataset_of_node(row)
        new = ids.get(dataset, dataset) + identifier[len(dataset) :]
        if new == identifier or new not in nodes:
            moved[new] = {**row, "id": new}
    # As in the graph: an edge between the two would become a loop.
    return moved, [each for edge in edges if (each := renamed_edge(edge, ids, *scope))]
