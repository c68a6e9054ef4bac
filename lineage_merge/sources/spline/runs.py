"""Which writes count, and what the newest run of each job did.

A write counts when a `progress` document says that it ended without error. For each job and
target that is the newest one, and what belongs to it in the same run: appends since the last
overwrite, and a write that ended while another one of the same target was under way (CREATE
TABLE AS SELECT reports the inner insert and the outer command).
"""

import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import astuple
from typing import Any, NamedTuple

from pyspark import RDD
from pyspark.sql import DataFrame, SparkSession, Window
from pyspark.sql import functions as F  # noqa: N812 (its name everywhere)

from lineage_merge.model import Job, JobKey, Problem
from lineage_merge.sources.spline.documents import Document, check, is_open
from lineage_merge.sources.spline.naming import application
from lineage_merge.sources.spline.translate import JOB_TYPE

DAY_MS = 24 * 3600 * 1000


class EventRow(NamedTuple):
    """One end of a write, as a `progress` document tells it, or only a `problem` with one.

    Times in ms since 1970. `target` is the raw URI, `dataset` the identity behind it.
    """

    database: str
    problem: str | None = None
    wanted: bool = False
    key: str | None = None
    plan: str | None = None
    application: str | None = None
    job: str | None = None
    target: str | None = None
    dataset: str | None = None
    at: int | None = None
    duration_ms: int | None = None
    run_id: str | None = None
    shown_run_id: str | None = None
    failed: bool | None = None
    append: bool | None = None
    rows: int | None = None
    framework: str | None = None


EVENT_DDL = (
    "database string, problem string, wanted boolean, key string, plan string, application string,"
    " job string, target string, dataset string, at bigint, duration_ms bigint, run_id string,"
    " shown_run_id string, failed boolean, append boolean, rows bigint, framework string"
)

Wants = Callable[[str, str], bool]
DatasetOf = Callable[[str, str], str]


def event_rows(
    database: str,
    documents: Iterable[Document | Problem],
    wants: Wants,
    dataset_of: DatasetOf,
    open_transactions: frozenset[str],
    *,
    wanted_only: bool = False,
) -> Iterator[EventRow]:
    """The committed ends of writes, and the documents that are broken.

    `wants(job, application)` tells which applications count, `dataset_of(uri, job)` the
    identity of a target.
    """
    for document in documents:
        problem = document if isinstance(document, Problem) else check("progress", document, database)
        if problem or isinstance(document, Problem):
            yield EventRow(database, json.dumps(astuple(problem)) if problem else None)
        elif not is_open(document, open_transactions):
            event = _event(database, document, wants, dataset_of)
            if event.wanted or not wanted_only:
                yield event


def _event(database: str, document: Document, wants: Wants, dataset_of: DatasetOf) -> EventRow:
    details = document["execPlanDetails"]
    extra = document.get("extra") or {}
    name = str(details.get("applicationName") or "")
    app = application(name)
    wanted = wants(app.job, name)
    # Agents before 1.0 name no run: then each write is one of its own.
    run_id = extra.get("appId") or document["_key"]
    target = details["dataSourceUri"]
    rows = (extra.get("writeMetrics") or {}).get("numOutputRows")
    return EventRow(
        database=database,
        wanted=wanted,
        key=document["_key"],
        plan=details["executionPlanKey"],
        application=name,
        job=app.job,
        target=target,
        dataset=dataset_of(target, app.job) if wanted else None,
        # JSON may write a whole number as 1.0; Spark takes no such thing for a bigint.
        at=int(document["timestamp"]),
        duration_ms=int(document.get("durationNs") or 0) // 1_000_000,
        run_id=run_id,
        shown_run_id=app.run_id or run_id,
        failed=document.get("error") is not None,
        append=bool(details.get("append")),
        rows=None if rows is None else int(rows),
        framework=str(details.get("frameworkName") or ""),
    )


def events_frame(spark: SparkSession, rows: RDD[EventRow]) -> DataFrame:
    """An RDD of `EventRow` as a DataFrame."""
    return spark.createDataFrame(rows, EVENT_DDL, verifySchema=False)


def recent(events: DataFrame, lookback_days: float) -> DataFrame:
    """The writes of the last days, counted back from the newest write of each database.

    Not from now: so a dump gives the same graph whenever it is read, and a database that
    stood still for a month does not lose its lineage by that.
    """
    newest = events.groupBy("database").agg((F.max("at") - int(lookback_days * DAY_MS)).alias("_since"))
    return events.join(F.broadcast(newest), "database").where("wanted and at >= _since").drop("_since")


def counted(events: DataFrame) -> DataFrame:
    """The writes that count (see the module), of `recent` events."""
    of_dataset = Window.partitionBy("database", "job", "dataset")
    newest_first = of_dataset.orderBy(F.desc("at"), F.desc("run_id"))
    of_run = (
        events.where("plan is not null and not failed")
        .withColumn("_newest_run", F.first("run_id").over(newest_first))
        .where("run_id = _newest_run")
    )
    # All appends: everything counts. Otherwise all that ended since the last overwrite began.
    # By raw target: two partitions of one table do not replace each other.
    last = F.max(F.when(~F.col("append"), F.struct("at", "duration_ms")))
    last = last.over(Window.partitionBy("database", "job", "dataset", "target"))
    return (
        of_run.withColumn("_last", last)
        .where("_last is null or at >= _last.at - _last.duration_ms")
        .drop("_newest_run", "_last")
    )


def newest_plans(translated: DataFrame, databases: list[str]) -> DataFrame:
    """Of databases without `progress`, the rows of the newest plan of each job and dataset."""
    plans = translated.where((F.col("kind") == "plan") & F.col("database").isin(databases))
    newest = F.max(F.struct("created", "plan"))
    chosen = plans.groupBy("database", "job_name", "dataset").agg(newest.alias("newest"))
    kept = chosen.select("database", F.col("newest.plan").alias("plan"))
    of_chosen = translated.join(kept, ["database", "plan"], "leftsemi")
    others = translated.where(~F.col("database").isin(databases) | (F.col("plan") == ""))
    return of_chosen.unionByName(others)


def job_rows(events: DataFrame, counted_events: DataFrame) -> DataFrame:
    """What the newest run of each job that has a counted write did, failed or not.

    Columns: job, last_run_id, last_run_at, duration_ms, rows_written, framework, failed.
    """
    # An export can hold a document twice: its rows count once.
    by_run = (
        events.where("plan is not null")
        .drop("dataset", "target")
        .distinct()
        .groupBy("job", "run_id")
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
    alive = counted_events.select("job").distinct()
    return by_run.groupBy("job").agg(newest).select("job", "newest.*").join(alive, "job", "leftsemi")


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
    return Job(JobKey(JOB_TYPE, row.job), row.last_run_at, known)
