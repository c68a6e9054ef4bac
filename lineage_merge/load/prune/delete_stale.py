"""Deletes from the graph what `load.prune.plan` planned."""

from collections.abc import Iterable, Iterator
from functools import partial
from typing import Any

from gremlin_python.process.graph_traversal import GraphTraversal, GraphTraversalSource, __
from gremlin_python.process.traversal import Cardinality, P

from lineage_merge.graph_format.schema import EDGE_LABEL_NAMES
from lineage_merge.load.gremlin.connection import Endpoint
from lineage_merge.load.gremlin.executor import by_request, open_executor
from lineage_merge.load.prune.plan import Deletions


def take_out(deletions: Deletions, endpoint: Endpoint, run: str, token: str, dag_name: str) -> None:
    """Take the edges out, then the tags of vertices that others need, then those that nobody needs.

    Only while `token` is on the `run` vertex (`load.merge_run`): a merge of the same DAG that has
    begun since compares with the graph by itself.
    """

    # One partition each: every request touches the run's vertex, so several would only conflict.
    if deletions.edge_count:
        dropping = partial(dropping_edges, run=run, token=token)
        deletions.edges.repartition(1).map_partitions(partial(_in_batches, endpoint, dropping)).collect()
    if deletions.vertex_count:
        # A vertex keeps the last of its tags until it is dropped: a load that is killed, or that leaves it in
        # the same moment as another DAG, leaves none behind that no load would find again. The second time is
        # for those that another DAG came to need in between.
        asks = [
            partial(ask, run=run, token=token, dag_name=dag_name)
            for ask in (removing_tags, dropping_vertices, removing_tags)
        ]
        deletions.vertices.repartition(1).map_partitions(partial(_each_in_batches, endpoint, asks)).collect()


def _each_in_batches(endpoint: Endpoint, asks: list[Any], ids: Iterable[str]) -> Iterator[int]:
    vertices = list(ids)
    for ask in asks:
        yield from _in_batches(endpoint, ask, vertices)


def _in_batches(endpoint: Endpoint, ask: Any, ids: Iterable[str]) -> Iterator[int]:
    with open_executor(endpoint) as tell:
        for some in by_request(ids):
            tell(partial(ask, ids=some))
            yield len(some)


def _ours(g: GraphTraversalSource, run: str, token: str) -> GraphTraversal:
    """Goes on only while the token is there; that it is written makes two such requests conflict."""
    return g.V(run).has("loading", token).property(Cardinality.single, "loading", token)


def dropping_edges(g: GraphTraversalSource, run: str, token: str, ids: list[str]) -> GraphTraversal:
    """Take edges out."""
    return _ours(g, run, token).E(*ids).drop()


def dropping_vertices(
    g: GraphTraversalSource, run: str, token: str, ids: list[str], dag_name: str
) -> GraphTraversal:
    """Take out those vertices that no other DAG and no edge needs, as the graph is now."""
    others = __.values("dag_name").is_(P.neq(dag_name))
    return _ours(g, run, token).V(*ids).not_(others).not_(__.both_e()).drop()


def removing_tags(
    g: GraphTraversalSource, run: str, token: str, ids: list[str], dag_name: str
) -> GraphTraversal:
    """Take the DAG's tag from vertices that others need and none of its edges touches, as it is now."""
    touched = __.both_e(*EDGE_LABEL_NAMES).has("dag_name", dag_name)
    needed = __.or_(__.values("dag_name").is_(P.neq(dag_name)), __.both_e())
    left = _ours(g, run, token).V(*ids).not_(touched).where(needed)
    return left.properties("dag_name").has_value(dag_name).drop()
