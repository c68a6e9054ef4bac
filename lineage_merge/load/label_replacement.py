"""A vertex whose label changed is replaced: a label cannot change in Gremlin.

One request takes the vertex out and puts it back under its new label, with the tags and edges
of every DAG. It does so only if the vertex is still as it was when it was read; otherwise it is
read again. Neptune does not document whether `mergeV` sees what was dropped in the same request, so the
vertex is read back, and created from what was read before where it is missing.
"""

from collections.abc import Iterable
from functools import partial
from typing import Any

from gremlin_python.process.graph_traversal import GraphTraversal, GraphTraversalSource, __
from gremlin_python.process.traversal import Cardinality, Direction, Merge, T

from lineage_merge.graph_format.labels import labels_of
from lineage_merge.load.gremlin import upserts
from lineage_merge.load.gremlin.connection import Endpoint
from lineage_merge.load.gremlin.element_reads import INTERIM
from lineage_merge.load.gremlin.error_classification import ErrorKind
from lineage_merge.load.gremlin.executor import Conflict, GremlinExecutor, by_request, open_executor, send
from lineage_merge.load.gremlin.retry_policy import pause
from lineage_merge.load.snapshot import Edge, Snapshot, take
from lineage_merge.model.errors import GraphRejected

_ATTEMPTS = 10
# Of text in one request; a server takes 10 MiB. Edges beyond that follow in requests of their own.
_CHARACTERS = 4_000_000


def replace_labels(endpoint: Endpoint, changes: Iterable[tuple[str, str, str]]) -> int:
    """Give vertices (id, old label, new label) their new labels; how many there were.

    Raises GraphUnreachable and GraphRejected.
    """
    replaced = 0
    with open_executor(endpoint) as ask:
        for vertex, old, new in changes:
            replaced += _replace(endpoint, ask, vertex, old, new)
    return replaced


def replacing(
    g: GraphTraversalSource, old: Snapshot, label: str, edges: list[Edge], suffix: str = ""
) -> GraphTraversal:
    """The request: nothing happens, and nothing comes back, unless the vertex is as it was."""
    fresh = old.upsert(old.id, label)
    request = g.V(old.id)
    for each in labels_of(old.label):
        request = request.has_label(each)
    request = (
        request.where(__.both_e().count().is_(old.edge_count))
        .side_effect(__.drop())
        .merge_v({T.id: old.id})
        .option(Merge.on_create, {T.id: old.id, T.label: label})
    )
    for key, value in fresh.single:
        request = request.property(Cardinality.single, key, value)
    for key, value in fresh.sets:
        request = request.property(Cardinality.set_, key, value)
    if edges:
        request = request.constant([_as_map(edge, suffix) for edge in edges]).unfold().merge_e()
    return request.count()


def _as_map(edge: Edge, suffix: str) -> dict[Any, Any]:
    ends = {Direction.OUT: edge.from_id, Direction.IN: edge.to_id}
    return {T.id: edge.id + suffix, T.label: edge.label, **ends, **upserts.typed(edge.properties)}


def _replace(endpoint: Endpoint, ask: GremlinExecutor, vertex: str, old_label: str, label: str) -> int:
    suffix = ""
    sent: Snapshot | None = None
    together: list[Edge] = []
    after: list[Edge] = []
    for attempt in range(1, _ATTEMPTS + 1):
        held = take(ask, vertex)
        if held is None and sent:
            _restore(endpoint, sent, label)
            return 1
        if held is None or held.label not in (old_label, label):
            return 0  # another merge was here
        if held.label == label:
            # So was another merge, or this one, and the answer was lost.
            _finish(endpoint, ask, together, after, suffix)
            return int(attempt > 1)
        together, after = _split(held.edges)
        try:
            done = ask.once(partial(replacing, old=held, label=label, edges=together, suffix=suffix))
        except Conflict:
            # Either another writer, or a graph (TinkerTransactionGraph) in which an id that was
            # dropped cannot be used again in the same request: then interim ids help.
            if suffix:
                pause(ErrorKind.CONFLICT, attempt)
            suffix, together, after = "" if suffix else INTERIM, [], []
            continue
        # An answer may have been lost: the vertex may be dropped although none came back.
        sent = held
        if done[0] and (found := take(ask, vertex)) and found.label == label:
            _finish(endpoint, ask, together, after, suffix)
            return 1
    raise GraphRejected(f"{vertex}: its label did not become {label}: others kept writing to it")


def _restore(endpoint: Endpoint, dropped: Snapshot, label: str) -> None:
    """Create a vertex that was dropped, and not created again, with all its edges."""
    send(endpoint, upserts.batches([dropped.upsert(dropped.id, label)]))
    send(endpoint, upserts.batches(edge.upsert() for edge in dropped.edges))


def _finish(
    endpoint: Endpoint, ask: GremlinExecutor, together: list[Edge], after: list[Edge], suffix: str
) -> None:
    if suffix and together:
        settle_interim(endpoint, ask, together)
    send(endpoint, upserts.batches(edge.upsert() for edge in after))


def settle_interim(endpoint: Endpoint, ask: GremlinExecutor, edges: list[Edge]) -> None:
    """Give edges that were made under an interim id their own."""
    send(endpoint, upserts.batches(edge.upsert() for edge in edges))
    ids = [edge.id + INTERIM for edge in edges]
    for some in by_request(ids):
        ask(partial(dropping_edges, ids=some))


def dropping_edges(g: GraphTraversalSource, ids: list[str]) -> GraphTraversal:
    """Take edges out."""
    return g.E(*ids).drop()


def _split(edges: tuple[Edge, ...]) -> tuple[list[Edge], list[Edge]]:
    """The edges that fit into the request, and the others."""
    together: list[Edge] = []
    room = _CHARACTERS
    for number, edge in enumerate(edges):
        room -= edge.upsert().characters
        if room < 0:
            return together, list(edges[number:])
        together.append(edge)
    return together, []
