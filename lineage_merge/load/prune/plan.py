"""What is gone, all of it, and whether that much is likely to be a mistake."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from operator import add, itemgetter
from typing import Any

from lineage_merge.graph_format.schema import Row
from lineage_merge.infra.engine.rows import Rows, Shared
from lineage_merge.load.diff import Compared
from lineage_merge.load.diff_counts import DiffCounts
from lineage_merge.load.first_rows import first_rows
from lineage_merge.load.graph_state import StoredVertex
from lineage_merge.load.prune.scope import scope_of
from lineage_merge.load.prune.stale_job_edges import AbsentEdge, absent_of_jobs
from lineage_merge.load.prune.stale_vertices import LostColumn, lost_of_datasets
from lineage_merge.merge.source_completeness import SourceCompleteness
from lineage_merge.model.elements import JobKey

# Of this many edges or more, a merge may retire this part without being told to.
_MOST_PART = 0.3
_FEWEST_EDGES = 20
_SHOWN = 10


@dataclass(frozen=True, slots=True)
class Deletions:
    """What is to be deleted: ids of `edges` and of `vertices`.

    A vertex loses the DAG's tag, and is dropped when no DAG and no edge is left. `examples` are
    the first edges, in words; `refusal` says why that much is likely to be a mistake.
    """

    edges: Rows[str]
    vertices: Rows[str]
    edge_count: int = 0
    vertex_count: int = 0
    examples: tuple[str, ...] = ()
    refusal: str = ""


def plan_deletions(
    nodes: Rows[Compared],
    edges: Rows[Compared],
    vertices: Rows[StoredVertex],
    counts: DiffCounts,
    runs: Mapping[JobKey, int],
    replaced: frozenset[str],
    coverage: SourceCompleteness,
) -> Deletions:
    """Return what the graph has of the DAG and the merge shows to be removed from the pipeline.

    `nodes` and `edges` are as `load.diff` compared them, `counts` their numbers; `vertices` those of
    the graph. `runs`: the successful runs of each job that a source read. `replaced` are the ids of absent
    edges that the merge has at another dataset, which their ends mean now (`load.renames`): they are deleted
    with it, and are no loss that could be a mistake.
    """
    engine = nodes.engine
    if not counts.unmatched and not counts.absent:
        return Deletions(engine.empty(), engine.empty())  # as usual
    scope = scope_of(nodes, vertices, coverage, counts)
    of_jobs = absent_of_jobs(nodes, edges, runs, replaced, vertices, scope).cache()
    of_datasets = lost_of_datasets(of_jobs, nodes, edges, replaced, scope).cache()
    deleted = of_jobs.flat_map(_deleted_row).union(of_datasets.flat_map(_column_row))
    # Counted at once: what is deleted must not depend on what the graph holds later.
    numbers = dict(
        of_jobs.flat_map(_kinds_of_edge)
        .union(of_datasets.flat_map(_kinds_of_lost))
        .combine(_itself, add, add)
        .collect()
    )
    edge_count, vertex_count = numbers.get("edge", 0), numbers.get("vertex", 0)
    ids, vertex_ids = deleted.map(itemgetter("id")), of_datasets.flat_map(_vertex_id)
    if not edge_count:
        return Deletions(ids, vertex_ids, 0, vertex_count)
    bare = [f"{kind} {name}" for kind, name in sorted(of_jobs.flat_map(_bare_job).distinct().collect())]
    first = first_rows(deleted, _SHOWN, _place)
    examples = tuple(f"{row['from']} -{row['label']}-> {row['to']}" for row in first)
    lost = edge_count - numbers.get("replaced", 0)
    refusal = _refusal(lost, counts.stored_edges, bare, examples)
    if refusal:
        # What a job of another name does alike is not lost: a job was renamed.
        renamed = _renamed(deleted, edges, replaced)
        refusal = _refusal(lost - renamed, counts.stored_edges, bare, examples)
    return Deletions(ids, vertex_ids, edge_count, vertex_count, examples, refusal)


def _deleted_row(edge: AbsentEdge) -> Iterable[Row]:
    return (edge.row,) if edge.deleted else ()


def _column_row(lost: LostColumn | str) -> Iterable[Row]:
    return (lost.row,) if isinstance(lost, LostColumn) else ()


def _vertex_id(lost: LostColumn | str) -> Iterable[str]:
    return (lost,) if isinstance(lost, str) else ()


def _kinds_of_edge(edge: AbsentEdge) -> Iterator[tuple[str, int]]:
    if edge.deleted:
        yield "edge", 1
        if edge.replaced:
            yield "replaced", 1


def _kinds_of_lost(lost: LostColumn | str) -> Iterator[tuple[str, int]]:
    if isinstance(lost, str):
        yield "vertex", 1
        return
    yield "edge", 1
    if lost.replaced:
        yield "replaced", 1


def _itself(count: int) -> int:
    return count


def _bare_job(edge: AbsentEdge) -> Iterable[JobKey]:
    is_bare = edge.deleted and edge.bare
    return (JobKey(edge.row.get("job_type", ""), edge.row["job_name"]),) if is_bare else ()


def _place(row: Row) -> tuple[Any, ...]:
    return row.get("job_name") is not None, row.get("job_name") or "", row["label"], row["from"], row["to"]


_Alike = tuple[str, str, str, str]


def _renamed(deleted: Rows[Row], edges: Rows[Compared], replaced: frozenset[str]) -> int:
    """Count the deleted edges that the merge has between the same ends, by another job of that type."""
    shared = deleted.engine.share(replaced)
    rows: Rows[tuple[_Alike, bool]] = deleted.flat_map(partial(_alike_deleted, shared))
    counts = rows.union(edges.flat_map(_alike_of_merge)).group(itemgetter(0), _count_renamed)
    return sum(counts.collect())


def _alike(row: Row) -> _Alike:
    start = "" if row["label"] == "writes" else row["from"]  # the job itself
    return row["label"], start, row["to"], row["job_type"]


def _alike_deleted(replaced: Shared[frozenset[str]], row: Row) -> Iterable[tuple[_Alike, bool]]:
    is_lost = row["id"] not in replaced.value and "job_type" in row
    return ((_alike(row), True),) if is_lost else ()


def _alike_of_merge(edge: Compared) -> Iterable[tuple[_Alike, bool]]:
    is_of_job = edge.change != "absent" and edge.row.get("job_name") is not None
    return ((_alike(edge.row), False),) if is_of_job and "job_type" in edge.row else ()


def _count_renamed(_key: _Alike, found: list[tuple[_Alike, bool]]) -> Iterable[int]:
    return (sum(is_deleted for _, is_deleted in found),) if not all(each for _, each in found) else ()


def _refusal(count: int, held: int, jobs: list[str], examples: tuple[str, ...]) -> str:
    """Why a merge would take out so much that it may be a mistake; "" where it would not.

    That is more than 30% of the DAG's edges (of at least 20), or every edge of a job, unless
    that is a job which a dbt manifest dropped.
    """
    reasons = []
    if held >= _FEWEST_EDGES and count > _MOST_PART * held:
        reasons.append(f"{count} of the DAG's {held} edges")
    if jobs:
        more = " and more" if len(jobs) > _SHOWN else ""
        reasons.append(f"every edge of {', '.join(jobs[:_SHOWN])}{more}")
    if not reasons:
        return ""
    return (
        f"would retire {' and '.join(reasons)}; nothing was written. If that is meant, --allow-retire"
        f" goes on. Among what would go: {'; '.join(examples)}"
    )
