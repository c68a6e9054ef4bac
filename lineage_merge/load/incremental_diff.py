"""Comparison of a merge with the digests that the last load stored; reads only differing elements.

Where the digests do not prove that the graph is unchanged, `compare_changes` returns None and the load
compares in full.
"""

from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from operator import attrgetter, itemgetter
from typing import NamedTuple

from lineage_merge.graph_format.schema import DATASET_LABELS, Row
from lineage_merge.infra.engine.rows import Rows
from lineage_merge.load import diff, merge_state, shard_digests, vertex_merge
from lineage_merge.load.diff import Compared
from lineage_merge.load.graph_state import GraphState, StoredVertex, read_aliases, read_elements
from lineage_merge.load.gremlin.connection import Endpoint
from lineage_merge.load.merge_run import LoadTarget
from lineage_merge.load.shard_digests import Differing, Entry, Kind, Shard
from lineage_merge.merge.alias_resolution import IdentityRow


class IncrementalChanges(NamedTuple):
    """The result of an incremental comparison.

    `existing`: the elements that were read. `jobs`: all jobs of the merge, only read if elements may be
    deleted, because deletions depend on them.
    """

    nodes: Rows[Compared]
    edges: Rows[Compared]
    existing: GraphState
    jobs: Rows[StoredVertex]
    shards: Rows[Shard]


def names_digest(pairs: Mapping[str, str], identities: Rows[IdentityRow]) -> str:
    """Return an order-independent digest of the names and the datasets they resolve to."""
    known = identities.map(lambda identity: shard_digests.digest_of(repr(tuple(identity)))).collect()
    known += [shard_digests.digest_of(repr(pair)) for pair in pairs.items()]
    return shard_digests.digest_of("\n".join(sorted(set(known))))


def compare_changes(
    nodes: Rows[Row],
    edges: Rows[Row],
    names: Rows[str],
    target: LoadTarget,
    *,
    drops_values: bool = True,
) -> IncrementalChanges | None:
    """Compare a merge with the state of the last load; None if a full comparison is required.

    `names`: alias ids of the merge, none of which may be in the graph.
    """
    engine, endpoint, last = nodes.engine, target.endpoint, target.started_load.state
    if merge_state.read_counts(target) != (last.vertices, last.edges):
        return None
    distinct_names = names.distinct().repartition(engine.parallelism)
    if not distinct_names.map_partitions(partial(merge_state.any_stored, endpoint)).is_empty():
        return None
    shards = shard_digests.shards(nodes, edges, len(last.shards)).cache()
    present = shards.map(shard_digests.summary_of).collect()
    if shard_digests.shard_count(sum(each.size for each in present), len(last.shards)) != len(last.shards):
        return None
    found = merge_state.compare_shards(shards, {each.number for each in present}, target, last.shards).cache()
    if not found.filter(attrgetter("is_damaged")).is_empty():
        return None
    unmatched = merge_state.read_unmatched(target, len(last.shards), last.left)
    if unmatched is None:
        return None
    removed = engine.rows(unmatched).union(found.flat_map(attrgetter("removed")))
    changed_nodes, changed_edges = (found.flat_map(partial(_changed, kind)) for kind in _KINDS)
    existing = read_elements(
        changed_nodes.map(_id).union(removed.flat_map(partial(_id_of, "v"))),
        changed_edges.map(_id).union(removed.flat_map(partial(_id_of, "e"))),
        endpoint,
        target.dag_name,
    )
    if _is_stored_under_alias(changed_nodes, existing, endpoint, target.environment):
        return None
    jobs: Rows[StoredVertex] = engine.empty()
    if not removed.is_empty():
        job_ids = nodes.filter(lambda node: node.get("label") == "job").map(itemgetter("id"))
        jobs = read_elements(job_ids, engine.empty(), endpoint, target.dag_name).vertices
    return IncrementalChanges(
        diff.compare_nodes(changed_nodes, edges, existing, drops_values=drops_values)
        .union(found.flat_map(partial(_unchanged, "v")).map(diff.unchanged_node))
        .cache(),
        diff.compare_edges(changed_edges, existing)
        .union(found.flat_map(partial(_unchanged, "e")).map(diff.unchanged_edge))
        .cache(),
        existing,
        jobs,
        shards,
    )


_KINDS: tuple[Kind, Kind] = ("v", "e")


def _changed(kind: Kind, found: Differing) -> Iterator[Row]:
    return (row for row in found.changed if _kind(row) == kind)


def _unchanged(kind: Kind, found: Differing) -> Iterator[Row]:
    return (row for row in found.unchanged if _kind(row) == kind)


def _kind(row: Row) -> Kind:
    return "e" if "from" in row else "v"


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
    return bool(vertex_merge.resolve_stored_aliases(missing, existing, aliases, frozenset(), environment))
