"""The jobs of a log with their newest runs, as elements. Pure."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from lineage_merge.infra.engine.rows import Shared
from lineage_merge.model.elements import Element, Job, JobKey, Problem, Scalar, SuccessfulRuns
from lineage_merge.sources.query_log.lineage.dbt_jobs import DbtJobs
from lineage_merge.sources.query_log.settings import QueryLog
from lineage_merge.sources.query_log.statements.job_runs import Run
from lineage_merge.sources.query_log.statements.owners import DBT
from lineage_merge.sources.query_log.statements.session_rows import NamedRuns


class JobName(NamedTuple):
    """The name in the graph of a job with lineage."""

    job: tuple[str, str]
    name: str


def job_elements(
    log: QueryLog, dbt: Shared[DbtJobs], job: tuple[str, str], rows: Sequence[NamedRuns | JobName]
) -> Iterator[Element]:
    """Yield a job of sessions under its names in the graph."""
    kind, name = job
    runs = next((row.runs for row in rows if isinstance(row, NamedRuns)), None)
    names = {row.name for row in rows if isinstance(row, JobName)}
    if kind == DBT:
        target, _, node = name.rpartition("/")
        names = set(dbt.value.names(node, target, log.namespace))
        if len(names) > 1:
            why = f"runs of a node of several projects are not attributed: {', '.join(sorted(names))}"
            yield Problem("notice", str(log), node, why)
            return
    for graph_name in sorted(names):
        key = JobKey(kind or log.job_type, graph_name)
        if runs is None:
            yield Job(key, properties={"framework": log.dialect})
            continue
        yield Job(key, runs.newest.ended, _properties(runs.newest, "" if kind else log.dialect))
        if not kind:
            yield SuccessfulRuns(key, runs.successful)


def _properties(run: Run, framework: str) -> dict[str, Scalar]:
    known: dict[str, Scalar | None] = {
        "framework": framework or None,
        "last_run_id": run.id,
        "last_run_at": run.ended or None,
        "duration_ms": run.duration_ms,
        "rows_written": run.rows,
        "status": "failed" if run.failed else "succeeded",
    }
    return {name: value for name, value in known.items() if value is not None}
