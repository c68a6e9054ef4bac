"""Logs of Hive's lineage hooks into records: found, read and translated by Spark's workers.

Which queries count is decided for each job and table, and that by what is left in the table: what was in
it before the last INSERT OVERWRITE of the whole table is gone; of what fills partitions or adds, the newest
of each statement counts. Two statements are one where they lead the same columns to the same columns.
"""

import json
from collections.abc import Iterable, Iterator
from dataclasses import astuple, dataclass
from fnmatch import fnmatchcase
from typing import Any

from pyspark.sql import DataFrame, SparkSession, Window
from pyspark.sql import functions as F  # noqa: N812 (its name everywhere)

from lineage_merge.config import Config
from lineage_merge.errors import SourceError, SourceMissing
from lineage_merge.kept import keep
from lineage_merge.merge.names import Names
from lineage_merge.model import Count, JobKey, Problem
from lineage_merge.records import RECORD_DDL, Record, records
from lineage_merge.sources import lines
from lineage_merge.sources.hive.events import WRITE_DDL, Wanted, target_of, write_rows
from lineage_merge.sources.hive.log import Found, documents
from lineage_merge.sources.hive.query import Query, read_checked, read_query, uses_ids
from lineage_merge.sources.hive.settings import Hive
from lineage_merge.sources.hive.translate import JOB_TYPE, WAREHOUSE_RULE, Tables, job_name, tables, translate
from lineage_merge.sources.runs import choice, jobs
from lineage_merge.storage import Slice, read_lines

# `form` 0 before 1: of a query that two hooks logged, the document of Hive's own is taken.
_FOUND_DDL = "key string, form int, text string, logged_at string, place string, problem string"
_END_OF_FILE = 1 << 62


@dataclass(frozen=True, slots=True)
class Context:
    """What workers need beside the lines."""

    jobs: tuple[str, ...]
    by: str
    tables: Tables
    names: Names

    def applies(self, job: str) -> bool:
        """Whether a job counts."""
        return not self.jobs or any(fnmatchcase(job, glob) for glob in self.jobs)

    def wanted(self) -> Wanted:
        """Which queries count."""
        return Wanted(self.applies, self.by, self.tables, self.names.identify)


def read_hive(spark: SparkSession, config: Config, names: Names) -> DataFrame:
    """Everything that the logs tell of the wanted jobs, as records."""
    hive = config.of(Hive)
    if hive is None:
        return spark.createDataFrame([], RECORD_DDL)
    context = Context(hive.jobs, hive.job, tables(hive), names)
    parts, notices = _parts(spark, hive)
    found = keep(
        spark.createDataFrame(
            lines.parallel(spark, parts).flatMap(_read_part), _FOUND_DDL, verifySchema=False
        )
    )
    once = F.min(F.struct("form", "text", "logged_at", "place")).alias("first")
    queries = keep(found.where("key is not null").groupBy("key").agg(once).select("key", "first.*"))
    writes = keep(
        spark.createDataFrame(
            queries.rdd.flatMap(lambda each: write_rows(_query(each), context.wanted())),
            WRITE_DDL,
            verifySchema=False,
        )
    )
    return _combined(spark, hive, context, found, queries, _dated(writes), notices)


def _parts(spark: SparkSession, hive: Hive) -> tuple[list[Slice], tuple[Problem, ...]]:
    parts = lines.find(hive.log)
    if hive.kafka is None:
        return parts, ()
    from lineage_merge.sources.landing import kafka

    landed = kafka.landed(spark, hive.kafka)
    try:
        return [*parts, *lines.find([landed.folder])], landed.notices
    except SourceMissing:  # nothing has come yet
        return parts, landed.notices


def _read_part(part: Slice) -> Iterator[tuple[Any, ...]]:
    """Rows of `_FOUND_DDL`: the good documents of a slice, each with its query's key, and the problems."""
    for found in lines.until_damage(documents(lines.numbered(part), _behind(part))):
        query = read_query(found) if isinstance(found, Found) else found
        if isinstance(query, Problem) or isinstance(found, Problem):
            yield (None, None, None, None, None, json.dumps(astuple(query)))
            continue
        form = 0 if uses_ids(found.document) else 1
        text = json.dumps(found.document, sort_keys=True)
        yield (query.key, form, text, found.logged_at, found.place, None)


def _behind(part: Slice) -> Iterator[bytes]:
    """The lines of a file behind a slice; nothing is opened before the first is asked for."""
    if not part.location.endswith(".gz"):
        for _, line in read_lines(Slice(part.location, part.end, _END_OF_FILE)):
            yield line


def _query(found: Any) -> Query:
    query = read_checked(Found(found.place, json.loads(found.text), found.logged_at))
    if isinstance(query, Problem):  # it was read before, or it would not be here
        raise SourceError(f"{query.document}: {query.field}: {query.message}")
    return query


def _dated(writes: DataFrame) -> DataFrame:
    """The writes with a time each: one that nobody has dated is taken for as new as the newest."""
    newest = writes.agg(F.coalesce(F.max("at"), F.lit(0)).alias("_newest"))
    dated = writes.crossJoin(F.broadcast(newest)).withColumn("is_dated", F.col("at").isNotNull())
    return dated.withColumn("at", F.coalesce("at", "_newest")).drop("_newest")


def _chosen(recent: DataFrame, hive: Hive) -> DataFrame:
    """The writes that count. Each statement of a job is chosen by itself; `of_job` is the job's name."""
    of_job = recent.withColumn("of_job", F.col("job"))
    if hive.runs.which == "latest":
        replaced = F.max(F.when(F.col("replaces"), F.col("at")))
        replaced_at = replaced.over(Window.partitionBy("job", "dataset"))
        of_job = of_job.withColumn("_replaced", replaced_at).where("_replaced is null or at >= _replaced")
    statements = of_job.withColumn("job", F.concat_ws("\n", "job", "shape"))
    return choice.counted(statements, hive.runs).withColumn("job", F.col("of_job"))


def _combined(
    spark: SparkSession,
    hive: Hive,
    context: Context,
    found: DataFrame,
    queries: DataFrame,
    writes: DataFrame,
    notices: tuple[Problem, ...],
) -> DataFrame:
    """The records of queries, jobs and problems together."""
    recent = choice.recent(writes, hive.runs, hive.lookback)
    chosen = _chosen(recent, hive)
    wanted = chosen.groupBy("key").agg(F.collect_set("plan").alias("plans"))

    def translated(each: Any) -> Iterator[Record]:
        query = _query(each)
        job = JobKey(JOB_TYPE, job_name(query, context.by))
        targets = {target_of(plan) for plan in each.plans}
        return records(translate(query, targets, job, context.tables), context.names)

    def of_jobs(rows: Iterable[Any]) -> Iterator[Record]:
        return records(map(jobs.job, rows), context.names)

    def of_problems(rows: Iterable[Any]) -> Iterator[Record]:
        return records((Problem(*json.loads(each.problem)) for each in rows), context.names)

    told = spark.createDataFrame(
        queries.join(wanted, "key").rdd.flatMap(translated), RECORD_DDL, verifySchema=False
    )
    if hive.warehouse:
        told = _without_paths_of_views(told, writes)
    # A query is a run of its own, however many tables it fills.
    by_run = recent.dropDuplicates(["job", "run_id"])
    number = writes.agg(
        F.countDistinct("key").alias("queries"),
        F.countDistinct(F.when(~F.col("is_dated") & F.col("plan").isNotNull(), F.col("key"))).alias(
            "undated"
        ),
    )
    others = [
        jobs.job_rows(by_run, chosen).rdd.mapPartitions(of_jobs),
        jobs.good_runs(by_run).rdd.map(jobs.good_runs_record),
        found.where("problem is not null").rdd.mapPartitions(of_problems),
        number.rdd.flatMap(lambda each: records(_counted(each.queries, each.undated), context.names)),
        spark.sparkContext.parallelize(list(records(notices, context.names)), 1),
    ]
    return told.unionByName(
        spark.createDataFrame(spark.sparkContext.union(others), RECORD_DDL, verifySchema=False)
    )


def _without_paths_of_views(told: DataFrame, writes: DataFrame) -> DataFrame:
    """A view has no path, though a query that reads it cannot tell that it is one."""
    views = writes.where("is_view").select(F.col("dataset").alias("source")).distinct()
    is_assumed = (F.col("kind") == "alias") & (F.col("rule") == WAREHOUSE_RULE)
    kept = told.where(is_assumed).join(views, "source", "left_anti").select(told.columns)
    return told.where(~is_assumed).unionByName(kept)


def _counted(queries: int, undated: int) -> Iterator[Count | Problem]:
    yield Count("Hive queries", queries)
    if undated:
        what = f"{undated} queries are without a time: each is taken for as new as the newest of the others"
        yield Problem("notice", "Hive", "timestamp", what)
