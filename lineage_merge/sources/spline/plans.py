"""What every way to Spline's plans shares: one plan's records, and those of plans and jobs together.

Wherever plans come from: ends of writes are rows, the ones that count are chosen, and each chosen plan is
put together and translated where its documents were read.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import chain
from typing import Any

from pyspark import RDD
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 (its name everywhere)

from lineage_merge.kept import keep
from lineage_merge.merge.names import Names
from lineage_merge.model import Count, Element, JobKey, Problem, Reference
from lineage_merge.records import RECORD_DDL, Record, records, row, with_columns
from lineage_merge.sources.runs import choice, jobs
from lineage_merge.sources.runs.choice import Chosen
from lineage_merge.sources.runs.run_local import marked
from lineage_merge.sources.spline import labels
from lineage_merge.sources.spline.documents import Document, Plan, assemble, rejected
from lineage_merge.sources.spline.events import Wanted
from lineage_merge.sources.spline.naming import application
from lineage_merge.sources.spline.operations import operations
from lineage_merge.sources.spline.settings import Spline
from lineage_merge.sources.spline.transactions import EVERYTHING, Snapshot
from lineage_merge.sources.spline.translate import JOB_TYPE, application_name, target, translate

MOST_SLICES = 1000

# A record and the plan it came from; `dataset` and `created` only in the row of kind "plan".
_OF_PLAN = ("database", "plan", "dataset", "created")
OF_PLAN_DDL = f"database string, plan string, dataset string, created bigint, {RECORD_DDL}"


@dataclass(frozen=True, slots=True)
class Context:
    """What executors need beside the documents."""

    spline: Spline
    names: Names
    marks_run_local: bool = False
    snapshots: Mapping[str, Snapshot] = field(default_factory=dict)

    def snapshot(self, database: str) -> Snapshot:
        """Which documents of a database count: as the driver found it, once."""
        return self.snapshots.get(database, EVERYTHING)

    def dataset(self, uri: str, job: str) -> str:
        """The identity behind a raw URI: the newest write is looked for by it."""
        return self.names.identify(Reference("", uri, job))

    def wanted(self) -> Wanted:
        """Which events count."""
        return Wanted(self.spline.wants, self.spline.labels, self.dataset)


def chosen_of(found: Any) -> Chosen | None:
    """What is known of a plan's writes; None in a database that records no runs."""
    if found.sequence is None:
        return None
    return Chosen(*(found[name] for name in Chosen._fields))


def translate_plan(
    context: Context,
    database: str,
    key: str,
    documents: Mapping[str, list[Document]],
    chosen: Chosen | None,
    problems: list[Problem],
) -> Iterator[Record]:
    """One plan's records; first of them, of kind "plan", who wrote what and when it was made."""
    plan, rejections = assemble(key, documents, context.snapshot(database), database)
    applied_by = chosen.application if chosen else ""
    name = application_name(plan) or applied_by
    job = application(name).job
    if name and not context.spline.wants(job, name):
        return
    if plan.is_open:
        return
    if chosen is None and context.spline.labels.keys() - labels.of_plan(
        context.spline.labels, plan.header or {}
    ):
        return
    if not (plan.header or plan.operations or problems or rejections):
        missing = rejected(f"executionPlan/{key}", "", "progress names it, but it is not there", database)
        yield from of_plan(context, database, key, [missing])
        return
    yield with_columns(_plan_row(context, plan, job), database, key)
    read: list[Element] = [Count("execution plans", 1), *problems, *rejections]
    sequence = chosen.sequence if chosen else None
    elements = chain(read, translate(plan, applied_by, database, sequence))
    # Only of the newest run: the writes of two runs have the same places.
    if context.spline.operations and name and chosen and chosen.newest_sequence:
        elements = chain(elements, operations(plan, JobKey(JOB_TYPE, job), chosen.newest_sequence))
    yield from of_plan(context, database, key, elements)


def of_plan(context: Context, database: str, key: str, elements: Iterable[Element]) -> Iterator[Record]:
    found = records(elements, context.names)
    return (with_columns(each, database, key, None, None) for each in found)


def _plan_row(context: Context, plan: Plan, job: str) -> Record:
    uri = target(plan)
    created = (plan.header or {}).get("_created") or 0
    dataset = context.dataset(uri, job) if uri else None
    return with_columns(row("plan", job=JobKey(JOB_TYPE, job)), dataset, created)


def combined(
    spark: SparkSession,
    context: Context,
    events: DataFrame,
    recent: DataFrame,
    chosen: DataFrame,
    translated: DataFrame,
    unrecorded: list[str],
) -> DataFrame:
    """The records of plans, jobs and problems together."""
    if unrecorded:
        translated = choice.newest_plans(keep(translated), unrecorded)
    if context.marks_run_local:
        translated = marked(translated, recent, chosen)

    def job_records(rows: Iterable[Any]) -> Iterator[Record]:
        return records(map(jobs.job, rows), context.names)

    def problem_records(rows: Iterable[Any]) -> Iterator[Record]:
        return records((Problem(*json.loads(each.problem)) for each in rows), context.names)

    of_jobs = jobs.job_rows(recent, chosen).rdd.mapPartitions(job_records)
    good = jobs.good_runs(recent).rdd.map(jobs.good_runs_record)
    problems = events.where("problem is not null").rdd.mapPartitions(problem_records)
    notices = spark.sparkContext.parallelize(list(records(map(_unrecorded, unrecorded), context.names)), 1)
    parts = [of_jobs, good, problems, notices]
    if context.spline.labels:
        parts.append(_unmatched_labels(context, recent, translated if unrecorded else None))
    others = spark.createDataFrame(spark.sparkContext.union(parts), RECORD_DDL, verifySchema=False)
    return translated.where("kind <> 'plan'").drop(*_OF_PLAN).unionByName(others)


def _unrecorded(database: str) -> Problem:
    place = f"Spline database {database}" if database else "Spline"
    what = "no run is recorded: took the newest plan of each application and target"
    return Problem("notice", place, "progress", what)


def _unmatched_labels(context: Context, recent: DataFrame, unrecorded: DataFrame | None) -> RDD[Record]:
    """A notice where no write, and no plan of a database that records none, has the wanted labels."""
    found = recent.where("problem is null").select(F.lit(1))
    if unrecorded is not None:
        found = found.unionByName(unrecorded.where("kind = 'plan'").select(F.lit(1)))
    names = ", ".join(sorted(context.spline.labels))
    what = (
        f"no write has the labels {names}: Spline 0.7 and producer API 1.1 store no labels;"
        " choose by spline.applications instead"
    )
    notice = Problem("notice", "Spline", "labels", what)
    is_none = found.agg(F.count(F.lit(1)).alias("count")).where("count = 0")
    return is_none.rdd.flatMap(lambda _: records([notice], context.names))


def parallelize(spark: SparkSession, items: list[Any], slices: int | None = None) -> RDD[Any]:
    return spark.sparkContext.parallelize(items, max(1, min(len(items), slices or MOST_SLICES)))
