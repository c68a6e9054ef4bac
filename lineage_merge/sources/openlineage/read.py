"""OpenLineage's events into records: the work of Spark's executors.

Each worker reads a slice of files and checks its events; those of one run are brought together, the runs
that count are chosen, and each is translated where its events lie.
"""

import json
from collections.abc import Iterable, Iterator
from dataclasses import astuple, dataclass
from typing import Any

from pyspark.sql import DataFrame, SparkSession, Window
from pyspark.sql import functions as F  # noqa: N812 (its name everywhere)

from lineage_merge.config import Config
from lineage_merge.kept import keep
from lineage_merge.merge.names import Names
from lineage_merge.model import Count, Element, Problem
from lineage_merge.records import RECORD_DDL, Record, records, with_columns
from lineage_merge.sources import lines
from lineage_merge.sources.landing import kafka
from lineage_merge.sources.openlineage import files
from lineage_merge.sources.openlineage.datasets import reference
from lineage_merge.sources.openlineage.documents import Document, cut_down, kind_of
from lineage_merge.sources.openlineage.events import Wanted, event_rows, number_of
from lineage_merge.sources.openlineage.jobs import job_of
from lineage_merge.sources.openlineage.runs import Run, add_up, as_run, newest
from lineage_merge.sources.openlineage.settings import OpenLineage
from lineage_merge.sources.openlineage.translate import targets, translate, translate_dataset
from lineage_merge.sources.runs import choice, jobs
from lineage_merge.sources.runs.events import events_frame
from lineage_merge.sources.runs.run_local import marked
from lineage_merge.storage import Slice

_TEXT_DDL = "kind string, thing string, place string, text string"
_PROBLEM = "problem"
_OF_PLAN_DDL = f"database string, plan string, {RECORD_DDL}"


@dataclass(frozen=True, slots=True)
class Context:
    """What executors need beside the events."""

    settings: OpenLineage
    names: Names

    def wanted(self) -> Wanted:
        """Which runs count."""
        return Wanted(self.settings, self._dataset)

    def _dataset(self, namespace: str, name: str, job: str) -> str:
        return self.names.identify(reference(namespace, name, job))


def read_openlineage(spark: SparkSession, config: Config, names: Names) -> DataFrame:
    """Everything that the events say of the wanted jobs, as records.

    Raises `SourceError` where the files cannot be read at all.
    """
    settings = config.of(OpenLineage)
    if settings is None:
        return spark.createDataFrame([], RECORD_DDL)
    context = Context(settings, names)
    parts = files.find(settings.events)
    notices: tuple[Problem, ...] = ()
    if settings.kafka:
        landing = kafka.landed(spark, settings.kafka)
        parts, notices = [*parts, *files.find_any(landing.folder)], landing.notices
    found = lines.parallel(spark, parts).flatMap(_texts)
    things = keep(
        spark.createDataFrame(found, _TEXT_DDL, verifySchema=False)
        .groupBy("kind", "thing")
        .agg(F.collect_set(F.struct("text", "place")).alias("events"))
    )
    runs = things.where("kind = 'RunEvent'")
    events = events_frame(spark, runs.rdd.flatMap(lambda each: event_rows(_run(each), context.wanted())))
    recent = choice.recent(keep(_counted_once(_failed_inside(events))), settings.runs, settings.lookback)
    written = recent.where("target is not null")
    chosen = choice.counted(written, settings.runs)
    translated = _translated(spark, context, runs, chosen)
    if config.merge.fold_run_local:
        translated = marked(translated, written, chosen)

    def job_records(rows: Iterable[Any]) -> Iterator[Record]:
        return records(map(jobs.job, rows), context.names)

    others = [
        things.where("kind <> 'RunEvent'").rdd.mapPartitions(lambda rows: _static(context, rows)),
        jobs.job_rows(recent, chosen).rdd.mapPartitions(job_records),
        jobs.good_runs(recent).rdd.map(jobs.good_runs_record),
        _counts(things).rdd.mapPartitions(lambda rows: records(_counted(rows), context.names)),
        spark.sparkContext.parallelize(list(records(notices, context.names)), 1),
    ]
    told = spark.createDataFrame(spark.sparkContext.union(others), RECORD_DDL, verifySchema=False)
    return translated.drop("database", "plan").unionByName(told)


def _counted_once(events: DataFrame) -> DataFrame:
    """The events, rows told once where Spark tells of a write and of the command around it.

    CREATE TABLE AS SELECT is a run, and the insert in it another: within the first one's time, to the same
    target, of as many rows.
    """
    around = (
        Window.partitionBy("run_id", "target", "rows")
        .orderBy("_from", F.desc("at"), "key")
        .rowsBetween(Window.unboundedPreceding, -1)
    )
    is_inner = F.coalesce(F.max("at").over(around) >= F.col("at"), F.lit(False))
    return (
        events.withColumn("_from", F.col("at") - F.coalesce("duration_ms", F.lit(0)))
        .withColumn("_inner", is_inner)
        .withColumn("rows", F.when(~F.col("_inner"), F.col("rows")))
        .drop("_from", "_inner")
    )


def _failed_inside(events: DataFrame) -> DataFrame:
    """The events, a command marked as failed whose inner write failed.

    Of a failed CREATE TABLE AS SELECT, openlineage-spark sends FAIL for the insert alone. The command around
    it, to the same target, began before the insert, ended no earlier, and is reported as COMPLETE.
    """
    later = (
        Window.partitionBy("run_id", "target")
        .orderBy("_from", F.desc("at"), "key")
        .rowsBetween(1, Window.unboundedFollowing)
    )
    inner = F.coalesce(F.min(F.when(F.col("failed"), F.col("at"))).over(later) <= F.col("at"), F.lit(False))
    return (
        events.withColumn("_from", F.col("at") - F.coalesce("duration_ms", F.lit(0)))
        .withColumn("failed", F.col("failed") | (F.col("target").isNotNull() & inner))
        .drop("_from")
    )


def _texts(part: Slice) -> Iterator[tuple[str, str, str, str]]:
    """What a slice holds: the kind of an event, what it is about, its place and its text."""
    for found in files.events(part):
        if isinstance(found, Problem):
            yield _PROBLEM, found.document, "", json.dumps(astuple(found))
            continue
        event = found.document
        kind = kind_of(event)
        if kind == "RunEvent":
            thing = event["run"]["runId"]
        else:
            about = event["dataset" if kind == "DatasetEvent" else "job"]
            thing = f"{about['namespace']} {about['name']}"
        # Of one run nobody asks where each event stood; without it, what arrived twice counts once.
        place = "" if kind == "RunEvent" else found.place
        yield kind, thing, place, json.dumps(cut_down(event), sort_keys=True)


def _run(thing: Any) -> Run:
    return add_up(json.loads(each.text) for each in thing.events)


def _translated(spark: SparkSession, context: Context, runs: DataFrame, chosen: DataFrame) -> DataFrame:
    """The records of what the chosen runs did, each with its plan: the run and one of its targets."""
    plans = choice.by_plan(chosen).withColumn("thing", F.substring_index("plan", " ", 1))
    wanted = plans.groupBy("thing").agg(F.collect_list(F.struct("plan", "sequence")).alias("plans"))

    def rows(found: Any) -> Iterator[Record]:
        run = _run(found)
        keys = targets(run)
        for plan in found.plans:
            elements = translate(run, keys[number_of(plan.plan)], plan.sequence)
            for each in records(elements, context.names):
                yield with_columns(each, "", plan.plan)

    joined = runs.join(wanted, "thing").rdd.flatMap(rows)
    return spark.createDataFrame(joined, _OF_PLAN_DDL, verifySchema=False)


def _static(context: Context, things: Iterable[Any]) -> Iterator[Record]:
    """What events without a run say: the newest one of each job and each dataset."""
    return records((element for thing in things for element in _of_static(context, thing)), context.names)


def _of_static(context: Context, thing: Any) -> Iterator[Element]:
    if thing.kind == _PROBLEM:
        for each in sorted(each.text for each in thing.events):
            yield Problem(*json.loads(each))
        return
    # Of one that stands in several places the first is named, whichever worker found it.
    by_text: dict[str, str] = {}
    for each in sorted(thing.events):
        by_text.setdefault(each.text, each.place)
    documents: list[Document] = [json.loads(text) for text in by_text]
    event = newest(documents)
    place = by_text[json.dumps(event, sort_keys=True)]
    if thing.kind == "DatasetEvent":
        yield from translate_dataset(event, place)
        return
    run = as_run(event)
    if context.wanted().applies(run, job_of(run)):
        for key in run.outputs:
            yield from translate(run, key)


def _counts(things: DataFrame) -> DataFrame:
    is_event = F.col("kind") != _PROBLEM
    is_run = F.col("kind") == "RunEvent"
    of_thing = F.size(F.array_distinct("events.text"))
    return things.agg(
        F.coalesce(F.sum(F.when(is_event, of_thing)), F.lit(0)).alias("events"),
        F.count(F.when(is_run, 1)).alias("runs"),
    )


def _counted(rows: Iterable[Any]) -> Iterator[Element]:
    for each in rows:
        yield Count("OpenLineage events", each.events)
        yield Count("OpenLineage runs", each.runs)
        if not each.events:
            yield Problem("notice", "OpenLineage", "events", "no event was found in what the settings name")
