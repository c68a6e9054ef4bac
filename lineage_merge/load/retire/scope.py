"""What a merge may retire at all: which projects it has whole, and which jobs it looked at."""

from dataclasses import dataclass

from pyspark.sql import DataFrame, Row
from pyspark.sql import functions as F  # noqa: N812 (its name everywhere)

from lineage_merge.load.existing import Existing
from lineage_merge.load.tally import Tally
from lineage_merge.load.texts import one
from lineage_merge.merge.coverage import Coverage


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


def scope_of(nodes: DataFrame, existing: Existing, coverage: Coverage, counts: Tally) -> Scope:
    """The scope of a merge that has these `nodes` and that `coverage`, next to what the graph holds."""
    projects, everything = _covered(nodes, existing, coverage)
    return Scope(
        frozenset(projects),
        frozenset(coverage.projects),
        coverage.runs,
        coverage.retire_after,
        everything,
        # A worker that cannot read columns (no SQL parser, say) must not take away all there are.
        counts.column_tellers,
    )


def _covered(nodes: DataFrame, existing: Existing, coverage: Coverage) -> tuple[list[str], bool]:
    """The projects (``dbt tickit``) that a merge has whole and as new as the graph (a short list).

    And whether every job that the graph has of the DAG is of a source that the merge looked at.
    """
    told = nodes.where("label = 'job'").select(
        F.lit(True).alias("told"), "job_type", "project", "described_at", F.col("last_run_at").alias("at")
    )
    there = existing.vertices.where("label = 'job'").select(
        F.lit(False).alias("told"),
        one("job_type").alias("job_type"),
        one("project").alias("project"),
        one("described_at").cast("bigint").alias("described_at"),
        one("last_run_at").cast("bigint").alias("at"),
    )
    moments = [F.max(name).alias(name) for name in ("described_at", "at")]
    by = told.union(there).groupBy("told", "job_type", "project").agg(*moments).collect()
    whole = {kind for kind, read in coverage.projects.items() if read}
    at = {_project(row): row for row in by if row.told and row.job_type in whole and row.project}
    by_kind = [row for row in by if not row.told]
    newer = {_project(row) for row in by_kind if _is_newer(row, at.get(_project(row)))}
    projects = sorted(set(at) - newer)
    types = {*coverage.job_types, *(row.job_type for row in by if row.told)} if coverage.runs else set()
    everything = all(
        _project(row) in projects if row.job_type in coverage.projects else row.job_type in types
        for row in by_kind
    )
    return projects, everything


def _is_newer(held: Row, incoming: Row | None) -> bool:
    """Whether the graph has a project from later: by its manifests, where both sides have one."""
    if incoming is None:
        return bool(held.at)
    if incoming.described_at and held.described_at:
        return bool(held.described_at > incoming.described_at)
    return bool((held.at or 0) > max(incoming.described_at or 0, incoming.at or 0))


def _project(row: Row) -> str:
    return f"{row.job_type} {row.project}"
