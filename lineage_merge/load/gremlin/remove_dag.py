"""Removes a DAG, or one of its jobs, from the graph.

Works in small requests that each find the remaining elements: memory use does not grow with the graph, and an
interrupted removal can be repeated.
"""

from functools import partial

from gremlin_python.process.graph_traversal import GraphTraversal, GraphTraversalSource, __
from gremlin_python.process.traversal import P, T

from lineage_merge.graph_format.schema import EDGE_LABEL_NAMES
from lineage_merge.load.gremlin.connection import Endpoint
from lineage_merge.load.gremlin.executor import (
    IDS_PER_REQUEST,
    GremlinExecutor,
    open_executor,
    split_by_request,
)
from lineage_merge.load.gremlin.label_replacement import drop_edges
from lineage_merge.load.gremlin.merge_state import drop_shards, shard_ids
from lineage_merge.load.merge_run import run_id
from lineage_merge.load.result import Pipeline, Removed
from lineage_merge.load.shard_state import RunState
from lineage_merge.model.elements import dataset_of

_IDLE_ROUNDS = 50


def remove(endpoint: Endpoint, pipeline: Pipeline, *, dry_run: bool = False) -> Removed:
    """Remove a pipeline; with `dry_run` only count. Raises GraphUnreachable and GraphRejected."""
    with open_executor(endpoint) as execute:
        if dry_run:
            return _count(execute, pipeline)
        return _remove_job(execute, pipeline) if pipeline.job else _remove_dag(execute, pipeline)


def edges_of(g: GraphTraversalSource, pipeline: Pipeline) -> GraphTraversal:
    """Return the edges of the pipeline."""
    edges = g.E().has("dag_name", pipeline.dag_name).has("environment", pipeline.environment)
    return edges.has("job_name", pipeline.job) if pipeline.job else edges


def vertices_of(g: GraphTraversalSource, pipeline: Pipeline) -> GraphTraversal:
    """Return the vertices with the DAG's tag."""
    return g.V().has("dag_name", pipeline.dag_name).has("environment", pipeline.environment)


def own_vertices_of(g: GraphTraversalSource, pipeline: Pipeline) -> GraphTraversal:
    """Return the vertices of the job, its operations and its assertions."""
    jobs = __.has_label("job").has("name", pipeline.job)
    others = __.has_label("operation", "assertion").has("job_name", pipeline.job)
    return vertices_of(g, pipeline).where(__.or_(jobs, others))


def select_unused_vertices(g: GraphTraversalSource, ids: list[str], dag_name: str) -> GraphTraversal:
    """Return those vertices that, with their columns, have no edges of the DAG besides `has_column`."""
    labels = [name for name in EDGE_LABEL_NAMES if name != "has_column"]
    touching = __.both_e(*labels).has("dag_name", dag_name)
    columns = __.out("has_column").both_e(*labels).has("dag_name", dag_name)
    return g.V(*ids).not_(touching).not_(columns).id_()


def columns_of(g: GraphTraversalSource, ids: list[str], dag_name: str) -> GraphTraversal:
    """Return the DAG's `has_column` edges of these datasets, with the columns."""
    edges = g.V(*ids).out_e("has_column").has("dag_name", dag_name)
    return edges.project("edge", "column").by(T.id).by(__.in_v().id_())


def drop_vertices(g: GraphTraversalSource, ids: list[str], dag_name: str) -> GraphTraversal:
    """Drop the vertices without edges and without tags of other DAGs; returns their number."""
    others = __.values("dag_name").is_(P.neq(dag_name))
    return g.V(*ids).not_(others).not_(__.both_e()).side_effect(__.drop()).count()


def drop_tags(g: GraphTraversalSource, ids: list[str], dag_name: str) -> GraphTraversal:
    """Drop the DAG's tag of vertices that only other DAGs or edges still need; returns their number."""
    touched = __.both_e(*EDGE_LABEL_NAMES).has("dag_name", dag_name)
    needed = __.or_(__.values("dag_name").is_(P.neq(dag_name)), __.both_e())
    tag = __.properties("dag_name").has_value(dag_name).drop()
    return g.V(*ids).has("dag_name", dag_name).not_(touched).where(needed).side_effect(tag).count()


def _remove_dag(execute: GremlinExecutor, pipeline: Pipeline) -> Removed:
    _drop_state(execute, pipeline)
    edges = 0
    while ids := execute(lambda g: edges_of(g, pipeline).limit(IDS_PER_REQUEST).id_()):
        execute(partial(drop_edges, ids=ids))
        edges += len(ids)
    dropped = untagged = 0
    last: list[str] = []
    idle = 0
    while ids := execute(lambda g: vertices_of(g, pipeline).limit(IDS_PER_REQUEST).id_()):
        newly_dropped, newly_untagged = _untag(execute, ids, pipeline.dag_name)
        dropped, untagged = dropped + newly_dropped, untagged + newly_untagged
        # A count of 0 is no proof: a response may have been lost, and the repeated request found nothing to
        # do. The same vertices again: another merge of the DAG is writing.
        idle = 0 if newly_dropped + newly_untagged else idle + 1
        if idle and (ids == last or idle == _IDLE_ROUNDS):
            break
        last = ids
    return Removed(edges, dropped, untagged)


def _drop_state(execute: GremlinExecutor, pipeline: Pipeline) -> None:
    """Drop the state of the last load, whose vertices have no tag."""
    run = run_id(pipeline.environment, pipeline.dag_name)
    for text in execute(lambda g: g.V(run).values("state")):
        numbers = range(RunState.read(text).shard_count)
        ids = shard_ids(pipeline.environment, pipeline.dag_name, numbers)
        execute.run_in_batches(drop_shards, ids)


def _remove_job(execute: GremlinExecutor, pipeline: Pipeline) -> Removed:
    edges = 0
    touched: set[str] = set(execute(lambda g: own_vertices_of(g, pipeline).id_()))
    while edges_left := execute(lambda g: _add_ends(edges_of(g, pipeline).limit(IDS_PER_REQUEST))):
        for edge in edges_left:
            for end in ("from", "to"):
                touched.add(edge[end])
                if edge[f"{end}_label"] == "column":
                    touched.add(dataset_of(edge[end]))
        ids = [edge["id"] for edge in edges_left]
        execute(partial(drop_edges, ids=ids))
        edges += len(ids)
    unused = partial(select_unused_vertices, dag_name=pipeline.dag_name)
    datasets = set(execute.run_in_batches(unused, sorted(touched)))
    for batch in split_by_request(sorted(datasets)):
        column_edges = execute(partial(columns_of, ids=batch, dag_name=pipeline.dag_name))
        execute.run_in_batches(drop_edges, [edge["edge"] for edge in column_edges])
        edges += len(column_edges)
        datasets |= {edge["column"] for edge in column_edges}
    counts = [_untag(execute, batch, pipeline.dag_name) for batch in split_by_request(sorted(datasets))]
    return Removed(edges, sum(dropped for dropped, _ in counts), sum(untagged for _, untagged in counts))


def _untag(execute: GremlinExecutor, ids: list[str], dag_name: str) -> tuple[int, int]:
    # In this order a vertex has its last tag until it is dropped: see `server.write_changes.delete_stale`.
    untagged: int = execute(partial(drop_tags, ids=ids, dag_name=dag_name))[0]
    dropped: int = execute(partial(drop_vertices, ids=ids, dag_name=dag_name))[0]
    return dropped, untagged


def _add_ends(edges: GraphTraversal) -> GraphTraversal:
    return (
        edges.project("id", "from", "to", "from_label", "to_label")
        .by(T.id)
        .by(__.out_v().id_())
        .by(__.in_v().id_())
        .by(__.out_v().label())
        .by(__.in_v().label())
    )


def _count(execute: GremlinExecutor, pipeline: Pipeline) -> Removed:
    """Count what `remove` would remove; of a job, datasets that become unused are not counted."""
    edges: int = execute(lambda g: edges_of(g, pipeline).count())[0]
    own_vertices = partial(own_vertices_of if pipeline.job else vertices_of, pipeline=pipeline)
    others = __.values("dag_name").is_(P.neq(pipeline.dag_name))
    shared: int = execute(lambda g: own_vertices(g).where(others).count())[0]
    total: int = execute(lambda g: own_vertices(g).count())[0]
    return Removed(edges, total - shared, shared)
