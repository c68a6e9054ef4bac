"""Declared edges yield to what tools report: edges of other jobs between the same datasets or columns."""

from collections.abc import Collection, Iterable
from functools import partial
from typing import NamedTuple

from lineage_merge.infra.engine.rows import Rows, Shared
from lineage_merge.model.elements import Feeds, FeedsColumn, Job, JobKey, Problem, Writes, decode
from lineage_merge.model.records import ElementRecord
from lineage_merge.naming.jobs import DECLARED


class _Edge(NamedTuple):
    """The ends of an edge between datasets, or columns."""

    source: str
    target: str
    source_column: str = ""
    target_column: str = ""


class Remaining(NamedTuple):
    """The records without declared edges that a tool reports, and a notice for each of these."""

    records: Rows[ElementRecord]
    problems: tuple[Problem, ...] = ()


def drop_reported(records: Rows[ElementRecord]) -> Remaining:
    """Return the records without declared edges that a tool reports. They are read up to three times."""
    declared = records.filter(_is_declared).collect()
    if not declared:
        return Remaining(records)
    flows = [(_edge_of(record), record.job) for record in declared if isinstance(record, Feeds | FeedsColumn)]
    jobs_of = dict(flows)
    shared = records.engine.share(frozenset(jobs_of))
    reported = frozenset(records.flat_map(partial(_find_reported, shared)).distinct().collect())
    if not reported:
        return Remaining(records)
    # A job stays with the columns that no tool reports: it has who declares them.
    needed = {(job, edge.target) for edge, job in flows if edge not in reported}
    problems = tuple(_explain(edge, jobs_of[edge]) for edge in sorted(reported) if not edge.target_column)
    dropped = partial(_is_kept, reported, frozenset(needed), frozenset(job for job, _ in needed))
    return Remaining(records.filter(dropped), problems)


def _is_declared(record: ElementRecord) -> bool:
    return isinstance(record, Feeds | FeedsColumn | Writes) and record.job.job_type == DECLARED


def _edge_of(record: Feeds[str] | FeedsColumn[str]) -> _Edge:
    if isinstance(record, Feeds):
        return _Edge(record.source, record.target)
    columns = record.source_column.casefold(), record.target_column.casefold()
    return _Edge(record.source, record.target, *columns)


def _find_reported(declared: Shared[Collection[_Edge]], record: ElementRecord) -> Iterable[_Edge]:
    if isinstance(record, Feeds | FeedsColumn) and record.job.job_type != DECLARED:
        edge = _edge_of(record)
        if edge in declared.value:
            yield edge


def _is_kept(
    reported: Collection[_Edge],
    needed: Collection[tuple[JobKey, str]],
    jobs: Collection[JobKey],
    record: ElementRecord,
) -> bool:
    match record:
        case Feeds() | FeedsColumn() if record.job.job_type == DECLARED:
            return _edge_of(record) not in reported
        case Writes(job, target) if job.job_type == DECLARED:
            return (job, target) in needed
        case Job(key) if key.job_type == DECLARED:
            return key in jobs
    return True


def _explain(edge: _Edge, job: JobKey) -> Problem:
    ends = " to ".join("|".join(map(decode, end.split("|")[1:])) for end in (edge.source, edge.target))
    return Problem("notice", job.name, "", f"a tool reports {ends}: the declaration is no longer needed")
