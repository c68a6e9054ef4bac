"""Taking a pipeline out of the graph: all that a DAG, or one of its jobs, put there.

In small requests, each of which finds by itself what is still to be done: however large the
graph, little is held here, and what was cut off can be run again.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from gremlin_python.process.graph_traversal import GraphTraversal, GraphTraversalSource, __
from gremlin_python.process.traversal import P, T

from lineage_merge.graph_format.schema import EDGE_LABEL_NAMES
from lineage_merge.load.gremlin.connection import Endpoint
from lineage_merge.load.gremlin.executor import IDS_A_REQUEST, GremlinExecutor, by_request, open_executor
from lineage_merge.load.label_replacement import dropping_edges
from lineage_merge.load.merge_run import run_id
from lineage_merge.load.merge_state import dropping, shard_id
from lineage_merge.load.shard_digests import RunState

_IDLE_ROUNDS = 50


@dataclass(frozen=True, slots=True)
class Removed:
    """How many edges were taken out, vertices dropped, and vertices only untagged.

    Of vertices at least so many: what a request did whose answer was lost is not counted.
    """

    edges: int
    dropped: int
    untagged: int


@dataclass(frozen=True, slots=True)
class Pipeline:
    """What to remove: a DAG of an environment, or one `job` of it (by name, of any type)."""

    environment: str
    dag_name: str
    job: str = ""


def remove(endpoint: Endpoint, pipeline: Pipeline, *, dry_run: bool = False) -> Removed:
    """Take a pipeline out; with `dry_run` only count. Raises GraphUnreachable and GraphRejected."""
    with open_executor(endpoint) as ask:
        if dry_run:
            return _count(ask, pipeline)
        return _remove_job(ask, pipeline) if pipeline.job else _remove_dag(ask, pipeline)


def edges_of(g: GraphTraversalSource, pipeline: Pipeline) -> GraphTraversal:
    """The edges of the pipeline."""
    edges = g.E().has("dag_name", pipeline.dag_name).has("environment", pipeline.environment)
    return edges.has("job_name", pipeline.job) if pipeline.job else edges


def vertices_of(g: GraphTraversalSource, pipeline: Pipeline) -> GraphTraversal:
    """The vertices that carry the DAG's tag."""
    return g.V().has("dag_name", pipeline.dag_name).has("environment", pipeline.environment)


def own_vertices_of(g: GraphTraversalSource, pipeline: Pipeline) -> GraphTraversal:
    """The job's own vertices: itself and its operations."""
    jobs = __.has_label("job").has("name", pipeline.job)
    operations = __.has_label("operation").has("job_name", pipeline.job)
    return vertices_of(g, pipeline).where(__.or_(jobs, operations))


def needless(g: GraphTraversalSource, ids: list[str], dag_name: str) -> GraphTraversal:
    """Of these vertices those that no edge of the DAG touches, but for columns that hang on them."""
    labels = [each for each in EDGE_LABEL_NAMES if each != "has_column"]
    touching = __.both_e(*labels).has("dag_name", dag_name)
    columns = __.out("has_column").both_e(*labels).has("dag_name", dag_name)
    return g.V(*ids).not_(touching).not_(columns).id_()


def columns_of(g: GraphTraversalSource, ids: list[str], dag_name: str) -> GraphTraversal:
    """The edges of the DAG that lead from datasets to columns, with the columns."""
    edges = g.V(*ids).out_e("has_column").has("dag_name", dag_name)
    return edges.project("edge", "column").by(T.id).by(__.in_v().id_())


def dropping_vertices(g: GraphTraversalSource, ids: list[str], dag_name: str) -> GraphTraversal:
    """Take out the vertices that neither an edge nor another DAG needs; how many."""
    others = __.values("dag_name").is_(P.neq(dag_name))
    return g.V(*ids).not_(others).not_(__.both_e()).side_effect(__.drop()).count()


def removing_tags(g: GraphTraversalSource, ids: list[str], dag_name: str) -> GraphTraversal:
    """Take the DAG's tag from vertices that none of its edges touches, but others need; how many."""
    touched = __.both_e(*EDGE_LABEL_NAMES).has("dag_name", dag_name)
    needed = __.or_(__.values("dag_name").is_(P.neq(dag_name)), __.both_e())
    tag = __.properties("dag_name").has_value(dag_name).drop()
    return g.V(*ids).has("dag_name", dag_name).not_(touched).where(needed).side_effect(tag).count()


def _remove_dag(ask: GremlinExecutor, pipeline: Pipeline) -> Removed:
    _drop_state(ask, pipeline)
    edges = 0
    while ids := ask(lambda g: edges_of(g, pipeline).limit(IDS_A_REQUEST).id_()):
        ask(partial(dropping_edges, ids=ids))
        edges += len(ids)
    dropped = untagged = 0
    last: list[str] = []
    idle = 0
    while ids := ask(lambda g: vertices_of(g, pipeline).limit(IDS_A_REQUEST).id_()):
        gone, bare = _untag(ask, ids, pipeline.dag_name)
        dropped, untagged = dropped + gone, untagged + bare
        # Nothing done tells little: the answers may have been lost, and the requests, sent again,
        # found nothing left to do. The same vertices again: another merge of the DAG writes.
        idle = 0 if gone + bare else idle + 1
        if idle and (ids == last or idle == _IDLE_ROUNDS):
            break
        last = ids
    return Removed(edges, dropped, untagged)


def _drop_state(ask: GremlinExecutor, pipeline: Pipeline) -> None:
    """Drop what the last load left for the next one, which has no tag."""
    run = run_id(pipeline.environment, pipeline.dag_name)
    for text in ask(lambda g: g.V(run).values("state")):
        last = RunState.read(text)
        numbers = range(len(last.shards) + last.left)
        ids = (shard_id(pipeline.environment, pipeline.dag_name, number) for number in numbers)
        for some in by_request(ids):
            ask(partial(dropping, ids=some))


def _remove_job(ask: GremlinExecutor, pipeline: Pipeline) -> Removed:
    edges = 0
    touched: set[str] = set(ask(lambda g: own_vertices_of(g, pipeline).id_()))
    while found := ask(lambda g: _with_ends(edges_of(g, pipeline).limit(IDS_A_REQUEST))):
        for each in found:
            for end in ("from", "to"):
                touched.add(each[end])
                if each[f"{end}_label"] == "column":
                    touched.add(each[end].rpartition("|")[0])  # the dataset's id
        ids = [each["id"] for each in found]
        ask(partial(dropping_edges, ids=ids))
        edges += len(ids)
    dropped = untagged = 0
    datasets = set()
    for batch in by_request(sorted(touched)):
        datasets.update(ask(partial(needless, ids=batch, dag_name=pipeline.dag_name)))
    for batch in by_request(sorted(datasets)):
        hanging = ask(partial(columns_of, ids=batch, dag_name=pipeline.dag_name))
        for some in by_request([each["edge"] for each in hanging]):
            ask(partial(dropping_edges, ids=some))
        edges += len(hanging)
        datasets |= {each["column"] for each in hanging}
    for batch in by_request(sorted(datasets)):
        gone, bare = _untag(ask, batch, pipeline.dag_name)
        dropped, untagged = dropped + gone, untagged + bare
    return Removed(edges, dropped, untagged)


def _untag(ask: GremlinExecutor, ids: list[str], dag_name: str) -> tuple[int, int]:
    # In this order a vertex keeps its last tag until it goes: see `load.prune.delete_stale`.
    bare: int = ask(partial(removing_tags, ids=ids, dag_name=dag_name))[0]
    gone: int = ask(partial(dropping_vertices, ids=ids, dag_name=dag_name))[0]
    return gone, bare


def _with_ends(edges: GraphTraversal) -> GraphTraversal:
    return (
        edges.project("id", "from", "to", "from_label", "to_label")
        .by(T.id)
        .by(__.out_v().id_())
        .by(__.in_v().id_())
        .by(__.out_v().label())
        .by(__.in_v().label())
    )


def _count(ask: GremlinExecutor, pipeline: Pipeline) -> Removed:
    """What `remove` would do, to the edge; of a job, without the datasets that nobody else needs."""
    edges: int = ask(lambda g: edges_of(g, pipeline).count())[0]
    mine: Callable[[GraphTraversalSource], GraphTraversal] = partial(
        own_vertices_of if pipeline.job else vertices_of, pipeline=pipeline
    )
    others = __.values("dag_name").is_(P.neq(pipeline.dag_name))
    shared: int = ask(lambda g: mine(g).where(others).count())[0]
    all_of_them: int = ask(lambda g: mine(g).count())[0]
    return Removed(edges, all_of_them - shared, shared)
