"""A vertex whose label changed is replaced: a label cannot change in Gremlin.

One request takes the vertex out and puts it back under its new label, with the tags and edges
of every DAG. It does so only if the vertex is still as it was when it was read; otherwise it is
read again.
"""

from collections.abc import Iterable
from functools import partial
from typing import Any

from gremlin_python.process.graph_traversal import GraphTraversal, GraphTraversalSource, __
from gremlin_python.process.traversal import Cardinality, Direction, Merge, T

from lineage_merge.errors import GraphRejected
from lineage_merge.load import requests
from lineage_merge.load.connection import Endpoint, GraphConflict, connect, translated_errors
from lineage_merge.load.existing import IDS_A_REQUEST, INTERIM
from lineage_merge.load.sending import send
from lineage_merge.load.snapshot import Ask, Edge, Snapshot, asker, take

_ATTEMPTS = 10
# Of text in one request; a server takes 10 MiB. Edges beyond that follow in requests of their own.
_CHARACTERS = 4_000_000


def replace_labels(endpoint: Endpoint, changes: Iterable[tuple[str, str, str]]) -> int:
    """Give vertices (id, old label, new label) their new labels; how many there were.

    Raises GraphUnreachable and GraphRejected.
    """
    replaced = 0
    with connect(endpoint) as g:
        ask = asker(endpoint, g)
        for vertex, old, new in changes:
            replaced += _replace(endpoint, g, ask, vertex, old, new)
    return replaced


def replacing(
    g: GraphTraversalSource, old: Snapshot, label: str, edges: list[Edge], suffix: str = ""
) -> GraphTraversal:
    """The request: nothing happens, and nothing comes back, unless the vertex is as it was."""
    fresh = old.upsert(old.id, label)
    request = (
        g.V(old.id)
        .has_label(old.label)
        .where(__.both_e().count().is_(old.edge_count))
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
    return {T.id: edge.id + suffix, T.label: edge.label, **ends, **requests.typed(edge.properties)}


def _replace(
    endpoint: Endpoint, g: GraphTraversalSource, ask: Ask, vertex: str, old_label: str, label: str
) -> int:
    suffix = ""
    for _ in range(_ATTEMPTS):
        held = take(ask, vertex)
        if held is None or held.label != old_label:
            return 0  # another merge was here
        together, after = _split(held.edges)
        try:
            with translated_errors(endpoint):
                done = replacing(g, held, label, together, suffix).next()
        except GraphConflict:
            # Either another writer, or a graph (TinkerTransactionGraph) in which an id that was
            # dropped cannot be used again in the same request: then interim ids help.
            suffix = "" if suffix else INTERIM
            continue
        if done:
            if suffix:
                settle_interim(endpoint, ask, together)
            send(endpoint, requests.batches(edge.upsert() for edge in after))
            return 1
    raise GraphRejected(f"{vertex}: its label did not become {label}: others kept writing to it")


def settle_interim(endpoint: Endpoint, ask: Ask, edges: list[Edge]) -> None:
    """Give edges that were made under an interim id their own."""
    send(endpoint, requests.batches(edge.upsert() for edge in edges))
    ids = [edge.id + INTERIM for edge in edges]
    for start in range(0, len(ids), IDS_A_REQUEST):
        some = ids[start : start + IDS_A_REQUEST]
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
