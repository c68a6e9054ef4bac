"""Deletes stale elements (`load.prune.plan`) from the graph."""

from collections.abc import Iterable, Iterator
from functools import partial
from typing import Any

from gremlin_python.process.graph_traversal import GraphTraversal, GraphTraversalSource, __
from gremlin_python.process.traversal import Cardinality, P

from lineage_merge.graph_format.schema import EDGE_LABEL_NAMES
from lineage_merge.load.gremlin.connection import Endpoint
from lineage_merge.load.gremlin.executor import by_request, open_executor
from lineage_merge.load.prune.plan import Deletions


def delete_stale(deletions: Deletions, endpoint: Endpoint, run: str, token: str, dag_name: str) -> None:
    """Drop the edges, then the tags of vertices that are still needed, then the unneeded vertices.

    Only has an effect while `token` is on the `run` vertex (`load.merge_run`): a merge of the same DAG that
    has started since makes its own comparison.
    """

    # One partition each: every request writes to the run's vertex, so concurrent ones would conflict.
    if deletions.edge_count:
        build = partial(drop_edges, run=run, token=token)
        deletions.edges.repartition(1).map_partitions(partial(_in_batches, endpoint, build)).collect()
    if deletions.vertex_count:
        # A vertex keeps its last tag until it is dropped. Otherwise a load that is killed, or that runs
        # concurrently with another DAG's, could leave a vertex without a tag, which no load would find again.
        # The second `drop_tags` is for vertices that another DAG has started to use in between.
        builders = [
            partial(builder, run=run, token=token, dag_name=dag_name)
            for builder in (drop_tags, drop_vertices, drop_tags)
        ]
        deletions.vertices.repartition(1).map_partitions(
            partial(_each_in_batches, endpoint, builders)
        ).collect()


def _each_in_batches(endpoint: Endpoint, builders: list[Any], ids: Iterable[str]) -> Iterator[int]:
    vertices = list(ids)
    for build in builders:
        yield from _in_batches(endpoint, build, vertices)


def _in_batches(endpoint: Endpoint, build: Any, ids: Iterable[str]) -> Iterator[int]:
    with open_executor(endpoint) as execute:
        for batch in by_request(ids):
            execute(partial(build, ids=batch))
            yield len(batch)


def _if_token_matches(g: GraphTraversalSource, run: str, token: str) -> GraphTraversal:
    """Continue only if the token is unchanged; writing it again makes concurrent requests conflict."""
    return g.V(run).has("load_token", token).property(Cardinality.single, "load_token", token)


def drop_edges(g: GraphTraversalSource, run: str, token: str, ids: list[str]) -> GraphTraversal:
    """Drop edges."""
    return _if_token_matches(g, run, token).E(*ids).drop()


def drop_vertices(
    g: GraphTraversalSource, run: str, token: str, ids: list[str], dag_name: str
) -> GraphTraversal:
    """Drop the vertices that have no edges and no tags of other DAGs now."""
    others = __.values("dag_name").is_(P.neq(dag_name))
    return _if_token_matches(g, run, token).V(*ids).not_(others).not_(__.both_e()).drop()


def drop_tags(g: GraphTraversalSource, run: str, token: str, ids: list[str], dag_name: str) -> GraphTraversal:
    """Drop the DAG's tag of vertices that are still needed but have no edges of the DAG now."""
    touched = __.both_e(*EDGE_LABEL_NAMES).has("dag_name", dag_name)
    needed = __.or_(__.values("dag_name").is_(P.neq(dag_name)), __.both_e())
    untagged = _if_token_matches(g, run, token).V(*ids).not_(touched).where(needed)
    return untagged.properties("dag_name").has_value(dag_name).drop()
