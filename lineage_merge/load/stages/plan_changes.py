"""Compares a merge with the stored graph, and plans all changes. Writes nothing."""

from operator import attrgetter

from lineage_merge.load import diff
from lineage_merge.load.diff import Compared
from lineage_merge.load.diff_counts import count_differences
from lineage_merge.load.load_plan import Comparison, Deletions, LoadPlan, MergeOutput
from lineage_merge.load.merge_run import LoadTarget
from lineage_merge.load.prune.plan import first_rows, plan_deletions
from lineage_merge.load.renames import Renames, replaced_edges
from lineage_merge.load.result import Effect, LoadResult
from lineage_merge.load.stages.incremental_diff import compare_changes, names_digest
from lineage_merge.load.stages.newer_jobs import without_newer_jobs
from lineage_merge.load.stages.resolve_names import resolve_names

_SHOWN = 20


def plan_changes(merge: MergeOutput, target: LoadTarget, *, verify: bool) -> LoadPlan:
    """Compare a merge with the graph, incrementally if possible, and plan the changes.

    `verify`: always compare in full.
    """
    digest = names_digest(merge)
    started_load = target.started_load
    if started_load.is_state_valid and not verify and started_load.state.names == digest:
        changes = compare_changes(merge, target)
        if changes and "stored_is_newer" not in changes.counts.nodes:
            return _plan(merge, target, changes, digest)
    return _plan(merge, target, _compare_in_full(merge, target), digest)


def _compare_in_full(merge: MergeOutput, target: LoadTarget) -> Comparison:
    resolved = resolve_names(merge, target)
    existing, renames = resolved.existing, resolved.renames
    compared = diff.compare_nodes(resolved.nodes, resolved.edges, existing, drops_values=merge.drops_values)
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
    return Comparison(
        nodes, edges, counts, existing, existing.vertices, resolved.moves, renames, may_store_state
    )


def _plan(merge: MergeOutput, target: LoadTarget, comparison: Comparison, digest: str) -> LoadPlan:
    counts = comparison.counts
    replaced = replaced_edges(comparison.edges, comparison.renames, target.environment, target.dag_name)
    deletions = plan_deletions(merge, comparison, replaced)
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
    return LoadPlan(comparison, deletions, result, digest)


def _effect(comparison: Comparison, deletions: Deletions) -> Effect:
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
    compared = plan.comparison
    nodes, edges = (rows.filter(attrgetter("is_written")) for rows in (compared.nodes, compared.edges))
    nodes_shown = first_rows(nodes, _SHOWN, lambda node: node.row.get("id") or "")
    edges_shown = first_rows(edges, _SHOWN, _edge_sort_key)
    removed = [change for change in compared.renames.of_kind("remove") if change.property == "aliases"]
    return (
        *(
            f"moved {duplicate} to {canonical}"
            for duplicate, canonical in sorted(compared.moves.items())[:_SHOWN]
        ),
        *(f"removed from {change.id}: alias {change.value}" for change in removed[:_SHOWN]),
        *(f"{change} {row['label']} {row['id']}" for change, row, *_ in nodes_shown),
        *(f"{change} {row['from']} -{row['label']}-> {row['to']}" for change, row, *_ in edges_shown),
    )


def _edge_sort_key(edge: Compared) -> tuple[str, ...]:
    return tuple(edge.row.get(name) or "" for name in ("from", "label", "to"))
