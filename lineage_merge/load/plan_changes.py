"""Compares a merge with the stored graph, and plans all changes. Writes nothing.

Jobs of which the graph has a later run are excluded, with the elements that only they touch.
"""

from collections.abc import Iterable, Iterator
from functools import partial
from operator import and_, attrgetter, itemgetter
from typing import NamedTuple

from lineage_merge.graph_format.schema import Row
from lineage_merge.infra.engine.rows import Rows, Shared
from lineage_merge.load import diff
from lineage_merge.load.diff import Change
from lineage_merge.load.element_rows import dataset_of_end, dataset_of_node
from lineage_merge.load.graph_state import DagReader
from lineage_merge.load.load_plan import Comparison, Deletions, LoadPlan, MergeOutput, count_differences
from lineage_merge.load.prune.plan import first_rows, plan_deletions
from lineage_merge.load.renames import Renames, find_replaced_edges
from lineage_merge.load.resolve_names import resolve_names
from lineage_merge.load.result import Effect, LoadResult
from lineage_merge.model.elements import JobKey

_SHOWN = 20


def plan_in_full(merge: MergeOutput, graph: DagReader, digest: str = "") -> LoadPlan:
    """Compare a merge with all that a graph stores of its DAG, and plan the changes."""
    return plan(merge, graph, _compare_in_full(merge, graph), digest)


def _compare_in_full(merge: MergeOutput, graph: DagReader) -> Comparison:
    resolved = resolve_names(merge, graph)
    existing, renames = resolved.existing, resolved.renames
    compared = diff.compare_nodes(resolved.nodes, resolved.edges, existing, drops_values=merge.drops_values)
    nodes = compared.cache()
    edges = diff.compare_edges(resolved.edges, existing).cache()
    counts = count_differences(nodes, edges, existing.edges)
    # The state has digests of the merge's own ids.
    may_store_state = resolved.nodes is merge.nodes and not counts.interim
    if "stored_is_newer" in counts.nodes:
        # Elements that only newer jobs touch stay unchanged, and so do all unmatched vertices.
        nodes, edges = (rows.cache() for rows in _drop_newer_jobs(nodes, edges))
        counts = count_differences(nodes, edges, existing.edges)
        # The configuration of an older merge may be outdated.
        renames = Renames()
        may_store_state = False
    return Comparison(
        nodes, edges, counts, existing, existing.vertices, resolved.moves, renames, may_store_state
    )


def plan(merge: MergeOutput, graph: DagReader, comparison: Comparison, digest: str) -> LoadPlan:
    counts = comparison.counts
    replaced = find_replaced_edges(comparison.edges, comparison.renames, graph.environment, graph.dag_name)
    deletions = plan_deletions(merge, comparison, replaced)
    result = LoadResult(
        nodes=counts.nodes_to_write,
        edges=counts.edges_to_write,
        requests=0,
        seconds=0.0,
        unchanged=counts.total("unchanged"),
        retired_nodes=deletions.vertex_count,
        retired_edges=deletions.edge_count,
        relabelled=counts.nodes.get("label", 0),
        moved=len(comparison.moves),
        retirements=deletions.examples,
        compared="full" if comparison.digests is None else "changes",
        added=counts.total("new"),
        effect=_effect(comparison, deletions),
        moves=tuple(sorted(comparison.moves.items())),
    )
    return LoadPlan(comparison, deletions, result, digest)


def _effect(comparison: Comparison, deletions: Deletions) -> Effect:
    counts = comparison.counts
    deleted = deletions.vertex_count + deletions.edge_count
    renamed = comparison.moves or comparison.renames.select_kind("remove")
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
    removed = [change for change in compared.renames.select_kind("remove") if change.property == "aliases"]
    return (
        *(
            f"moved {duplicate} to {canonical}"
            for duplicate, canonical in sorted(compared.moves.items())[:_SHOWN]
        ),
        *(f"removed from {change.id}: alias {change.value}" for change in removed[:_SHOWN]),
        *(f"{change} {row['label']} {row['id']}" for change, row, *_ in nodes_shown),
        *(f"{change} {row['from']} -{row['label']}-> {row['to']}" for change, row, *_ in edges_shown),
    )


def _edge_sort_key(edge: Change) -> tuple[str, ...]:
    return tuple(edge.row.get(name) or "" for name in ("from", "label", "to"))


def _drop_newer_jobs(nodes: Rows[Change], edges: Rows[Change]) -> tuple[Rows[Change], Rows[Change]]:
    """Return the comparison without jobs whose stored run is newer, and what only they touch.

    Their stored edges stay unchanged.
    """
    newer = nodes.filter(lambda element: element.kind == "stored_is_newer").collect()
    jobs = nodes.engine.share({_job_of(row) for _, row, *_ in newer})
    touched: Rows[tuple[_End, bool]] = edges.flat_map(partial(_list_ends, jobs)).reduce_by_key(and_)
    excluded = (
        touched.filter(itemgetter(1))
        .map(itemgetter(0))
        .union(
            nodes.flat_map(partial(_operation_of, jobs)),
            nodes.engine.rows([_End(row["id"], row["id"]) for _, row, *_ in newer]),
        )
        .cache()
    )
    by_dataset: Rows[tuple[str, Change | _End]] = nodes.map(lambda node: (dataset_of_node(node.row), node))
    by_dataset = by_dataset.union(excluded.map(lambda end: (end.dataset, end)))
    remaining_nodes = by_dataset.group(itemgetter(0), _remaining_nodes)
    remaining_edges = edges.flat_map(partial(_remaining_edge, jobs))
    for end in ("from", "to"):
        by_end: Rows[tuple[str, Change | _End]] = remaining_edges.map(partial(_edge_by_end, end))
        by_end = by_end.union(excluded.map(lambda vertex: (vertex.id, vertex)))
        remaining_edges = by_end.group(itemgetter(0), _keep_existing_ends)
    return remaining_nodes, remaining_edges


def _job_of(row: Row) -> JobKey:
    """Return the job that a row is, or to which an assertion belongs."""
    return JobKey(row.get("job_type", ""), row["name"] if row["label"] == "job" else row.get("job_name", ""))


class _End(NamedTuple):
    """A vertex at an end of an edge, and the dataset that it belongs to."""

    id: str
    dataset: str


_Jobs = Shared[set[JobKey]]


def _is_of_newer(jobs: set[JobKey], row: Row) -> bool:
    return "job_name" in row and JobKey(row.get("job_type", ""), row["job_name"]) in jobs


def _list_ends(jobs: _Jobs, edge: Change) -> Iterator[tuple[_End, bool]]:
    """Yield the ends of an edge of the merge, with whether the edge is of a newer job."""
    row = edge.row
    if edge.kind != "unmatched" and row["label"] != "has_column":
        for end in ("from", "to"):
            yield _End(row[end], dataset_of_end(row, end)), _is_of_newer(jobs.value, row)


def _operation_of(jobs: _Jobs, node: Change) -> Iterable[_End]:
    row = node.row
    is_operation = row.get("label") == "operation" and node.kind != "unmatched"
    return (_End(row["id"], row["id"]),) if is_operation and _is_of_newer(jobs.value, row) else ()


def _edge_by_end(end: str, edge: Change) -> tuple[str, Change | _End]:
    return edge.row[end], edge


def _remaining_nodes(dataset: str, items: list[tuple[str, Change | _End]]) -> Iterator[Change]:
    excluded = {item.id for _, item in items if isinstance(item, _End)}
    for _, item in items:
        if isinstance(item, Change) and (
            item.kind == "unmatched" or (item.row.get("id") not in excluded and dataset not in excluded)
        ):
            yield item


def _remaining_edge(jobs: _Jobs, edge: Change) -> Iterator[Change]:
    if edge.kind == "unmatched" or not _is_of_newer(jobs.value, edge.row):
        yield edge
    elif edge.kind != "new":
        yield edge._replace(kind="unchanged", to_write=(), cleared=())


def _keep_existing_ends(_id: str, items: list[tuple[str, Change | _End]]) -> Iterator[Change]:
    is_end_excluded = any(isinstance(item, _End) for _, item in items)
    for _, item in items:
        if isinstance(item, Change) and not (is_end_excluded and item.kind == "new"):
            yield item
