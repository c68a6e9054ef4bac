"""Replaces vertices whose label changed, because Gremlin cannot change a label.

One request drops the vertex and creates it again with its new label and with the tags and edges of all DAGs.
It only does so if the vertex is unchanged since it was read; otherwise it is read again. Neptune does not
document whether `mergeV` sees a drop in the same request, so the vertex is read back, and recreated from the
snapshot if it is missing.
"""

from collections.abc import Iterable
from functools import partial
from typing import Any

from gremlin_python.process.graph_traversal import GraphTraversal, GraphTraversalSource, __
from gremlin_python.process.traversal import Cardinality, Direction, Merge, T, TextP

from lineage_merge.infra.engine.rows import Rows
from lineage_merge.infra.traversal_source import project_edges
from lineage_merge.load.graph_state import INTERIM
from lineage_merge.load.gremlin import upserts
from lineage_merge.load.gremlin.connection import Endpoint
from lineage_merge.load.gremlin.element_reads import (
    VertexSnapshot,
    missing_edge,
    take_snapshot,
    vertex_ids,
    with_label,
)
from lineage_merge.load.gremlin.error_classification import ErrorKind, backoff
from lineage_merge.load.gremlin.executor import (
    Conflict,
    GremlinExecutor,
    open_executor,
    send,
    split_by_request,
)
from lineage_merge.load.gremlin.upserts import EdgeUpsert
from lineage_merge.model.errors import GraphRejected

_ATTEMPTS = 10
# Maximum characters per request; a server accepts 10 MiB. Further edges follow in separate requests.
_MAX_CHARACTERS = 4_000_000


def replace_labels(endpoint: Endpoint, changes: Iterable[tuple[str, str, str]]) -> int:
    """Replace the labels of vertices (id, old label, new label); returns how many existed.

    Raises GraphUnreachable and GraphRejected.
    """
    replaced = 0
    with open_executor(endpoint) as execute:
        for vertex, old, new in changes:
            replaced += _replace(endpoint, execute, vertex, old, new)
    return replaced


def replace_vertex(
    g: GraphTraversalSource, old: VertexSnapshot, label: str, edges: list[EdgeUpsert], suffix: str = ""
) -> GraphTraversal:
    """Replace a vertex by one with a new label; no effect and no result if it changed since the snapshot."""
    upsert = old.upsert(old.id, label)
    request = with_label(g.V(old.id), old.label)
    request = (
        request.where(__.both_e().count().is_(old.edge_count))
        .side_effect(__.drop())
        .merge_v({T.id: old.id})
        .option(Merge.on_create, {T.id: old.id, T.label: label})
    )
    for key, value in upsert.single:
        request = request.property(Cardinality.single, key, value)
    for key, value in upsert.sets:
        request = request.property(Cardinality.set_, key, value)
    if edges:
        request = request.constant([_merge_map(edge, suffix) for edge in edges]).unfold().merge_e()
    return request.count()


def _merge_map(edge: EdgeUpsert, suffix: str) -> dict[Any, Any]:
    ends = {Direction.OUT: edge.from_id, Direction.IN: edge.to_id}
    return {T.id: edge.id + suffix, T.label: edge.label, **ends, **dict(edge.properties)}


def _replace(endpoint: Endpoint, execute: GremlinExecutor, vertex: str, old_label: str, label: str) -> int:
    suffix = ""
    sent: VertexSnapshot | None = None
    together: list[EdgeUpsert] = []
    after: list[EdgeUpsert] = []
    for attempt in range(1, _ATTEMPTS + 1):
        current = take_snapshot(execute, vertex)
        if current is None and sent:
            # It was dropped: recreate it with all its edges.
            send(endpoint, upserts.batches([sent.upsert(sent.id, label)]))
            send(endpoint, upserts.batches(sent.edges))
            return 1
        if current is None or current.label not in (old_label, label):
            return 0  # changed by another merge
        if current.label == label:
            # Replaced by another merge, or by this one and the response was lost.
            _finish(endpoint, execute, together, after, suffix)
            return int(attempt > 1)
        together, after = _split(current.edges)
        try:
            done = execute.once(
                partial(replace_vertex, old=current, label=label, edges=together, suffix=suffix)
            )
        except Conflict:
            # Either another writer, or a graph (TinkerTransactionGraph) that cannot reuse a dropped id in the
            # same request: then interim ids help.
            if suffix:
                backoff(ErrorKind.CONFLICT, attempt)
            suffix, together, after = "" if suffix else INTERIM, [], []
            continue
        # The vertex may be dropped although the response was lost.
        sent = current
        if done[0] and (snapshot := take_snapshot(execute, vertex)) and snapshot.label == label:
            _finish(endpoint, execute, together, after, suffix)
            return 1
    raise GraphRejected(f"label not changed to {label}, concurrent changes: {vertex}")


def _finish(
    endpoint: Endpoint,
    execute: GremlinExecutor,
    together: list[EdgeUpsert],
    after: list[EdgeUpsert],
    suffix: str,
) -> None:
    if suffix and together:
        replace_interim_edges(endpoint, execute, together)
    send(endpoint, upserts.batches(after))


def replace_interim_edges(endpoint: Endpoint, execute: GremlinExecutor, edges: list[EdgeUpsert]) -> None:
    """Create edges with their final ids and drop those with interim ids."""
    send(endpoint, upserts.batches(edges))
    execute.run_in_batches(drop_edges, [edge.id + INTERIM for edge in edges])


def drop_edges(g: GraphTraversalSource, ids: list[str]) -> GraphTraversal:
    """Drop edges."""
    return g.E(*ids).drop()


def _split(edges: tuple[EdgeUpsert, ...]) -> tuple[list[EdgeUpsert], list[EdgeUpsert]]:
    """Return the edges that fit into the request, and the others."""
    together: list[EdgeUpsert] = []
    remaining = _MAX_CHARACTERS
    for number, edge in enumerate(edges):
        remaining -= edge.characters
        if remaining < 0:
            return together, list(edges[number:])
        together.append(edge)
    return together, []


def repair_interim_edges(ids: Rows[str], endpoint: Endpoint, environment: str, dag_name: str) -> None:
    """Replace interim ids of the edges at vertices of these ids or of the DAG.

    Reads all of these vertices' edges, so it only runs if the last load did not end. Raises GraphUnreachable
    and GraphRejected, from the engine's workers.
    """
    repair = partial(_repair, endpoint)
    vertex_ids(ids, endpoint, environment, dag_name).map_partitions(repair).collect()


def _repair(endpoint: Endpoint, ids: Iterable[str]) -> Iterable[int]:
    with open_executor(endpoint) as execute:
        for batch in split_by_request(ids):
            # Both ends of an edge may be in the batch.
            interim = {edge["id"]: edge for edge in execute(partial(interim_edges, ids=batch))}
            if interim:
                replace_interim_edges(endpoint, execute, [missing_edge(edge) for edge in interim.values()])
    return ()


def interim_edges(g: GraphTraversalSource, ids: list[str]) -> GraphTraversal:
    """Return the edges with interim ids at these vertices, of all DAGs."""
    return project_edges(g.V(*ids).both_e().has_id(TextP.ending_with(INTERIM)))
