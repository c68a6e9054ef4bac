"""Plans all deletions of a load, and refuses likely mistakes."""

from collections.abc import Callable, Iterable
from functools import partial
from heapq import nsmallest
from operator import add, attrgetter, itemgetter
from typing import Any, TypeVar

from lineage_merge.graph_format.schema import Row
from lineage_merge.infra.engine.rows import Rows, Shared
from lineage_merge.load.diff import Change
from lineage_merge.load.element_rows import job_of
from lineage_merge.load.load_plan import Comparison, Deletions, MergeOutput
from lineage_merge.load.prune.stale import (
    PruneScope,
    UnmatchedEdge,
    find_stale_job_edges,
    find_stale_vertices,
    scope_of,
)

# A merge that deletes more than this part of a DAG's edges, if it has at least that many, requires
# --allow-retire.
_MAX_PART = 0.3
_MIN_EDGES = 20
_SHOWN = 10


def plan_deletions(merge: MergeOutput, comparison: Comparison, replaced: frozenset[str]) -> Deletions:
    """Return the stored elements of the DAG that the pipeline no longer has, according to the merge.

    `replaced`: ids of unmatched edges that the merge has at the dataset that their ends now resolve to
    (`load.renames`); their deletion cannot be a mistake.
    """
    engine, counts = comparison.nodes.engine, comparison.counts
    if not counts.total("unmatched"):
        return Deletions(engine.empty(), engine.empty())  # as usual
    scope = scope_of(comparison, merge.coverage)
    job_edges = find_stale_job_edges(comparison, merge.runs or {}, replaced, scope).cache()
    of_datasets = find_stale_vertices(job_edges, comparison, replaced, scope).cache()
    edges = job_edges.filter(attrgetter("deleted")).union(
        of_datasets.flat_map(lambda stale: () if isinstance(stale, str) else (stale,))
    )
    vertex_ids = of_datasets.flat_map(lambda stale: (stale,) if isinstance(stale, str) else ())
    # Counted now, so that the deletions do not depend on later changes of the graph.
    counted = job_edges.flat_map(_kind).union(of_datasets.flat_map(_kind))
    numbers = dict(counted.reduce_by_key(add).collect())
    lost, vertex_count = numbers.get("lost", 0), numbers.get("vertex", 0)
    edge_count = lost + numbers.get("replaced", 0)
    deleted = edges.map(attrgetter("row"))
    ids = deleted.map(itemgetter("id"))
    question = _question_of_project(scope)
    if not edge_count:
        return Deletions(ids, vertex_ids, 0, vertex_count, refusal=question)
    emptied = edges.filter(attrgetter("empties_job")).map(lambda edge: job_of(edge.row)).distinct().collect()
    emptied_jobs = [f"{job.job_type} {job.name}" for job in sorted(filter(None, emptied))]
    first = first_rows(deleted, _SHOWN, _sort_key)
    examples = tuple(f"{row['from']} -{row['label']}-> {row['to']}" for row in first)
    refusal = _refusal(lost, counts.stored_edges, emptied_jobs, examples)
    if refusal:
        # Edges that a job of another name has now are not lost: a job was renamed.
        renamed = _count_renamed_edges(deleted, comparison.edges, replaced)
        refusal = _refusal(lost - renamed, counts.stored_edges, emptied_jobs, examples)
    return Deletions(ids, vertex_ids, edge_count, vertex_count, examples, question or refusal)


def _question_of_project(scope: PruneScope) -> str:
    """Return why the manifest may be that of another project; "" if it replaces none."""
    if not (scope.unknown_projects and scope.missing_projects):
        return ""
    unknown, missing = (
        ", ".join(sorted(projects)) for projects in (scope.unknown_projects, scope.missing_projects)
    )
    return (
        f"has {unknown} instead of {missing}, which the graph has for this DAG; nothing was written."
        " Fix: correct dbt[].manifest, or name both; if intended, set dbt[].project, or use --allow-retire"
    )


def _kind(stale: UnmatchedEdge | str) -> Iterable[tuple[str, int]]:
    if isinstance(stale, str):
        return (("vertex", 1),)
    return (("replaced" if stale.replaced else "lost", 1),) if stale.deleted else ()


def _sort_key(row: Row) -> tuple[Any, ...]:
    return row.get("job_name") is not None, row.get("job_name") or "", row["label"], row["from"], row["to"]


_Signature = tuple[str, str, str, str]


def _count_renamed_edges(deleted: Rows[Row], edges: Rows[Change], replaced: frozenset[str]) -> int:
    """Count the deleted edges that the merge has between the same ends, for another job of that type."""
    shared = deleted.engine.share(replaced)
    rows: Rows[tuple[_Signature, bool]] = deleted.flat_map(partial(_find_signature, shared))
    counts = rows.union(edges.flat_map(_merge_signature)).group(itemgetter(0), _count_renamed)
    return sum(counts.collect())


def _signature(row: Row) -> _Signature:
    start = "" if row["label"] == "writes" else row["from"]  # starts at the job itself
    return row["label"], start, row["to"], row["job_type"]


def _find_signature(replaced: Shared[frozenset[str]], row: Row) -> Iterable[tuple[_Signature, bool]]:
    is_lost = row["id"] not in replaced.value and "job_type" in row
    return ((_signature(row), True),) if is_lost else ()


def _merge_signature(edge: Change) -> Iterable[tuple[_Signature, bool]]:
    is_of_job = edge.kind != "unmatched" and edge.row.get("job_name") is not None
    return ((_signature(edge.row), False),) if is_of_job and "job_type" in edge.row else ()


def _count_renamed(_key: _Signature, edges: list[tuple[_Signature, bool]]) -> Iterable[int]:
    return (
        (sum(is_deleted for _, is_deleted in edges),)
        if not all(is_deleted for _, is_deleted in edges)
        else ()
    )


def _refusal(count: int, stored: int, jobs: list[str], examples: tuple[str, ...]) -> str:
    """Return why the deletions are likely to be a mistake; "" if they are not.

    They are if they include more than 30% of the DAG's edges (of at least 20), or all edges of a job that its
    dbt manifest still has.
    """
    reasons = []
    if stored >= _MIN_EDGES and count > _MAX_PART * stored:
        reasons.append(f"{count} of the DAG's {stored} edges")
    if jobs:
        more = " and more" if len(jobs) > _SHOWN else ""
        reasons.append(f"every edge of {', '.join(jobs[:_SHOWN])}{more}")
    if not reasons:
        return ""
    return (
        f"would retire {' and '.join(reasons)}; nothing was written. Fix: if intended, use --allow-retire."
        f" Examples: {'; '.join(examples)}"
    )


T = TypeVar("T")


def first_rows(rows: Rows[T], number: int, key: Callable[[T], Any]) -> list[T]:
    """Return the rows with the smallest keys, in their order."""
    return nsmallest(number, rows.map_partitions(lambda rows: nsmallest(number, rows, key)).collect(), key)
