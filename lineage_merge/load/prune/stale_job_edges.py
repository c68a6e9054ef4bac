"""Decides, per job, which of its unmatched edges are stale."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from operator import itemgetter
from typing import NamedTuple

from lineage_merge.graph_format.schema import Row
from lineage_merge.infra.engine.rows import Rows, Shared
from lineage_merge.load.diff import Compared
from lineage_merge.load.diff_counts import COLUMN_EDGE_LABELS
from lineage_merge.load.graph_state import StoredVertex, dataset_of_end
from lineage_merge.load.prune.scope import Scope
from lineage_merge.model.elements import JobKey
from lineage_merge.sources.dbt.jobs import project_of


class UnmatchedEdge(NamedTuple):
    """An edge that the merge does not have, and whether it is to be deleted.

    `empties_job`: its job, which the merge has, loses all its edges. `replaced`: the merge has the edge at
    another dataset.
    """

    row: Row
    deleted: bool
    empties_job: bool = False
    replaced: bool = False


@dataclass(slots=True)
class JobFacts:
    """Facts about one job. `runs`: number of successful runs that were read."""

    job_type: str
    name: str
    project: str | None = None
    ran: bool = False
    written: set[str] = field(default_factory=set)
    runs: int | None = None

    def is_stale(self, label: str, target: str, scope: Scope) -> bool:
        """Return whether an unmatched edge of the job is stale; `target`: the dataset at its end."""
        if label in COLUMN_EDGE_LABELS and self.job_type not in scope.column_job_types:
            return False
        if self.job_type in scope.by_project:
            return f"{self.job_type} {self._project()}" in scope.projects
        if not scope.runs or not self.ran:
            return False
        # Operations belong to the newest run; the newest write determines the inputs of a target.
        if label == "follows" or target in self.written:
            return True
        # None of the runs that were read wrote the target.
        return scope.retire_after > 0 and (self.runs or 0) >= scope.retire_after

    def _project(self) -> str:
        if self.project:
            return self.project
        # An exposure has no job; its name contains the project.
        return project_of(self.name)


def find_stale_job_edges(
    nodes: Rows[Compared],
    edges: Rows[Compared],
    runs: Mapping[JobKey, int],
    replaced: frozenset[str],
    vertices: Rows[StoredVertex],
    scope: Scope,
) -> Rows[UnmatchedEdge]:
    """Return the unmatched edges of jobs; `runs`: number of successful runs of each job that were read."""
    jobs = frozenset(edges.flat_map(_job_of_unmatched).distinct().collect())
    if not jobs:
        return edges.engine.empty()
    affected = edges.engine.share(jobs)
    facts: Rows[tuple[JobKey, _Fact]] = edges.flat_map(partial(_edge_of_job, affected))
    facts = facts.union(
        nodes.flat_map(partial(_job_of_merge, affected)), vertices.flat_map(partial(_stored_job, affected))
    )
    known = edges.engine.share(({job: number for job, number in runs.items() if job in jobs}, replaced))
    return facts.group(itemgetter(0), partial(_decide_job, scope, known))


# A fact about a job: an edge, its stored project (or None), or that the merge has it (True).
_Fact = Compared | str | bool | None


def _job_of_unmatched(edge: Compared) -> Iterable[JobKey]:
    return (_job_of(edge.row),) if edge.change == "unmatched" and "job_name" in edge.row else ()


def _job_of(row: Row) -> JobKey:
    return JobKey(row.get("job_type", ""), row["job_name"])


def _edge_of_job(affected: Shared[frozenset[JobKey]], edge: Compared) -> Iterator[tuple[JobKey, _Fact]]:
    if edge.row.get("job_name") is not None and (job := _job_of(edge.row)) in affected.value:
        yield job, edge._replace(row={name: edge.row[name] for name in _EDGE_NAMES if name in edge.row})


def _job_of_merge(affected: Shared[frozenset[JobKey]], node: Compared) -> Iterator[tuple[JobKey, _Fact]]:
    if node.row.get("label") == "job" and node.change != "unmatched":
        job = JobKey(node.row.get("job_type", ""), node.row.get("name", ""))
        if job in affected.value:
            yield job, True


def _stored_job(affected: Shared[frozenset[JobKey]], vertex: StoredVertex) -> Iterator[tuple[JobKey, _Fact]]:
    if vertex.label == "job":
        job = JobKey(vertex.properties.get("job_type", ""), vertex.properties.get("name", ""))
        if job in affected.value:
            yield job, vertex.properties.get("project")


_EDGE_NAMES = ("id", "label", "from", "to", "job_type", "job_name")


def _decide_job(
    scope: Scope,
    known: Shared[tuple[Mapping[JobKey, int], frozenset[str]]],
    key: JobKey,
    facts: list[tuple[JobKey, _Fact]],
) -> Iterator[UnmatchedEdge]:
    runs, replaced_ids = known.value
    job = JobFacts(*key, runs=runs.get(JobKey(*key)))
    unmatched: list[Row] = []
    replaced: list[Row] = []
    keeps_edges = False
    for _, fact in facts:
        match fact:
            case Compared(change="unmatched", row=row):
                (replaced if row["id"] in replaced_ids else unmatched).append(row)
            case Compared(change=change, row=row):
                keeps_edges = keeps_edges or change != "new"
                if row["label"] == "writes":
                    job.written.add(row["to"])
            case True:
                job.ran = True
            case _:
                job.project = fact if isinstance(fact, str) else None
    # A target that the job now writes under another name counts as written.
    job.written.update(row["to"] for row in replaced if row["label"] == "writes")
    deleted = [job.is_stale(row["label"], dataset_of_end(row, "to"), scope) for row in unmatched]
    # A job that its manifest no longer has loses all its edges as intended.
    empties_job = job.ran and not keeps_edges and not replaced and all(deleted)
    for row, is_deleted in zip(unmatched, deleted, strict=True):
        yield UnmatchedEdge(row, is_deleted, empties_job=empties_job)
    for row in replaced:
        yield UnmatchedEdge(row, True, replaced=True)
