"""Compares a merge with the stored graph, and plans all changes. Writes nothing."""

from collections.abc import Mapping
from dataclasses import dataclass
from operator import attrgetter

from lineage_merge.infra.engine.rows import Rows
from lineage_merge.load import diff
from lineage_merge.load.diff import Compared
from lineage_merge.load.diff_counts import DiffCounts, count_differences
from lineage_merge.load.graph_state import GraphState, StoredVertex
from lineage_merge.load.incremental_diff import IncrementalChanges, compare_changes, names_digest
from lineage_merge.load.merge_run import LoadTarget
from lineage_merge.load.prune.plan import Deletions, first_rows, plan_deletions
from lineage_merge.load.renames import Renames, replaced_edges
from lineage_merge.load.result import Effect, LoadResult
from lineage_merge.load.shard_digests import Shard
from lineage_merge.load.stages.newer_jobs import without_newer_jobs
from lineage_merge.load.stages.resolve_names import (
    alias_ids_of,
    canonical_ids_of,
    identities_of,
    resolve_names,
)
from lineage_merge.load.stages.types import LoadPlan, MergeOutput

_SHOWN = 20


@dataclass(frozen=True, slots=True)
class _Comparison:
    """A merge compared with the graph.

    `vertices`: the stored vertices on which deletions depend. `shards`: None after a full comparison.
    """

    nodes: Rows[Compared]
    edges: Rows[Compared]
    counts: DiffCounts
    existing: GraphState
    vertices: Rows[StoredVertex]
    moves: Mapping[str, str]
    renames: Renames
    may_store_state: bool
    shards: Rows[Shard] | None


def plan_changes(merge: MergeOutput, target: LoadTarget, *, verify: bool) -> LoadPlan:
    """Compare a merge with the graph, incrementally if possible, and plan the changes.

    `verify`: always compare in full.
    """
    canonical_ids, identities = canonical_ids_of(merge), identities_of(merge)
    digest = names_digest(canonical_ids, identities)
    started_load = target.started_load
    if started_load.is_state_valid and not verify and started_load.state.names == digest:
        alias_ids = alias_ids_of(canonical_ids, identities)
        changes = compare_changes(
            merge.nodes, merge.edges, alias_ids, target, drops_values=_drops_values(merge)
        )
        if changes:
            comparison = _comparison_of(changes)
            if "stored_is_newer" not in comparison.counts.nodes:
                return _plan(merge, target, comparison, digest)
    return _plan(merge, target, _compare_in_full(merge, target), digest)


def _drops_values(merge: MergeOutput) -> bool:
    """Return whether no document was rejected, which may contain tags or owners."""
    return merge.report is None or not merge.report.totals.get("rejected")


def _comparison_of(changes: IncrementalChanges) -> _Comparison:
    return _Comparison(
        nodes=changes.nodes,
        edges=changes.edges,
        counts=count_differences(changes.nodes, changes.edges, changes.existing.edges),
        existing=changes.existing,
        vertices=changes.existing.vertices.union(changes.jobs),
        moves={},
        renames=Renames(),
        may_store_state=True,
        shards=changes.shards,
    )


def _compare_in_full(merge: MergeOutput, target: LoadTarget) -> _Comparison:
    resolved = resolve_names(merge, target)
    existing, renames = resolved.existing, resolved.renames
    compared = diff.compare_nodes(resolved.nodes, resolved.edges, existing, drops_values=_drops_values(merge))
    nodes = compared.cache()
    edges = diff.compare_edges(resolved.edges, existing).cache()
    counts = count_differences(nodes, edges, existing.edges)
    # The state has digests of the merge's own ids.
    may_store_state = resolved.nodes is merge.nodes and not counts.interim
    if "stored_is_newer" in counts.nodes:
        # Elements that only newer jobs touch stay unchanged, and so do all unmatched vertices.
        nodes, edges = (rows.cache() for rows in without_newer_jobs(nodes, edges))
        counts = count_differences(nodes, edges, existing.edges)
        # The configuration of an older merge may be outdated.
        renames = Renames()
        may_store_state = False
    return _Comparison(
        nodes=nodes,
        edges=edges,
        counts=counts,
        existing=existing,
        vertices=existing.vertices,
        moves=resolved.moves,
        renames=renames,
        may_store_state=may_store_state,
        shards=None,
    )


def _plan(merge: MergeOutput, target: LoadTarget, comparison: _Comparison, digest: str) -> LoadPlan:
    nodes, edges, counts = comparison.nodes, comparison.edges, comparison.counts
    replaced = replaced_edges(edges, comparison.renames, target.environment, target.dag_name)
    deletions = plan_deletions(
        nodes, edges, comparison.vertices, counts, merge.runs or {}, replaced, merge.coverage
    )
    result = LoadResult(
        nodes=counts.nodes_to_write,
        edges=counts.edges_to_write,
        requests=0,
        seconds=0.0,
        unchanged=counts.unchanged,
        retired_nodes=deletions.vertex_count,
        retired_edges=deletions.edge_count,
        relabelled=counts.nodes.get("label", 0),
        moved=len(comparison.moves),
        retirements=deletions.examples,
        compared="full" if comparison.shards is None else "changes",
        added=counts.new,
        effect=_effect(comparison, deletions),
        moves=tuple(sorted(comparison.moves.items())),
    )
    return LoadPlan(
        existing=comparison.existing,
        nodes=nodes,
        edges=edges,
        moves=comparison.moves,
        renames=comparison.renames,
        deletions=deletions,
        counts=counts,
        result=result,
        names_digest=digest,
        may_store_state=comparison.may_store_state,
        shards=comparison.shards,
    )


def _effect(comparison: _Comparison, deletions: Deletions) -> Effect:
    counts = comparison.counts
    deleted = deletions.vertex_count + deletions.edge_count
    renamed = comparison.moves or comparison.renames.of_kind("remove")
    if counts.edges_to_write or counts.interim or deleted or renamed:
        return "lineage"
    if counts.nodes_to_write > counts.changed_runs:
        return "lineage"
    return "runs" if counts.changed_runs else "none"


def describe_changes(plan: LoadPlan) -> tuple[str, ...]:
    """Return the first changes of a plan as text."""
    nodes = first_rows(
        plan.nodes.filter(attrgetter("is_written")), _SHOWN, lambda node: node.row.get("id") or ""
    )
    edges = first_rows(plan.edges.filter(attrgetter("is_written")), _SHOWN, _edge_sort_key)
    removed = [change for change in plan.renames.of_kind("remove") if change.property == "aliases"]
    return (
        *(
            f"moved {duplicate} to {canonical}"
            for duplicate, canonical in sorted(plan.moves.items())[:_SHOWN]
        ),
        *(f"removed from {change.id}: alias {change.value}" for change in removed[:_SHOWN]),
        *(f"{change} {row['label']} {row['id']}" for change, row, *_ in nodes),
        *(f"{change} {row['from']} -{row['label']}-> {row['to']}" for change, row, *_ in edges),
    )


def _edge_sort_key(edge: Compared) -> tuple[str, ...]:
    return tuple(edge.row.get(name) or "" for name in ("from", "label", "to"))
