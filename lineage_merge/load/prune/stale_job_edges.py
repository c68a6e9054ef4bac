"""Decided job by job: which of its edges are gone."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from operator import itemgetter
from typing import NamedTuple

from lineage_merge.graph_format.schema import Row
from lineage_merge.infra.engine.rows import Rows, Shared
from lineage_merge.load.diff import Compared
from lineage_merge.load.diff_counts import OF_COLUMNS
from lineage_merge.load.graph_state import StoredVertex
from lineage_merge.load.prune.scope import Scope
from lineage_merge.model.elements import JobKey
from lineage_merge.sources.dbt.jobs import project_of


class AbsentEdge(NamedTuple):
    """An edge that the merge does not have: whether it is to be deleted.

    `bare`: a job that the merge has loses all it had; `replaced`: the merge has the edge at another dataset.
    """

    row: Row
    deleted: bool
    bare: bool = False
    replaced: bool = False


@dataclass(slots=True)
class JobFacts:
    """What is known of one job. `runs`: successful ones that were read."""

    job_type: str
    name: str
    project: str | None = None
    ran: bool = False
    written: set[str] = field(default_factory=set)
    runs: int | None = None

    def loses(self, label: str, target: str, scope: Scope) -> bool:
        """Whether an edge of it that the merge does not tell is gone; `target` is where it ends."""
        if label in OF_COLUMNS and self.job_type not in scope.tells_columns:
            return False
        if self.job_type in scope.by_project:
            return f"{self.job_type} {self._project()}" in scope.projects
        if not scope.runs or not self.ran:
            return False
        # The steps of a job are those of its newest run; the newest write says what feeds a target.
        if label == "follows" or target in self.written:
            return True
        # No run that was read wrote the target: all of them are later.
        return scope.retire_after > 0 and (self.runs or 0) >= scope.retire_after

    def _project(self) -> str:
        if self.project:
            return self.project
        # An exposure has no job; its name says whose it is.
        return project_of(self.name)


def absent_of_jobs(
    nodes: Rows[Compared],
    edges: Rows[Compared],
    runs: Mapping[JobKey, int],
    replaced: frozenset[str],
    vertices: Rows[StoredVertex],
    scope: Scope,
) -> Rows[AbsentEdge]:
    """Return the absent edges of jobs; `runs`: successful ones of each job that were read."""
    jobs = frozenset(edges.flat_map(_absent_job).distinct().collect())
    if not jobs:
        return edges.engine.empty()
    affected = edges.engine.share(jobs)
    facts: Rows[tuple[JobKey, _Fact]] = edges.flat_map(partial(_edge_of_job, affected))
    facts = facts.union(
        nodes.flat_map(partial(_job_of_merge, affected)), vertices.flat_map(partial(_stored_job, affected))
    )
    known = edges.engine.share(({job: number for job, number in runs.items() if job in jobs}, replaced))
    return facts.group(itemgetter(0), partial(_decide_job, scope, known))


# An edge of the job, its project as the graph has it (or none), or that the merge has the job (True).
_Fact = Compared | str | bool | None


def _absent_job(edge: Compared) -> Iterable[JobKey]:
    return (_job_of(edge.row),) if edge.change == "absent" and "job_name" in edge.row else ()


def _job_of(row: Row) -> JobKey:
    return JobKey(row.get("job_type", ""), row["job_name"])


def _edge_of_job(affected: Shared[frozenset[JobKey]], edge: Compared) -> Iterator[tuple[JobKey, _Fact]]:
    if edge.row.get("job_name") is not None and (job := _job_of(edge.row)) in affected.value:
        yield job, edge._replace(row={name: edge.row[name] for name in _EDGE if name in edge.row})


def _job_of_merge(affected: Shared[frozenset[JobKey]], node: Compared) -> Iterator[tuple[JobKey, _Fact]]:
    if node.row.get("label") == "job" and node.change != "unmatched":
        job = JobKey(node.row.get("job_type", ""), node.row.get("name", ""))
        if job in affected.value:
            yield job, True


def _stored_job(affected: Shared[frozenset[JobKey]], vertex: StoredVertex) -> Iterator[tuple[JobKey, _Fact]]:
    if vertex.label == "job":
        job = JobKey(vertex.held.get("job_type", ""), vertex.held.get("name", ""))
        if job in affected.value:
            yield job, vertex.held.get("project")


_EDGE = ("id", "label", "from", "to", "job_type", "job_name")


def _decide_job(
    scope: Scope,
    known: Shared[tuple[Mapping[JobKey, int], frozenset[str]]],
    key: JobKey,
    facts: list[tuple[JobKey, _Fact]],
) -> Iterator[AbsentEdge]:
    runs, replaced_ids = known.value
    job = JobFacts(*key, runs=runs.get(JobKey(*key)))
    absent: list[Row] = []
    replaced: list[Row] = []
    stays = False
    for _, fact in facts:
        match fact:
            case Compared(change="absent", row=row):
                (replaced if row["id"] in replaced_ids else absent).append(row)
            case Compared(change=change, row=row):
                stays = stays or change != "new"
                if row["label"] == "writes":
                    job.written.add(row["to"])
            case True:
                job.ran = True
            case _:
                job.project = fact if isinstance(fact, str) else None
    # A target that the job writes under another name now is written.
    job.written.update(row["to"] for row in replaced if row["label"] == "writes")
    deleted = [job.loses(row["label"], _target(row), scope) for row in absent]
    # A job that its manifest dropped is meant to lose everything.
    bare = job.ran and not stays and not replaced and all(deleted)
    for row, goes in zip(absent, deleted, strict=True):
        yield AbsentEdge(row, goes, bare=bare)
    for row in replaced:
        yield AbsentEdge(row, True, replaced=True)


def _target(edge: Row) -> str:
    """The dataset that an edge ends at; of `feeds_column`, the one whose column it ends at."""
    end: str = edge["to"]
    return end.rpartition("|")[0] if edge["label"] == "feeds_column" else end
