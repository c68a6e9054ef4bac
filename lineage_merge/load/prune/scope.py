"""Scope of deletions: the projects that a merge has completely, and the jobs that it read."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

from lineage_merge.graph_format.schema import Row
from lineage_merge.infra.engine.rows import Rows
from lineage_merge.load.diff import Compared
from lineage_merge.load.diff_counts import DiffCounts
from lineage_merge.load.graph_state import StoredVertex
from lineage_merge.merge.source_completeness import SourceCompleteness


@dataclass(frozen=True, slots=True)
class Scope:
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


class _Project(NamedTuple):
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
) -> Scope:
    """Return the scope of a merge with these `nodes` and that `coverage`; `vertices`: the stored ones."""
    projects, everything = _covered(nodes, vertices, coverage)
    return Scope(
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
    jobs: Rows[tuple[_Project, _Moments]] = nodes.flat_map(_job_of_merge)
    found = jobs.union(vertices.flat_map(_stored_job)).combine(_identity, _latest, _latest).collect()
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


def _job_of_merge(node: Compared) -> Iterable[tuple[_Project, _Moments]]:
    is_job = node.row.get("label") == "job" and node.change != "unmatched"
    return (_job(node.row, in_merge=True),) if is_job else ()


def _stored_job(vertex: StoredVertex) -> Iterable[tuple[_Project, _Moments]]:
    return (_job(vertex.properties, in_merge=False),) if vertex.label == "job" else ()


def _job(values: Row, *, in_merge: bool) -> tuple[_Project, _Moments]:
    moments = (None if values.get(name) is None else int(values[name]) for name in _Moments._fields)
    return _Project(in_merge, values.get("job_type"), values.get("project")), _Moments(*moments)


def _identity(moments: _Moments) -> _Moments:
    return moments


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
