"""Writes a plan into the graph.

A load may be killed anywhere and repeated: vertices are written before edges, and everything new before
anything old is deleted. With a bulk loader, labels and moves precede the bulk load, and deletions
follow it, because a failed load must delete nothing.
"""

import time
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from operator import attrgetter, itemgetter
from typing import Any, TypeVar

from gremlin_python.process.graph_traversal import GraphTraversal, GraphTraversalSource, __
from gremlin_python.process.traversal import Cardinality, P

from lineage_merge.graph_format.schema import COUNTED, EDGE_KEYS, EDGE_LABEL_NAMES, NODE_KEYS, Row
from lineage_merge.infra.engine.rows import Rows
from lineage_merge.infra.progress import ProgressCallback
from lineage_merge.load.diff import Change, get_first_seen
from lineage_merge.load.element_rows import row_to_write
from lineage_merge.load.graph_state import StoredEdge
from lineage_merge.load.gremlin import upserts, vertex_merge
from lineage_merge.load.gremlin.connection import Endpoint
from lineage_merge.load.gremlin.executor import BuildTraversal, open_executor, split_by_request
from lineage_merge.load.gremlin.label_replacement import replace_interim_edges, replace_labels
from lineage_merge.load.gremlin.running_load import LoadTarget
from lineage_merge.load.gremlin.upserts import EdgeUpsert
from lineage_merge.load.gremlin.writer import write
from lineage_merge.load.load_plan import Deletions, LoadPlan
from lineage_merge.load.neptune_bulk import bulk_load
from lineage_merge.load.neptune_bulk.bulk_load import BulkLoad
from lineage_merge.load.renames import NameCorrection
from lineage_merge.load.result import WriteProgress

T = TypeVar("T")


def write_changes(
    plan: LoadPlan,
    target: LoadTarget,
    *,
    in_bulk: BulkLoad | None,
    on_written: WriteProgress | None,
    on_progress: ProgressCallback,
) -> int:
    """Write all differences, then delete; returns the number of requests that wrote elements."""
    endpoint, environment, dag_name, _ = target
    compared, engine = plan.comparison, plan.comparison.nodes.engine
    nodes, edges = (rows.filter(attrgetter("is_written")) for rows in (compared.nodes, compared.edges))
    now = time.time_ns() // 1_000_000
    if plan.result.relabelled:
        _run_in_one_partition(endpoint, nodes.flat_map(_list_relabelled), replace_labels)
    requests = 0
    parts = bulk_load.parts(nodes, edges, frozenset(compared.moves.values()), now) if in_bulk else None
    if plan.result.nodes:
        rows = parts.first if parts else nodes.map(partial(_row_to_write, NODE_KEYS, now))
        requests += write("nodes", rows, endpoint, None, on_written)[1]
    if compared.moves:
        _run_in_one_partition(endpoint, engine.rows(compared.moves.items()), vertex_merge.move)
    if in_bulk and parts:
        counts = plan.result.nodes, plan.result.edges
        bulk_load.load(in_bulk, target, compared.nodes, parts, counts, on_progress)
    if plan.result.edges:
        rows = parts.last if parts else edges.map(partial(_row_to_write, EDGE_KEYS, now))
        requests += write("edges", rows, endpoint, None, on_written)[1]
    if compared.counts.cleared:
        of_edges = edges.flat_map(_list_cleared).group(itemgetter(0), _drops_of_edges)
        drops = of_edges.union(nodes.flat_map(partial(_drops_of_node, dag_name)))
        _run_in_one_partition(endpoint, drops, _execute_each)
    if compared.counts.interim:
        interim = compared.existing.edges.filter(attrgetter("interim"))
        _run_in_one_partition(endpoint, interim, partial(_repair, environment, dag_name))
    delete_stale(plan.deletions, endpoint, target.run_id, target.started_load.token, dag_name)
    # Last, so that until then a repeated load still finds the stored names.
    if removals := compared.renames.select_kind("remove"):
        named = engine.rows(removals).group(lambda removal: (removal.id, removal.property), _drops_of_name)
        _run_in_one_partition(endpoint, named, _execute_each)
    return requests


def _run_in_one_partition(
    endpoint: Endpoint, rows: Rows[T], function: Callable[[Endpoint, Iterable[T]], object]
) -> None:
    """Apply a function to all rows together: concurrent changes of neighbours conflict."""
    rows.repartition(1).map_partitions(partial(_apply, endpoint, function)).collect()


def _apply(
    endpoint: Endpoint, function: Callable[[Endpoint, Iterable[T]], object], rows: Iterable[T]
) -> Iterable[int]:
    function(endpoint, rows)
    return ()


def _row_to_write(keys: tuple[str, ...], now: int, element: Change) -> Row:
    return row_to_write(element.row, keys, element.to_write, get_first_seen(element, now))


def _list_relabelled(node: Change) -> Iterable[tuple[str, str, str]]:
    return ((node.row["id"], node.old_label or "", node.row["label"]),) if node.kind == "label" else ()


def _execute_each(endpoint: Endpoint, requests: Iterable[BuildTraversal]) -> None:
    with open_executor(endpoint) as execute:
        for request in requests:
            execute(request)


def _drops_of_name(key: tuple[str, str], removals: list[NameCorrection]) -> Iterator[BuildTraversal]:
    """Yield requests that remove stored names of a vertex that resolve to other datasets now."""
    vertex, name = key
    for values in split_by_request(removal.value for removal in removals):
        yield partial(drop_values, values=values, vertex=vertex, name=name)


def drop_values(g: GraphTraversalSource, values: list[str], vertex: str, name: str) -> GraphTraversal:
    """Drop values of a vertex's property."""
    return g.V(vertex).properties(name).has_value(P.within(values)).drop()


def _list_cleared(edge: Change) -> Iterator[tuple[str, str]]:
    for name in edge.cleared:
        yield name, edge.row["id"]


def _drops_of_edges(name: str, cleared: list[tuple[str, str]]) -> Iterator[BuildTraversal]:
    """Yield requests that remove a property that the merge no longer has."""
    for ids in split_by_request(edge for _, edge in cleared):
        yield partial(drop_property, ids=ids, name=name)


def drop_property(g: GraphTraversalSource, ids: list[str], name: str) -> GraphTraversal:
    """Drop a property of edges."""
    return g.E(*ids).properties(name).drop()


def _drops_of_node(dag_name: str, node: Change) -> Iterator[BuildTraversal]:
    """Yield requests that remove properties of an earlier run, and values that the sources no longer have."""
    vertex = node.row["id"]
    if node.cleared:
        yield partial(drop_run_properties, job=vertex, names=list(node.cleared), at=node.row["last_run_at"])
    for name, dropped in node.dropped:
        for values in split_by_request(dropped):
            if name in COUNTED:  # whichever DAG counted before
                yield partial(drop_values, values=values, vertex=vertex, name=name)
                continue
            yield partial(drop_own_values, values=values, vertex=vertex, name=name, dag_name=dag_name)


def drop_own_values(
    g: GraphTraversalSource, values: list[str], vertex: str, name: str, dag_name: str
) -> GraphTraversal:
    """Drop values of a vertex's property, unless another DAG has started to use the vertex."""
    others = __.values("dag_name").is_(P.neq(dag_name))
    return g.V(vertex).not_(others).properties(name).has_value(P.within(values)).drop()


def drop_run_properties(g: GraphTraversalSource, job: str, names: list[str], at: int) -> GraphTraversal:
    """Drop properties of a job, unless a later run has been merged since."""
    return g.V(job).not_(upserts.has_later("last_run_at", at)).properties(*names).drop()


def _repair(environment: str, dag_name: str, endpoint: Endpoint, interim: Iterable[StoredEdge]) -> None:
    """Replace interim ids that a killed label replacement has left."""
    own = {"environment": environment, "dag_name": dag_name}
    edges = [
        EdgeUpsert(
            *edge[:4], tuple(upserts.convert_types(edge.properties | own).items()), only_if_missing=True
        )
        for edge in interim
    ]
    with open_executor(endpoint) as execute:
        replace_interim_edges(endpoint, execute, edges)


def delete_stale(deletions: Deletions, endpoint: Endpoint, run: str, token: str, dag_name: str) -> None:
    """Drop the edges, then the tags of vertices that are still needed, then the unneeded vertices.

    Only has an effect while `token` is on the `run` vertex (`gremlin.running_load`): a merge of the same DAG
    that has started since makes its own comparison.
    """

    # In one partition: every request writes to the run's vertex, so concurrent ones would conflict.
    edge_builders = [partial(drop_edges, run=run, token=token)]
    # A vertex keeps its last tag until it is dropped. Otherwise a load that is killed, or that runs
    # concurrently with another DAG's, could leave a vertex without a tag, which no load would find again.
    # The second `drop_tags` is for vertices that another DAG has started to use in between.
    vertex_builders = [
        partial(builder, run=run, token=token, dag_name=dag_name)
        for builder in (drop_tags, drop_vertices, drop_tags)
    ]
    for number, ids, builders in (
        (deletions.edge_count, deletions.edges, edge_builders),
        (deletions.vertex_count, deletions.vertices, vertex_builders),
    ):
        if number:
            ids.repartition(1).map_partitions(partial(_send_all, endpoint, builders)).collect()


def _send_all(endpoint: Endpoint, builders: list[Any], ids: Iterable[str]) -> Iterable[int]:
    elements = list(ids)
    with open_executor(endpoint) as execute:
        for build in builders:
            execute.run_in_batches(build, elements)
    return ()


def _if_token_matches(g: GraphTraversalSource, run: str, token: str) -> GraphTraversal:
    """Continue only if the token is unchanged; writing it again makes concurrent requests conflict."""
    return g.V(run).has("load_token", token).property(Cardinality.single, "load_token", token)


def drop_edges(g: GraphTraversalSource, ids: list[str], run: str, token: str) -> GraphTraversal:
    """Drop edges."""
    return _if_token_matches(g, run, token).E(*ids).drop()


def drop_vertices(
    g: GraphTraversalSource, ids: list[str], run: str, token: str, dag_name: str
) -> GraphTraversal:
    """Drop the vertices that have no edges and no tags of other DAGs now."""
    others = __.values("dag_name").is_(P.neq(dag_name))
    return _if_token_matches(g, run, token).V(*ids).not_(others).not_(__.both_e()).drop()


def drop_tags(g: GraphTraversalSource, ids: list[str], run: str, token: str, dag_name: str) -> GraphTraversal:
    """Drop the DAG's tag of vertices that are still needed but have no edges of the DAG now."""
    touched = __.both_e(*EDGE_LABEL_NAMES).has("dag_name", dag_name)
    needed = __.or_(__.values("dag_name").is_(P.neq(dag_name)), __.both_e())
    untagged = _if_token_matches(g, run, token).V(*ids).not_(touched).where(needed)
    return untagged.properties("dag_name").has_value(dag_name).drop()
