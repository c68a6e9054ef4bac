"""Comparison of a merge with the digests that the last load stored; reads only differing elements.

Where the digests do not prove that the graph is unchanged, `compare_changes` returns None and the load
compares in full.
"""

from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from functools import partial
from operator import attrgetter, itemgetter

from lineage_merge.graph_format.schema import DATASET_LABELS, RUN_LABELS, Row
from lineage_merge.infra.engine.rows import Rows
from lineage_merge.load import diff, resolve_names, shard_digests
from lineage_merge.load.graph_state import GraphState, StoredVertex
from lineage_merge.load.gremlin import merge_state
from lineage_merge.load.gremlin.connection import Endpoint
from lineage_merge.load.gremlin.element_reads import read_aliases, read_elements
from lineage_merge.load.gremlin.running_load import LoadTarget
from lineage_merge.load.load_plan import Comparison, LoadPlan, MergeOutput, count_differences
from lineage_merge.load.plan_changes import plan, plan_in_full
from lineage_merge.load.shard_digests import Entry, Kind, MergeDigests, digest_of_text, digests_of


def names_digest(merge: MergeOutput) -> str:
    """Return an order-independent digest of the names and the datasets they resolve to."""
    known = merge.names.map(lambda identity: digest_of_text(repr(tuple(identity)))).collect()
    known += [digest_of_text(repr(pair)) for pair in merge.canonical_ids.items()]
    return digest_of_text("\n".join(sorted(set(known))))


def plan_changes(merge: MergeOutput, target: LoadTarget, *, verify: bool) -> LoadPlan:
    """Compare a merge with the graph, incrementally if possible, and plan the changes.

    `verify`: always compare in full.
    """
    digest = names_digest(merge)
    started_load = target.started_load
    if started_load.is_state_valid and not verify and started_load.state.names == digest:
        changes = compare_changes(merge, target)
        if changes and "stored_is_newer" not in changes.counts.nodes:
            return plan(merge, target, changes, digest)
    return plan_in_full(merge, target, digest)


def compare_changes(merge: MergeOutput, target: LoadTarget) -> Comparison | None:
    """Compare a merge with the state of the last load; None if a full comparison is required."""
    nodes, edges = merge.nodes, merge.edges
    engine, endpoint, last = nodes.engine, target.endpoint, target.started_load.state
    number = len(last.shards)
    # The server counts while this process computes digests: each takes about as long.
    with ThreadPoolExecutor(1, thread_name_prefix="count") as pool:
        counting = pool.submit(copy_context().run, merge_state.read_counts, target)
        shards = shard_digests.shards(nodes, edges, number).cache()
        elements = sum(shards.map(lambda shard: len(shard.rows)).collect())
        if counting.result() != (last.vertices, last.edges):
            return None
    names = merge.alias_ids.distinct().repartition(engine.parallelism)
    if not names.map_partitions(partial(merge_state.any_stored, endpoint)).is_empty():
        return None
    if shard_digests.shard_count(elements, number) != number:
        return None
    differing = merge_state.compare_shards(shards, target, last.shards).cache()
    if not differing.filter(attrgetter("is_damaged")).is_empty():
        return None
    unmatched = merge_state.read_unmatched(target, number, last.left)
    if unmatched is None:
        return None
    removed = engine.rows(unmatched).union(differing.flat_map(attrgetter("removed")))
    changed_nodes, changed_edges = _rows_of(differing.flat_map(attrgetter("changed")))
    existing = read_elements(
        changed_nodes.map(_id).union(removed.flat_map(partial(_id_of, "v"))),
        changed_edges.map(_id).union(removed.flat_map(partial(_id_of, "e"))),
        endpoint,
        target.dag_name,
    )
    if _is_stored_under_alias(changed_nodes, existing, endpoint, target.environment):
        return None
    # Deletions depend on all jobs of the merge.
    jobs: Rows[StoredVertex] = engine.empty()
    if not removed.is_empty():
        job_ids = nodes.filter(lambda node: node.get("label") == "job").map(itemgetter("id"))
        jobs = read_elements(job_ids, engine.empty(), endpoint, target.dag_name).vertices
    compared_nodes = diff.compare_nodes(changed_nodes, edges, existing, drops_values=merge.drops_values)
    compared_nodes = compared_nodes.cache()
    compared_edges = diff.compare_edges(changed_edges, existing).cache()
    unchanged = differing.flat_map(attrgetter("unchanged"))
    counts = count_differences(compared_nodes, compared_edges, existing.edges, unchanged)
    if not counts.total("unmatched"):
        # Only deletions depend on all unchanged elements.
        unchanged = unchanged.filter(lambda row: row.get("label") in RUN_LABELS)
    unchanged_nodes, unchanged_edges = _rows_of(unchanged)
    return Comparison(
        compared_nodes.union(unchanged_nodes.map(diff.keep_node).cache()),
        compared_edges.union(unchanged_edges.map(diff.keep_edge).cache()),
        counts,
        existing,
        existing.vertices.union(jobs),
        digests=MergeDigests(
            digests_of(shards, number),
            differing.flat_map(lambda shard: () if shard.entries is None else (shard.entries,)),
        ),
    )


def _rows_of(rows: Rows[Row]) -> tuple[Rows[Row], Rows[Row]]:
    """Return the rows of nodes and of edges."""
    return rows.filter(lambda row: "from" not in row), rows.filter(lambda row: "from" in row)


def _id(row: Row) -> str:
    identifier: str = row.get("id") or ""
    return identifier


def _id_of(kind: Kind, entry: Entry) -> Iterable[str]:
    return (entry.id,) if entry.kind == kind else ()


def _is_stored_under_alias(
    nodes: Rows[Row], existing: GraphState, endpoint: Endpoint, environment: str
) -> bool:
    """Return whether the graph has a dataset under an alias but not under its own id."""
    stored = nodes.engine.share(frozenset(existing.vertices.map(attrgetter("id")).collect()))
    missing = nodes.filter(
        lambda node: node.get("label") in DATASET_LABELS and node["id"] not in stored.value
    )
    if missing.is_empty():
        return False
    aliases = read_aliases(nodes.engine, endpoint, environment)
    return bool(resolve_names.resolve_stored_aliases(missing, existing, aliases, frozenset(), environment))
