"""Decides what a merge may delete at all, and, per job, which of its unmatched edges are stale."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from operator import itemgetter
from typing import NamedTuple

from lineage_merge.graph_format.schema import Row
from lineage_merge.infra.engine.rows import Rows, Shared
from lineage_merge.load.dataset_ids import dataset_of_end
from lineage_merge.load.diff import Compared
from lineage_merge.load.diff_counts import COLUMN_EDGE_LABELS, DiffCounts
from lineage_merge.load.graph_state import StoredVertex
from lineage_merge.merge.source_completeness import SourceCompleteness
from lineage_merge.model.elements import JobKey
from lineage_merge.sources.dbt.jobs import project_of


@dataclass(frozen=True, slots=True)
class PruneScope:
    """What a merge may delete: lineage of complete `projects` (``dbt tickit``) and, with `runs`, of jobs.

    `by_project`: types of the jobs that are complete per project. `everything`: the merge read the sources of
    all stored jobs of the DAG. `column_job_types`: types of the jobs for which it has column lineage.
    """

    projects: frozenset[str]
    by_project: frozenset[str]
    runs: bool
    retire_after: int
    everything: bool
    column_job_types: frozenset[str]


class _ProjectOfElement(NamedTuple):
    """A project, of the merge or stored; `project` is None for jobs without a project."""

    in_merge: bool
    job_type: str | None
    project: str | None

    @property
    def name(self) -> str:
        return f"{self.job_type} {self.project}"


class _Moments(NamedTuple):
    """Latest times of the jobs of a project."""

    described_at: int | None
    last_run_at: int | None


def scope_of(
    nodes: Rows[Compared], vertices: Rows[StoredVertex], coverage: SourceCompleteness, counts: DiffCounts
) -> PruneScope:
    """Return the scope of a merge with these `nodes` and that `coverage`; `vertices`: the stored ones."""
    projects, everything = _covered(nodes, vertices, coverage)
    return PruneScope(
        frozenset(projects),
        frozenset(coverage.projects),
        coverage.runs,
        coverage.retire_after,
        everything,
        # A worker that cannot read columns (for example without a SQL parser) must not delete all of them.
        counts.column_job_types,
    )


def _covered(
    nodes: Rows[Compared], vertices: Rows[StoredVertex], coverage: SourceCompleteness
) -> tuple[list[str], bool]:
    """Return the complete projects (``dbt tickit``), not older than stored, and whether all jobs are covered.

    All jobs are covered if the merge read the source of each stored job of the DAG.
    """
    jobs: Rows[tuple[_ProjectOfElement, _Moments]] = nodes.flat_map(_keys_of_merge)
    jobs = jobs.union(vertices.flat_map(_stored_keys))
    found = jobs.combine(lambda moments: moments, _latest, _latest).collect()
    incoming = [(project, at) for project, at in found if project.in_merge]
    stored = [(project, at) for project, at in found if not project.in_merge]
    complete = {kind for kind, is_complete in coverage.projects.items() if is_complete}
    known = {each.name: at for each, at in incoming if each.job_type in complete and each.project}
    newer = {each.name for each, at in stored if _is_newer(at, known.get(each.name))}
    projects = sorted(set(known) - newer)
    types = {*coverage.job_types, *(each.job_type for each, _ in incoming)} if coverage.runs else set()
    everything = all(
        each.name in projects if each.job_type in coverage.projects else each.job_type in types
        for each, _ in stored
    )
    return projects, everything


def _keys_of_merge(node: Compared) -> Iterable[tuple[_ProjectOfElement, _Moments]]:
    is_job = node.row.get("label") == "job" and node.change != "unmatched"
    return (_job(node.row, in_merge=True),) if is_job else ()


def _stored_keys(vertex: StoredVertex) -> Iterable[tuple[_ProjectOfElement, _Moments]]:
    return (_job(vertex.properties, in_merge=False),) if vertex.label == "job" else ()


def _job(values: Row, *, in_merge: bool) -> tuple[_ProjectOfElement, _Moments]:
    moments = (None if values.get(name) is None else int(values[name]) for name in _Moments._fields)
    return _ProjectOfElement(in_merge, values.get("job_type"), values.get("project")), _Moments(*moments)


def _latest(one: _Moments, other: _Moments) -> _Moments:
    known = ([each for each in pair if each is not None] for pair in zip(one, other, strict=True))
    return _Moments(*(max(each, default=None) for each in known))


def _is_newer(stored: _Moments, incoming: _Moments | None) -> bool:
    """Return whether the stored project is newer, by its manifests if both have one."""
    if incoming is None:
        return bool(stored.last_run_at)
    if incoming.described_at and stored.described_at:
        return stored.described_at > incoming.described_at
    return (stored.last_run_at or 0) > max(incoming.described_at or 0, incoming.last_run_at or 0)


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
class JobEdgeFacts:
    """Facts about one job. `runs`: number of successful runs that were read."""

    job_type: str
    name: str
    project: str | None = None
    ran: bool = False
    written: set[str] = field(default_factory=set)
    runs: int | None = None

    def is_stale(self, label: str, target: str, scope: PruneScope) -> bool:
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
    scope: PruneScope,
) -> Rows[UnmatchedEdge]:
    """Return the unmatched edges of jobs; `runs`: number of successful runs of each job that were read."""
    unmatched = edges.filter(lambda edge: edge.change == "unmatched" and "job_name" in edge.row)
    jobs = frozenset(unmatched.map(lambda edge: _job_of(edge.row)).distinct().collect())
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
    scope: PruneScope,
    known: Shared[tuple[Mapping[JobKey, int], frozenset[str]]],
    key: JobKey,
    facts: list[tuple[JobKey, _Fact]],
) -> Iterator[UnmatchedEdge]:
    runs, replaced_ids = known.value
    job = JobEdgeFacts(*key, runs=runs.get(JobKey(*key)))
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
