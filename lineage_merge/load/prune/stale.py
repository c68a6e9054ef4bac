"""Decides what a merge may delete: per job which unmatched edges, per dataset which columns and vertices."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from operator import itemgetter
from typing import Literal, NamedTuple

from lineage_merge.graph_format.schema import RUN_LABELS, Row
from lineage_merge.infra.batches import gather
from lineage_merge.infra.engine.rows import Rows, Shared
from lineage_merge.load.diff import Change
from lineage_merge.load.element_rows import dataset_of, dataset_of_end, job_of
from lineage_merge.load.graph_state import StoredVertex
from lineage_merge.load.load_plan import COLUMN_EDGE_LABELS, Comparison
from lineage_merge.merge.source_completeness import SourceCompleteness
from lineage_merge.model.elements import JobKey
from lineage_merge.model.times import is_later
from lineage_merge.naming.jobs import DBT, DECLARED, project_of


@dataclass(frozen=True, slots=True)
class PruneScope:
    """What a merge may delete: lineage of complete `projects` (``dbt tickit``), and what its `coverage` says.

    `everything`: the merge read the sources of all stored jobs of the DAG. `column_job_types`: types of the
    jobs for which it has column lineage. `unknown_projects`: dbt projects of the merge that neither the graph
    nor the configuration knows; `missing_projects`: those of the graph that the merge does not have.
    """

    projects: frozenset[str]
    coverage: SourceCompleteness
    everything: bool
    column_job_types: frozenset[str]
    unknown_projects: frozenset[str] = frozenset()
    missing_projects: frozenset[str] = frozenset()


class _Project(NamedTuple):
    """A project, of the merge or stored; `project` is None for jobs without a project."""

    in_merge: bool
    job_type: str | None
    project: str | None

    @property
    def name(self) -> str:
        return f"{self.job_type} {self.project}"


# Latest `described_at` and `last_run_at` of the jobs of a project; 0: unknown.
_Times = tuple[int, int]


def scope_of(comparison: Comparison, coverage: SourceCompleteness) -> PruneScope:
    """Return the scope of a compared merge with that `coverage`.

    Projects are complete if they are not older than stored, and everything is if the merge read the source of
    each stored job of the DAG.
    """
    jobs: Rows[tuple[_Project, _Times]] = comparison.nodes.flat_map(_project_of_merge)
    jobs_found = jobs.union(comparison.vertices.flat_map(_read_project)).reduce_by_key(_latest).collect()
    incoming = [(project, times) for project, times in jobs_found if project.in_merge]
    stored = [(project, times) for project, times in jobs_found if not project.in_merge]
    complete = {kind for kind, is_complete in coverage.projects.items() if is_complete}
    known = {
        project.name: times for project, times in incoming if project.job_type in complete and project.project
    }
    if DECLARED in complete:
        # The configuration has all declarations of the DAG: also a file without entries left is complete.
        known |= {project.name: times for project, times in stored if project.job_type == DECLARED}
    newer = {project.name for project, times in stored if _is_newer(times, known.get(project.name))}
    projects = frozenset(known.keys() - newer)
    types = {*coverage.job_types, *(project.job_type for project, _ in incoming)} if coverage.runs else set()
    everything = all(
        project.name in projects if project.job_type in coverage.projects else project.job_type in types
        for project, _ in stored
    )
    # A worker that cannot read columns (for example without a SQL parser) must not delete all of them.
    of_merge, of_graph = (_dbt_projects(found) for found in (incoming, stored))
    return PruneScope(
        projects,
        coverage,
        everything,
        comparison.counts.column_job_types,
        unknown_projects=of_merge - of_graph - coverage.stated_projects,
        missing_projects=of_graph - of_merge,
    )


def _dbt_projects(found: Iterable[tuple[_Project, _Times]]) -> frozenset[str]:
    return frozenset(project.name for project, _ in found if project.job_type == DBT and project.project)


def _project_of_merge(node: Change) -> Iterable[tuple[_Project, _Times]]:
    is_job = node.row.get("label") == "job" and node.kind != "unmatched"
    return (_project_of(node.row, in_merge=True),) if is_job else ()


def _read_project(vertex: StoredVertex) -> Iterable[tuple[_Project, _Times]]:
    return (_project_of(vertex.properties, in_merge=False),) if vertex.label == "job" else ()


def _project_of(job: Row, *, in_merge: bool) -> tuple[_Project, _Times]:
    times = int(job.get("described_at") or 0), int(job.get("last_run_at") or 0)
    return _Project(in_merge, job.get("job_type"), job.get("project")), times


def _latest(one: _Times, other: _Times) -> _Times:
    return max(one[0], other[0]), max(one[1], other[1])


def _is_newer(stored: _Times, incoming: _Times | None) -> bool:
    """Return whether the stored project is newer, by its manifests if both have one."""
    if incoming is None:
        return bool(stored[1])
    if incoming[0] and stored[0]:
        return is_later(stored[0], incoming[0])
    return is_later(stored[1], max(incoming))


class UnmatchedEdge(NamedTuple):
    """An edge that the merge does not have, and whether it is to be deleted.

    `replaced`: the merge has the edge at another dataset. `empties_job`: its job, which the merge has, loses
    all its edges.
    """

    row: Row
    deleted: bool
    replaced: bool = False
    empties_job: bool = False


@dataclass(slots=True)
class _JobFacts:
    """Facts about one job. `runs`: number of successful runs that were read."""

    job_type: str
    name: str
    project: str | None = None
    ran: bool = False
    written: set[str] = field(default_factory=set)
    runs: int | None = None

    def is_stale(self, row: Row, scope: PruneScope) -> bool:
        """Return whether an unmatched edge of the job is stale."""
        label, target = row["label"], dataset_of_end(row, "to")
        is_of_code = label in COLUMN_EDGE_LABELS or "undeclared" in row
        if is_of_code and JobKey(self.job_type, self.name) in scope.coverage.unread_columns:
            return False
        if label in COLUMN_EDGE_LABELS and self.job_type not in scope.column_job_types:
            return False
        if self.job_type in scope.coverage.projects:
            # An exposure has no job; its name contains the project.
            return f"{self.job_type} {self.project or project_of(self.name)}" in scope.projects
        if not scope.coverage.runs or not self.ran:
            return False
        # Operations belong to the newest run; the newest write determines the inputs of a target.
        if label == "follows" or target in self.written:
            return True
        # None of the runs that were read wrote the target.
        return 0 < scope.coverage.retire_after <= (self.runs or 0)


def find_stale_job_edges(
    comparison: Comparison, runs: Mapping[JobKey, int], replaced: frozenset[str], scope: PruneScope
) -> Rows[UnmatchedEdge]:
    """Return the unmatched edges of jobs; `runs`: number of successful runs of each job that were read."""
    nodes, edges = comparison.nodes, comparison.edges
    unmatched = edges.filter(lambda edge: edge.kind == "unmatched" and "job_name" in edge.row)
    jobs = frozenset(unmatched.map(lambda edge: job_of(edge.row)).distinct().collect())
    if not jobs:
        return edges.engine.empty()
    affected = edges.engine.share(jobs)
    facts: Rows[tuple[JobKey, _JobFact]] = edges.flat_map(partial(_edge_of_job, affected))
    facts = facts.union(
        nodes.flat_map(partial(_job_of_merge, affected)),
        comparison.vertices.flat_map(partial(_read_job, affected)),
    )
    known = edges.engine.share(({job: number for job, number in runs.items() if job in jobs}, replaced))
    return facts.group(itemgetter(0), partial(_decide_job, scope, known))


# A fact about a job: an edge, its stored project (or None), or that the merge has it (True).
_JobFact = Change | str | bool | None


_Jobs = Shared[frozenset[JobKey | None]]


def _edge_of_job(affected: _Jobs, edge: Change) -> Iterator[tuple[JobKey, _JobFact]]:
    if (job := job_of(edge.row)) and job in affected.value:
        yield job, edge._replace(row={name: edge.row[name] for name in _EDGE_NAMES if name in edge.row})


def _job_of_merge(affected: _Jobs, node: Change) -> Iterator[tuple[JobKey, _JobFact]]:
    if node.row.get("label") == "job" and node.kind != "unmatched":
        job = JobKey(node.row.get("job_type", ""), node.row.get("name", ""))
        if job in affected.value:
            yield job, True


def _read_job(affected: _Jobs, vertex: StoredVertex) -> Iterator[tuple[JobKey, _JobFact]]:
    if vertex.label == "job":
        job = JobKey(vertex.properties.get("job_type", ""), vertex.properties.get("name", ""))
        if job in affected.value:
            yield job, vertex.properties.get("project")


_EDGE_NAMES = ("id", "label", "from", "to", "job_type", "job_name", "undeclared")


def _decide_job(
    scope: PruneScope,
    known: Shared[tuple[Mapping[JobKey, int], frozenset[str]]],
    key: JobKey,
    facts: list[tuple[JobKey, _JobFact]],
) -> Iterator[UnmatchedEdge]:
    runs, replaced_ids = known.value
    job = _JobFacts(*key, runs=runs.get(JobKey(*key)))
    unmatched: list[Row] = []
    replaced: list[Row] = []
    keeps_edges = False
    for _, fact in facts:
        match fact:
            case Change(kind="unmatched", row=row):
                (replaced if row["id"] in replaced_ids else unmatched).append(row)
            case Change(kind=change, row=row):
                keeps_edges = keeps_edges or change != "new"
                if row["label"] == "writes":
                    job.written.add(row["to"])
            case True:
                job.ran = True
            case _:
                job.project = fact if isinstance(fact, str) else None
    # A target that the job now writes under another name counts as written.
    job.written.update(row["to"] for row in replaced if row["label"] == "writes")
    deleted = [job.is_stale(row, scope) for row in unmatched]
    # A job that its manifest no longer has loses all its edges as intended.
    empties_job = job.ran and not keeps_edges and not replaced and all(deleted)
    for row, is_deleted in zip(unmatched, deleted, strict=True):
        yield UnmatchedEdge(row, is_deleted, empties_job=empties_job)
    for row in replaced:
        yield UnmatchedEdge(row, deleted=True, replaced=True)


def find_stale_vertices(
    job_edges: Rows[UnmatchedEdge], comparison: Comparison, replaced: frozenset[str], scope: PruneScope
) -> Rows[UnmatchedEdge | str]:
    """Return the `has_column` edges and the ids of the vertices to delete."""
    nodes, edges, engine = comparison.nodes, comparison.edges, comparison.edges.engine
    described = engine.share(frozenset(edges.flat_map(_dataset_of_unmatched).distinct().collect()))
    facts: Rows[tuple[str, _Fact]] = job_edges.flat_map(_ends)
    facts = facts.union(
        nodes.flat_map(_list_unmatched),
        edges.flat_map(partial(_column, described, engine.share(replaced))),
        edges.flat_map(partial(_unread_target, scope)),
    )
    return facts.group(itemgetter(0), partial(_decide_dataset, scope))


class _Fact(NamedTuple):
    """A fact about a dataset (or another vertex) and its columns.

    `retained`, `affected`: an end of an unmatched job edge that is retained or deleted. `unmatched`: a vertex
    that the merge does not have, with its label and, of a job or assertion, its project. `column`,
    `replaced`: an unmatched `has_column` edge, and its column; the merge has a replaced one at another
    dataset. `described`: the merge has columns of the dataset.
    """

    kind: Literal["retained", "affected", "unmatched", "column", "replaced", "described"]
    id: str = ""
    value: str | None = None
    label: str = ""


def _dataset_of_unmatched(edge: Change) -> Iterable[str]:
    is_unmatched = edge.kind == "unmatched" and edge.row["label"] == "has_column"
    return (edge.row["from"],) if is_unmatched else ()


def _ends(edge: UnmatchedEdge) -> Iterator[tuple[str, _Fact]]:
    for end in ("from", "to"):
        yield dataset_of_end(edge.row, end), _Fact("affected" if edge.deleted else "retained", edge.row[end])


def _list_unmatched(node: Change) -> Iterator[tuple[str, _Fact]]:
    if node.kind == "unmatched":
        identifier, label = node.row["id"], node.row["label"]
        dataset = dataset_of(identifier, label == "column")
        yield dataset, _Fact("unmatched", identifier, node.row.get("project"), label)


def _column(
    described: Shared[frozenset[str]], replaced: Shared[frozenset[str]], edge: Change
) -> Iterator[tuple[str, _Fact]]:
    row = edge.row
    if row.get("label") != "has_column":
        return
    if edge.kind == "unmatched":
        is_replaced = row["id"] in replaced.value
        yield row["from"], _Fact("replaced" if is_replaced else "column", row["id"], row["to"])
    elif row["from"] in described.value:
        yield row["from"], _Fact("described")


def _unread_target(scope: PruneScope, edge: Change) -> Iterable[tuple[str, _Fact]]:
    """Return that the columns of a dataset are retained if the merge cannot know what its job writes."""
    row = edge.row
    is_unread = row["label"] == "writes" and job_of(row) in scope.coverage.unread_columns
    return ((row["to"], _Fact("retained", row["to"])),) if is_unread and edge.kind != "unmatched" else ()


def _decide_dataset(
    scope: PruneScope, identifier: str, facts: list[tuple[str, _Fact]]
) -> Iterator[UnmatchedEdge | str]:
    by_kind = gather((fact.kind, fact) for _, fact in facts)
    retained, affected = ({fact.id for fact in by_kind[kind]} for kind in ("retained", "affected"))
    is_unmatched = any(fact.id == identifier for fact in by_kind["unmatched"])
    is_deleted = is_unmatched and (scope.everything or bool(affected))
    # Columns of deleted datasets are stale, and of those with other columns in the merge.
    all_columns = not retained and (is_deleted or bool(by_kind["described"]))
    needed, touched = set(retained), set(affected)
    for fact in (*by_kind["column"], *by_kind["replaced"]):
        column, is_replaced = fact.value or "", fact.kind == "replaced"
        is_stale = all_columns or (is_replaced and column not in retained)
        (touched if is_stale else needed).update((identifier, column))
        if is_stale:
            row = {"id": fact.id, "label": "has_column", "from": identifier, "to": column}
            yield UnmatchedEdge(row, deleted=True, replaced=is_replaced)
    for fact in by_kind["unmatched"]:
        in_scope = fact.value in scope.projects if fact.label in RUN_LABELS else scope.everything
        if fact.id not in needed and (in_scope or fact.id in touched):
            yield fact.id
