"""Merges two vertices of one dataset: moves tags, edges and columns from the duplicate to the canonical one.

Everything is copied before anything is deleted, so that an interrupted move can be repeated.
"""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import partial

from gremlin_python.process.graph_traversal import GraphTraversal, GraphTraversalSource, __
from gremlin_python.process.traversal import P

from lineage_merge.graph_format.schema import one_label
from lineage_merge.load.element_rows import job_of
from lineage_merge.load.gremlin import upserts
from lineage_merge.load.gremlin.connection import Endpoint
from lineage_merge.load.gremlin.element_reads import VertexSnapshot, take_snapshot
from lineage_merge.load.gremlin.executor import GremlinExecutor, open_executor, send
from lineage_merge.load.gremlin.upserts import EdgeUpsert, Upsert
from lineage_merge.load.resolve_names import NOT_MOVED
from lineage_merge.model.elements import edge_id
from lineage_merge.model.errors import GraphRejected

_ATTEMPTS = 5


def move(endpoint: Endpoint, pairs: Iterable[tuple[str, str]]) -> int:
    """Move (duplicate, canonical) pairs of vertex ids; returns how many duplicates existed.

    The canonical vertices must be in the graph. Raises GraphUnreachable and GraphRejected.
    """
    moved = 0
    with open_executor(endpoint) as execute:
        for duplicate, canonical in pairs:
            moved += _move(endpoint, execute, duplicate, canonical)
    return moved


def drop_if_unchanged(
    g: GraphTraversalSource, vertex: str, edge_count: int, dags: list[str]
) -> GraphTraversal:
    """Drop a vertex, if it has no edges and tags besides the copied ones."""
    others = __.values("dag_name").is_(P.without(dags))
    return g.V(vertex).where(__.both_e().count().is_(edge_count)).not_(others).drop()


def _move(endpoint: Endpoint, execute: GremlinExecutor, duplicate: str, canonical: str) -> int:
    for attempt in range(_ATTEMPTS):
        snapshot = take_snapshot(execute, duplicate)
        if snapshot is None:
            return 1 if attempt else 0
        snapshots = [snapshot, *_columns_below(execute, snapshot)]
        new_ids = {each.id: canonical + each.id[len(duplicate) :] for each in snapshots}
        _copy(endpoint, execute, snapshots, new_ids)
        for each in reversed(snapshots):  # fields before their columns, the dataset last
            # Edges to what was dropped before are gone.
            edge_count = each.edge_count - len(_edges_below(each))
            execute(partial(drop_if_unchanged, vertex=each.id, edge_count=edge_count, dags=each.dags))
    if take_snapshot(execute, duplicate) is None:
        return 1
    raise GraphRejected(f"not moved to {canonical}, concurrent changes: {duplicate}")


def _columns_below(execute: GremlinExecutor, dataset: VertexSnapshot) -> Iterator[VertexSnapshot]:
    """Yield the columns of a dataset, and below them their fields."""
    waiting = [dataset]
    while waiting:
        vertex = waiting.pop(0)
        # Each DAG has its own edge to a column.
        ids = sorted({edge.to_id for edge in _edges_below(vertex)})
        found = [column for identifier in ids if (column := take_snapshot(execute, identifier))]
        yield from found
        waiting += found


def _edges_below(vertex: VertexSnapshot) -> list[EdgeUpsert]:
    """Return the edges to the columns of a dataset, or to the fields of a column."""
    return [
        edge
        for edge in vertex.edges
        if edge.label == "has_column" and edge.from_id == vertex.id and edge.to_id.startswith(f"{vertex.id}|")
    ]


def _copy(
    endpoint: Endpoint, execute: GremlinExecutor, snapshots: list[VertexSnapshot], new_ids: dict[str, str]
) -> None:
    def vertices() -> Iterator[Upsert]:
        for vertex_snapshot in snapshots:
            existing = take_snapshot(execute, new_ids[vertex_snapshot.id])
            known = frozenset(existing.values) if existing else frozenset()
            label = one_label(existing.label if existing else vertex_snapshot.label)
            identity = frozenset() if vertex_snapshot.label == "column" else NOT_MOVED
            yield vertex_snapshot.upsert(new_ids[vertex_snapshot.id], label, known | identity)

    edges = {edge.id: edge for vertex_snapshot in snapshots for edge in vertex_snapshot.edges}
    copies = (_copy_of(edge, new_ids) for edge in edges.values())
    # An edge between duplicate and canonical vertex would become a loop.
    without_loops = (edge for edge in copies if edge.from_id != edge.to_id)
    send(endpoint, upserts.batches(vertices()))
    send(endpoint, upserts.batches(without_loops))


def _copy_of(edge: EdgeUpsert, new_ids: dict[str, str]) -> EdgeUpsert:
    start, end = new_ids.get(edge.from_id, edge.from_id), new_ids.get(edge.to_id, edge.to_id)
    values = dict(edge.properties)
    identifier = edge_id(values["environment"], values["dag_name"], job_of(values), start, edge.label, end)
    return replace(edge, id=identifier, from_id=start, to_id=end)
