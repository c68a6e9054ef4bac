"""Taking out of the graph what `load.retire.find` found to be gone."""

from collections.abc import Iterable
from functools import partial
from typing import Any

from gremlin_python.process.graph_traversal import GraphTraversal, GraphTraversalSource, __
from gremlin_python.process.traversal import Cardinality, P

from lineage_merge.load.connection import Endpoint
from lineage_merge.load.retire.find import Gone
from lineage_merge.load.sending import asking, by_request


def take_out(gone: Gone, endpoint: Endpoint, run: str, token: str, dag_name: str) -> None:
    """Take the edges out, then the tags of vertices that others need, then those that nobody needs.

    Only while `token` is on the `run` vertex (`load.summary`): a merge of the same DAG that has
    begun since compares with the graph by itself.
    """

    def edges(rows: Iterable[Any]) -> Iterable[int]:
        ids = (row.id for row in rows)
        yield _in_batches(endpoint, ids, lambda g, ids: dropping_edges(g, run, token, ids))

    def vertices(rows: Iterable[Any]) -> Iterable[int]:
        ids = [row.id for row in rows]
        # A vertex keeps the last of its tags until it goes: who is killed, or leaves it in the same moment
        # as another DAG, leaves none behind that nobody would find again. The second time is for those
        # that another DAG came to need in between.
        for ask in (removing_tags, dropping_vertices, removing_tags):
            leaving = partial(ask, run=run, token=token, dag_name=dag_name)
            yield _in_batches(endpoint, ids, leaving)

    # One task each: every request touches the run's vertex, so several would only conflict.
    if gone.edge_count:
        gone.edges.select("id").coalesce(1).rdd.mapPartitions(edges).collect()
    if gone.vertex_count:
        gone.vertices.select("id").coalesce(1).rdd.mapPartitions(vertices).collect()


def _in_batches(endpoint: Endpoint, ids: Iterable[str], ask: Any) -> int:
    count = 0
    with asking(endpoint) as tell:
        for some in by_request(ids):
            tell(partial(ask, ids=some))
            count += len(some)
    return count


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
    touched = __.both_e().has("dag_name", dag_name)
    needed = __.or_(__.values("dag_name").is_(P.neq(dag_name)), __.both_e())
    left = _ours(g, run, token).V(*ids).not_(touched).where(needed)
    return left.properties("dag_name").has_value(dag_name).drop()
