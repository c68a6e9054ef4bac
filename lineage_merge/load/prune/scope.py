"""What a merge may retire at all: which projects it has whole, and which jobs it read."""

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
    """What a merge may retire: of `projects` (``dbt tickit``) that it has whole, of jobs whose runs it read.

    `by_project`: the types of jobs that are told project by project. `everything`: it looked at all that
    the graph has of the DAG. `tells_columns`: the types of jobs of which it knows columns at all.
    """

    projects: frozenset[str]
    by_project: frozenset[str]
    runs: bool
    retire_after: int
    everything: bool
    tells_columns: frozenset[str]


class _Project(NamedTuple):
    """A project of a merge, or as the graph has it; `project` is None for the jobs of no project."""

    in_merge: bool
    job_type: str | None
    project: str | None

    @property
    def name(self) -> str:
        return f"{self.job_type} {self.project}"


class _Moments(NamedTuple):
    """The latest times of the jobs of a project."""

    described_at: int | None
    last_run_at: int | None


def scope_of(
    nodes: Rows[Compared], vertices: Rows[StoredVertex], coverage: SourceCompleteness, counts: DiffCounts
) -> Scope:
    """Return the scope of a merge that has these `nodes` and that `coverage`; the graph has `vertices`."""
    projects, everything = _covered(nodes, vertices, coverage)
    return Scope(
        frozenset(projects),
        frozenset(coverage.projects),
        coverage.runs,
        coverage.retire_after,
        everything,
        # A worker that cannot read columns (no SQL parser, say) must not take away all there are.
        counts.column_job_types,
    )


def _covered(
    nodes: Rows[Compared], vertices: Rows[StoredVertex], coverage: SourceCompleteness
) -> tuple[list[str], bool]:
    """Return the projects (``dbt tickit``) that a merge has whole and as new as the graph (a short list).

    And whether every job that the graph has of the DAG is of a source that the merge read.
    """
    jobs: Rows[tuple[_Project, _Moments]] = nodes.flat_map(_job_of_merge)
    found = jobs.union(vertices.flat_map(_stored_job)).combine(_itself, _latest, _latest).collect()
    incoming = [(project, at) for project, at in found if project.in_merge]
    stored = [(project, at) for project, at in found if not project.in_merge]
    whole = {kind for kind, is_whole in coverage.projects.items() if is_whole}
    known = {each.name: at for each, at in incoming if each.job_type in whole and each.project}
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
    return (_job(vertex.held, in_merge=False),) if vertex.label == "job" else ()


def _job(values: Row, *, in_merge: bool) -> tuple[_Project, _Moments]:
    moments = (None if values.get(name) is None else int(values[name]) for name in _Moments._fields)
    return _Project(in_merge, values.get("job_type"), values.get("project")), _Moments(*moments)


def _itself(moments: _Moments) -> _Moments:
    return moments


def _latest(one: _Moments, other: _Moments) -> _Moments:
    known = ([each for each in pair if each is not None] for pair in zip(one, other, strict=True))
    return _Moments(*(max(each, default=None) for each in known))


def _is_newer(stored: _Moments, incoming: _Moments | None) -> bool:
    """Whether the graph has a project from later: by its manifests, where both sides have one."""
    if incoming is None:
        return bool(stored.last_run_at)
    if incoming.described_at and stored.described_at:
        return stored.described_at > incoming.described_at
    return (stored.last_run_at or 0) > max(incoming.described_at or 0, incoming.last_run_at or 0)
