"""Which writes count.

A write counts when its source says that it ended without error. By default that is, for each
job and target, the newest one, and what belongs to it in the same run: appends since the last overwrite,
and a write that ended while another one of the same target was under way (CREATE TABLE AS SELECT reports
the inner insert and the outer command).
"""

from datetime import timedelta
from typing import NamedTuple

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812 (its name everywhere)

from lineage_merge.sources.settings import Runs


class Chosen(NamedTuple):
    """What is known of a plan by the writes of it that count.

    `sequence`: the place of the first of them in its run, from 1. `newest_sequence`: the same in the
    newest run of the job, None where no write of that run is of this plan.
    """

    application: str
    sequence: int
    newest_sequence: int | None


def labelled(events: DataFrame, plans: DataFrame) -> DataFrame:
    """The events of which wanted labels their plans have: `plans` are database, plan and labels."""
    by_plan = plans.groupBy("database", "plan").agg(F.flatten(F.collect_list("labels")).alias("_labels"))
    has = F.coalesce("_labels", F.array().cast("array<string>"))
    is_labelled = F.size(F.array_except(F.coalesce("unlabelled", F.array().cast("array<string>")), has)) == 0
    found = events.join(by_plan, ["database", "plan"], "left")
    return found.withColumn("wanted", F.col("wanted") & is_labelled).select(*events.columns)


def recent(events: DataFrame, runs: Runs, lookback: timedelta) -> DataFrame:
    """The writes since a time, or of the last days, counted back from the newest of each database.

    Not from now: so a dump gives the same graph whenever it is read, and a database that
    stood still for a month does not lose its lineage by that.
    """
    if runs.which == "since":
        return events.where((F.col("at") >= runs.since) & F.col("wanted"))
    back = lookback // timedelta(milliseconds=1)
    newest = events.groupBy("database").agg((F.max("at") - back).alias("_since"))
    return events.join(F.broadcast(newest), "database").where("wanted and at >= _since").drop("_since")


def counted(events: DataFrame, runs: Runs) -> DataFrame:
    """The writes that count (see the module), of `recent` events, with what `Chosen` needs."""
    in_run = Window.partitionBy("database", "run_id").orderBy("at", "key")
    # Dense: an export can hold a document twice.
    good = events.where("plan is not null and not failed").withColumn(
        "sequence", F.dense_rank().over(in_run).cast("bigint")
    )
    found = _latest(good) if runs.which == "latest" else good
    newest_first = Window.partitionBy("job_type", "job").orderBy(
        F.desc("at"), F.desc("run_id"), F.desc("database")
    )
    newest = F.first(F.struct("run_id", "database")).over(newest_first)
    is_newest = F.struct("run_id", "database") == F.col("_newest")
    return (
        found.withColumn("_newest", newest)
        .withColumn("newest_sequence", F.when(is_newest, F.col("sequence")))
        .drop("_newest")
    )


def _latest(good: DataFrame) -> DataFrame:
    of_dataset = Window.partitionBy("database", "job_type", "job", "dataset")
    newest_first = of_dataset.orderBy(F.desc("at"), F.desc("run_id"))
    of_run = good.withColumn("_newest_run", F.first("run_id").over(newest_first)).where(
        "run_id = _newest_run"
    )
    # All appends: everything counts. Otherwise all that ended since the last overwrite began.
    # By raw target: two partitions of one table do not replace each other.
    last = F.max(F.when(~F.col("append"), F.struct("at", "duration_ms")))
    last = last.over(Window.partitionBy("database", "job_type", "job", "dataset", "target"))
    return (
        of_run.withColumn("_last", last)
        .where("_last is null or at >= _last.at - coalesce(_last.duration_ms, 0)")
        .drop("_newest_run", "_last")
    )


def by_plan(counted_events: DataFrame) -> DataFrame:
    """A row for each plan that is needed: database, plan, and the fields of `Chosen`.

    However many runs share a plan, it is read once.
    """
    return counted_events.groupBy("database", "plan").agg(
        F.max("application").alias("application"),
        F.min("sequence").alias("sequence"),
        F.min("newest_sequence").alias("newest_sequence"),
    )


def newest_plans(translated: DataFrame, databases: list[str]) -> DataFrame:
    """Of databases without `progress`, the rows of the newest plan of each job and dataset."""
    plans = translated.where((F.col("kind") == "plan") & F.col("database").isin(databases))
    newest = F.max(F.struct("created", "plan"))
    chosen = plans.groupBy("database", "job_type", "job_name", "dataset").agg(newest.alias("newest"))
    kept = chosen.select("database", F.col("newest.plan").alias("plan"))
    of_chosen = translated.join(kept, ["database", "plan"], "leftsemi")
    others = translated.where(~F.col("database").isin(databases) | (F.col("plan") == ""))
    return of_chosen.unionByName(others)
