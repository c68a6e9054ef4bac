"""Files that Spline agents wrote, and Kafka topics, into records: the work of Spark's executors.

Each slice of a file is searched where it is read. A plan and its events may lie in different files, in any
order, and each may be there twice: they meet by the plan's id, and of equal ids one counts.
"""

import json
from collections.abc import Iterable, Iterator
from dataclasses import astuple
from datetime import timedelta
from typing import Any, NamedTuple

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 (its name everywhere)

from lineage_merge.errors import SourceMissing
from lineage_merge.kept import keep
from lineage_merge.model import Problem
from lineage_merge.records import RECORD_DDL, Record, records
from lineage_merge.sources import lines
from lineage_merge.sources.landing import kafka
from lineage_merge.sources.runs import choice
from lineage_merge.sources.runs.choice import Chosen
from lineage_merge.sources.runs.events import EventRow, events_frame
from lineage_merge.sources.spline import labels
from lineage_merge.sources.spline.agent import checks
from lineage_merge.sources.spline.agent.api_1_0 import is_1_0
from lineage_merge.sources.spline.agent.events import header, progress
from lineage_merge.sources.spline.agent.messages import Message, messages
from lineage_merge.sources.spline.agent.plans import documents, plan_id
from lineage_merge.sources.spline.agent.record_lines import record_line
from lineage_merge.sources.spline.documents import Document, rejected
from lineage_merge.sources.spline.events import event_rows
from lineage_merge.sources.spline.plans import (
    OF_PLAN_DDL,
    Context,
    chosen_of,
    combined,
    of_plan,
    translate_plan,
)
from lineage_merge.sources.spline.settings import Spline
from lineage_merge.sources.spline.transactions import EVERYTHING
from lineage_merge.storage import Slice


class Found(NamedTuple):
    """A plan, an event or a problem in a file; texts are JSON.

    `header` is what events need of the plan. `position` grows with the order of files and lines. Of
    plans with one id the highest `rank` counts: a broken one has 0, version 1.0, which says less, 1.
    """

    kind: str
    plan: str | None = None
    at: int | None = None
    rank: int | None = None
    position: int | None = None
    header: str | None = None
    text: str | None = None
    place: str | None = None


_FOUND_DDL = (
    "kind string, plan string, at bigint, rank int, position bigint, header string, text string, place string"
)


def read_agent(spark: SparkSession, context: Context) -> DataFrame:
    """What the agents of the wanted applications wrote, as records. Raises `SourceError`."""
    parts, notices = _parts(spark, context)
    heads = labels.heads(context.spline.labels)
    # Places in the order of the files' names: nothing else says which plan is the newest.
    order = {part: number << 32 for number, part in enumerate(parts)}

    def search(part: Slice) -> Iterator[Found]:
        return _found(part, order[part], heads)

    searched = lines.parallel(spark, parts).flatMap(search)
    found = keep(spark.createDataFrame(searched, _FOUND_DDL, verifySchema=False))
    plans = (
        found.where("kind = 'plan'")
        .groupBy("plan")
        .agg(F.max(F.struct("rank", "text", "header", "place")).alias("best"), F.max("position").alias("at"))
        .select("plan", "best.*", F.col("at").alias("position"))
    )
    told = (
        found.where("kind = 'event'")
        .groupBy("plan", "at")
        .agg(F.max(F.struct("text", "place")).alias("best"))
        .select("plan", "at", "best.*")
        .join(plans.select("plan", "rank", "header"), "plan", "left")
    )
    # Files that are kept for a time begin anywhere: what is too old to count may lack its plan.
    told = _recent(told, context.spline).where("rank is not null or is_recent")
    problems = found.where("kind = 'problem'").rdd.map(lambda row: EventRow("", problem=row.text))
    ends = told.rdd.mapPartitions(lambda rows: _event_rows(context, rows))
    events = events_frame(spark, spark.sparkContext.union([problems, ends]))
    if context.spline.labels:
        events = choice.labelled(events, _labelled(spark, context, plans))
    events = keep(events)
    recent = choice.recent(events, context.spline.runs, context.spline.lookback)
    chosen = choice.counted(recent, context.spline.runs)

    is_recorded = not found.where("kind = 'event'").isEmpty()
    wanted = plans.where("rank > 0").join(
        choice.by_plan(chosen).drop("database"), "plan", "inner" if is_recorded else "left"
    )
    translated = spark.createDataFrame(
        wanted.rdd.flatMap(lambda row: _translate(context, row)), OF_PLAN_DDL, verifySchema=False
    )
    unrecorded = [] if is_recorded else [""]
    whole = combined(spark, context, events, recent, chosen, translated, unrecorded)
    if not notices:
        return whole
    noticed = spark.createDataFrame(list(records(notices, context.names)), RECORD_DDL, verifySchema=False)
    return whole.unionByName(noticed)


def _recent(told: DataFrame, spline: Spline) -> DataFrame:
    """Events, with `is_recent`: whether one may count by its time, as `choice.recent` has it."""
    if spline.runs.which == "since":
        return told.withColumn("is_recent", F.col("at") >= spline.runs.since)
    newest = told.agg((F.max("at") - spline.lookback // timedelta(milliseconds=1)).alias("since"))
    return told.crossJoin(F.broadcast(newest)).withColumn("is_recent", F.col("at") >= F.col("since"))


def _parts(spark: SparkSession, context: Context) -> tuple[list[Slice], tuple[Problem, ...]]:
    """What is to be read, after what is new in Kafka has landed."""
    spline = context.spline
    if spline.kafka is None:
        return lines.find(spline.agent), ()
    landed = kafka.landed(spark, spline.kafka, record_line)
    found = lines.find(spline.agent)
    try:
        found += lines.find([landed.folder])
    except SourceMissing:
        nothing = Problem("notice", f"Kafka topic {spline.kafka.topic}", "", "nothing was written to it yet")
        return found, (*landed.notices, nothing)
    return found, landed.notices


def _found(part: Slice, position: int, heads: list[str]) -> Iterator[Found]:
    for number, each in enumerate(lines.until_damage(messages(lines.numbered(part)))):
        wrong = each if isinstance(each, Problem) else checks.problem(each)
        if wrong:
            yield Found("problem", text=json.dumps(astuple(wrong)))
        if not isinstance(each, Message):
            continue
        if wrong:
            # Its events are not to be blamed for a plan that is there, but broken.
            named = each.body.get("id") if isinstance(each.body, dict) and each.kind == "plan" else None
            if isinstance(named, str):
                yield Found("plan", named.lower(), rank=0)
            continue
        text = json.dumps(each.body, separators=(",", ":"))
        if each.kind == "plan":
            rank = 1 if is_1_0(each.body) else 2
            key, head = plan_id(each.body), json.dumps(header(each.body, heads))
            yield Found("plan", key, None, rank, position + number, head, text, each.place)
        else:
            key = each.body["planId"].lower()
            yield Found("event", key, int(each.body["timestamp"]), text=text, place=each.place)


def _event_rows(context: Context, rows: Iterable[Any]) -> Iterator[EventRow]:
    told = (_progress(row) for row in rows if row.rank != 0)
    return event_rows("", told, context.wanted(), EVERYTHING)


def _progress(row: Any) -> dict[str, Any] | Problem:
    if row.header is None:
        return rejected(row.place, "planId", f"its plan {row.plan} is nowhere in what was read")
    return progress(json.loads(row.text), json.loads(row.header)["details"])


def _labelled(spark: SparkSession, context: Context, plans: DataFrame) -> DataFrame:
    """The wanted labels that plans have: database, plan, labels."""
    wanted = context.spline.labels
    rows = (
        plans.where("rank > 0")
        .select("plan", "header")
        .rdd.map(lambda row: ("", row.plan, sorted(labels.of_plan(wanted, json.loads(row.header)))))
    )
    return spark.createDataFrame(rows, "database string, plan string, labels array<string>")


def _translate(context: Context, row: Any) -> Iterator[Record]:
    chosen: Chosen | None = chosen_of(row)
    plan = json.loads(row.text)
    problem = checks.problem_inside(plan, row.place)
    parts: dict[str, list[Document]] = {}
    if problem is None:
        try:
            parts = documents(plan, row.position)
        except RecursionError:
            problem = rejected(row.place, "", "nested too deeply")
    if problem:
        yield from of_plan(context, "", row.plan, [problem])
    else:
        yield from translate_plan(context, "", row.plan, parts, chosen, [])
