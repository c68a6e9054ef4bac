"""What the runs of each job did: the newest one's facts, and how many good ones there were."""

from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 (its name everywhere)

from lineage_merge.model import Job, JobKey
from lineage_merge.records import Record, row


def job_rows(events: DataFrame, counted_events: DataFrame) -> DataFrame:
    """What the newest run of each job that has a counted write did, failed or not.

    Columns: job_type, job, last_run_id, last_run_at, duration_ms, rows_written, framework, failed.
    """
    # An export can hold a document twice: its rows count once.
    by_run = (
        events.where("plan is not null")
        .drop("dataset", "target", "unlabelled")
        .distinct()
        .groupBy("job_type", "job", "run_id")
        .agg(
            F.max("at").alias("last_run_at"),
            F.max("shown_run_id").alias("last_run_id"),
            F.sum("duration_ms").alias("duration_ms"),
            F.sum("rows").alias("rows_written"),
            F.max("framework").alias("framework"),
            F.max("failed").alias("failed"),
        )
    )
    facts = ("last_run_at", "last_run_id", "duration_ms", "rows_written", "framework", "failed")
    newest = F.max(F.struct(*facts)).alias("newest")
    alive = counted_events.select("job_type", "job").distinct()
    by_job = by_run.groupBy("job_type", "job").agg(newest).select("job_type", "job", "newest.*")
    return by_job.join(alive, ["job_type", "job"], "leftsemi")


def job(row: Any) -> Job:
    """A row of `job_rows` as an element."""
    properties = {
        "framework": row.framework,
        "last_run_id": row.last_run_id,
        "last_run_at": row.last_run_at,
        "duration_ms": row.duration_ms,
        "rows_written": row.rows_written,
        "status": "failed" if row.failed else "succeeded",
    }
    known = {name: value for name, value in properties.items() if value not in (None, "")}
    return Job(JobKey(row.job_type, row.job), row.last_run_at, known)


def good_runs(events: DataFrame) -> DataFrame:
    """How many good runs each job had, all of whose writes ended without error: `job_type`, `job`, `runs`."""
    by_run = events.where("plan is not null").groupBy("job_type", "job", "database", "run_id")
    good = by_run.agg(F.max("failed").alias("failed")).where("not failed")
    return good.groupBy("job_type", "job").agg(F.count("*").alias("runs"))


def good_runs_record(found: Any) -> Record:
    """A row of `good_runs` as a record."""
    return row("runs", job=JobKey(found.job_type, found.job), at=found.runs)
