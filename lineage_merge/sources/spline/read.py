"""Spline's database, exported or live, or what its agents wrote, into records: the work of executors.

Both ways to a database go on alike: ends of writes are rows, the ones that count are chosen, and
each chosen plan is put together and translated where its documents were fetched.
"""

import json
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import astuple, replace
from datetime import timedelta
from functools import partial
from math import ceil
from typing import Any

from pyspark import RDD
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 (its name everywhere)

from lineage_merge import partitions
from lineage_merge.config import Config
from lineage_merge.errors import SourceError
from lineage_merge.kept import keep
from lineage_merge.merge.names import Names
from lineage_merge.model import Problem
from lineage_merge.records import RECORD_DDL, Record
from lineage_merge.sources import lines
from lineage_merge.sources.runs import choice
from lineage_merge.sources.runs.choice import Chosen
from lineage_merge.sources.runs.events import EventRow, events_frame
from lineage_merge.sources.spline import arango, export, key_filter, labels
from lineage_merge.sources.spline.agent.read import read_agent
from lineage_merge.sources.spline.documents import (
    TRANSACTIONS,
    Document,
    check,
    parse,
    plan_key,
    plan_key_of,
    rejected,
)
from lineage_merge.sources.spline.events import event_rows, only_labelled
from lineage_merge.sources.spline.plans import (
    MOST_SLICES,
    OF_PLAN_DDL,
    Context,
    chosen_of,
    combined,
    of_plan,
    parallelize,
    translate_plan,
)
from lineage_merge.sources.spline.settings import Arango
from lineage_merge.sources.spline.transactions import OPEN, Snapshot, newest
from lineage_merge.sources.spline.versions import COLLECTION as VERSION
from lineage_merge.sources.spline.versions import Versions

EVENTS_A_SLICE = 5000
PLANS_A_SLICE = 500

Passes = Callable[[str, str], bool]
# A row of `_TEXT_DDL`.
TextRow = tuple[str, str, None, str, str]
_TEXT_DDL = "database string, plan string, application string, collection string, text string"
# A file of fewer bytes holds no document: it is "[]", or a packed file of nothing.
_EMPTY_BYTES = 60
# Below so much text, to find out first which plans are wanted takes longer than to hand all of them on.
_WORTH_A_LOOK_BYTES = 64 << 20
# Of so many characters a row of documents is whole.
_MOST_CHARACTERS = 1 << 20
# Stands before a plan's key where there is a problem instead of a document.
_PROBLEM = "!"


def read_spline(spark: SparkSession, config: Config, names: Names) -> DataFrame:
    """Everything that Spline knows of the wanted applications, as records."""
    spline = config.spline
    if spline is None:
        return spark.createDataFrame([], RECORD_DDL)
    context = Context(spline, names, config.merge.fold_run_local)
    if spline.arango:
        return _read_arango(spark, context, spline.arango)
    if spline.agent or spline.kafka:
        return read_agent(spark, context)
    return _read_export(spark, context)


# Exported files


def _read_export(spark: SparkSession, context: Context) -> DataFrame:
    by_collection: dict[str, list[export.Part]] = defaultdict(list)
    for part in export.find(context.spline.export):
        by_collection[part.collection].append(part)
    _refuse_old(export.versions_of(by_collection.pop(VERSION, ())))
    transactions = [part for name in TRANSACTIONS for part in by_collection.pop(name, ())]
    context = replace(context, snapshots=_snapshots(spark, transactions))

    def read_events(part: export.Part) -> Iterator[EventRow]:
        return event_rows(part.database, _parsed(part), context.wanted(), context.snapshot(part.database))

    progress = _parts(spark, by_collection["progress"]).flatMap(read_events)
    events = events_frame(spark, progress)
    if context.spline.labels:
        events = choice.labelled(events, _labels_of_plans(spark, context, by_collection["executionPlan"]))
    events = keep(events)
    recent = choice.recent(events, context.spline.runs, context.spline.lookback)
    chosen = choice.counted(recent, context.spline.runs)

    plan_parts = [part for name, parts in by_collection.items() if name != "progress" for part in parts]
    recorded = {part.database for part in by_collection["progress"] if part.slice.end > _EMPTY_BYTES}
    unrecorded = sorted({part.database for part in plan_parts} - recorded)
    plans = choice.by_plan(chosen)
    passes: Passes = _every
    if sum(part.slice.end - part.slice.start for part in plan_parts) > _WORTH_A_LOOK_BYTES:
        passes = key_filter.of_plans(plans.rdd, unrecorded).passes
    texts = _parts(spark, plan_parts).flatMap(partial(_text_rows, passes=passes))
    documents = spark.createDataFrame(texts, _TEXT_DDL, verifySchema=False).unionByName(
        plans, allowMissingColumns=True
    )
    wanted = F.col("application").isNotNull() | F.col("plan").startswith(_PROBLEM)
    bundles = (
        documents.groupBy("database", "plan")
        .agg(
            *(F.max(name).alias(name) for name in Chosen._fields),
            F.collect_list(F.when(F.col("text").isNotNull(), F.struct("collection", "text"))).alias("texts"),
        )
        .where(wanted | F.col("database").isin(unrecorded))
    )
    translated = spark.createDataFrame(
        bundles.rdd.flatMap(lambda bundle: _translate_texts(context, bundle)),
        OF_PLAN_DDL,
        verifySchema=False,
    )
    return combined(spark, context, events, recent, chosen, translated, unrecorded)


def _refuse_old(versions: Mapping[str, Versions]) -> None:
    for database, each in sorted(versions.items()):
        if each.refusal:
            raise SourceError(f"{database}: {each.refusal}" if database else each.refusal)


def _parsed(part: export.Part) -> Iterator[Document | Problem]:
    for found in export.texts(part):
        if isinstance(found, Problem):
            yield found
        else:
            yield parse(part.collection, found.text, part.database)


def _snapshots(spark: SparkSession, parts: list[export.Part]) -> dict[str, Snapshot]:
    """What counts of each exported database, by the files of its transactions."""
    if not parts:
        return {}
    opened: dict[str, set[str]] = defaultdict(set)
    numbers: dict[str, int | None] = {}
    for database, key, number in _parts(spark, parts).flatMap(_transactions).collect():
        if number is None:
            opened[database].add(key)
        else:
            numbers[database] = max(number, numbers.get(database) or 0)
    return {
        database: Snapshot(frozenset(opened[database]), numbers.get(database))
        for database in {*opened, *numbers}
    }


def _transactions(part: export.Part) -> Iterator[tuple[str, str, int | None]]:
    """The keys of open transactions, and with a number the newest of all."""
    for document in _parsed(part):
        if isinstance(document, Problem):
            continue
        if part.collection == OPEN:
            if document.get("_key"):
                yield part.database, str(document["_key"]), None
        elif (number := newest([document])) is not None:
            yield part.database, "", number


def _every(_database: str, _plan: str) -> bool:
    return True


def _text_rows(part: export.Part, passes: Passes = _every) -> Iterator[TextRow]:
    """The documents of plans, those of one plan that follow each other in one row, a line each."""
    texts: list[str] = []
    size = 0
    plan = ""
    is_wanted = False
    for found in export.texts(part):
        if isinstance(found, Problem):
            yield _problem_row(part, found)
            continue
        key = plan_key(part.collection, found.text)
        if not key:
            yield _problem_row(part, _of_no_plan(part, found))
            continue
        if key != plan or size > _MOST_CHARACTERS:
            if texts:
                yield part.database, plan, None, part.collection, "\n".join(texts)
            texts, size, plan = [], 0, key
            is_wanted = passes(part.database, plan)
        if is_wanted:
            texts.append(found.text)
            size += len(found.text)
    if texts:
        yield part.database, plan, None, part.collection, "\n".join(texts)


def _problem_row(part: export.Part, problem: Problem) -> TextRow:
    return part.database, _PROBLEM + problem.document, None, _PROBLEM, json.dumps(astuple(problem))


def _of_no_plan(part: export.Part, found: export.Text) -> Problem:
    """Why a document's text does not tell whose it is."""
    parsed = parse(part.collection, found.text, part.database)
    if isinstance(parsed, Problem):
        return rejected(found.place, "", parsed.message, part.database)
    wrong = check(part.collection, parsed)
    if wrong:
        return rejected(found.place, wrong.field, wrong.message, part.database)
    return rejected(found.place, "_belongsTo", "the document belongs to no plan", part.database)


def _translate_texts(context: Context, bundle: Any) -> Iterator[Record]:
    if bundle.plan.startswith(_PROBLEM):
        told = (Problem(*json.loads(text.text)) for text in bundle.texts)
        yield from of_plan(context, bundle.database, "", told)
        return
    documents: dict[str, list[Document]] = defaultdict(list)
    problems: list[Problem] = []
    for collection, text in bundle.texts:
        for line in text.split("\n"):
            document = parse(collection, line, bundle.database)
            if isinstance(document, Problem):
                problems.append(document)
            else:
                documents[collection].append(document)
    yield from translate_plan(context, bundle.database, bundle.plan, documents, chosen_of(bundle), problems)


def _labels_of_plans(spark: SparkSession, context: Context, parts: list[export.Part]) -> DataFrame:
    """The wanted labels that plans have: database, plan, labels."""
    wanted = context.spline.labels

    def read(part: export.Part) -> Iterator[tuple[str, str, list[str]]]:
        for document in _parsed(part):
            if not isinstance(document, Problem) and not context.snapshot(part.database).hides(document):
                found = labels.of_plan(wanted, document)
                if found:
                    yield part.database, plan_key_of("executionPlan", document), sorted(found)

    rows = _parts(spark, parts).flatMap(read)
    return spark.createDataFrame(rows, "database string, plan string, labels array<string>")


# A live database


def _read_arango(spark: SparkSession, context: Context, settings: Arango) -> DataFrame:
    server = arango.log_in(settings)
    overview = arango.overview(server)
    context = replace(context, snapshots={"": overview.snapshot})
    if not overview.events:
        return _read_arango_plans(spark, context, server, overview.collections)
    spline = context.spline
    back = overview.newest - spline.lookback // timedelta(milliseconds=1)
    since = max(overview.oldest, spline.runs.since if spline.runs.which == "since" else back)
    tasks = ceil(overview.events / EVENTS_A_SLICE)
    partitions.at_least(spark, tasks)
    slices = _spans(since, overview.newest + 1, tasks)

    def labels_of(keys: list[str]) -> Mapping[str, set[str]]:
        return arango.plan_labels(server, keys, spline.labels, overview.snapshot)

    def read_events(span: tuple[int, int] | None) -> Iterator[EventRow]:
        documents = arango.events(server, *span) if span else arango.odd_events(server)
        return only_labelled(event_rows("", documents, context.wanted(), overview.snapshot), labels_of)

    progress = parallelize(spark, [*slices, None]).flatMap(read_events)
    events = keep(events_frame(spark, progress))
    chosen = choice.counted(events, spline.runs)
    # Said in numbers: keys are small, so adaptive execution would fetch all plans in one task.
    tasks = int(spark.conf.get("spark.sql.shuffle.partitions") or 1)
    plans = choice.by_plan(chosen.repartition(tasks, "database", "plan"))

    def fetch(rows: Iterable[Any]) -> Iterator[Record]:
        wanted = {each.plan: chosen_of(each) for each in rows}
        for key, documents in arango.plans(server, iter(wanted), overview.collections):
            yield from translate_plan(context, "", key, documents, wanted[key], [])

    translated = spark.createDataFrame(plans.rdd.mapPartitions(fetch), OF_PLAN_DDL, verifySchema=False)
    return combined(spark, context, events, events, chosen, translated, [])


def _read_arango_plans(
    spark: SparkSession, context: Context, server: arango.Server, collections: frozenset[str]
) -> DataFrame:
    """All plans of a database without `progress`: the newest of each job and target counts."""
    count = arango.plan_count(server)
    offsets = range(0, max(count, 1), max(PLANS_A_SLICE, ceil(count / MOST_SLICES)))

    def fetch(offset: int) -> Iterator[Record]:
        keys = arango.plan_keys(server, offset, offsets.step)
        for key, documents in arango.plans(server, keys, collections):
            yield from translate_plan(context, "", key, documents, None, [])

    translated = spark.createDataFrame(
        parallelize(spark, list(offsets)).flatMap(fetch), OF_PLAN_DDL, verifySchema=False
    )
    events = events_frame(spark, spark.sparkContext.emptyRDD())
    chosen = choice.counted(events, context.spline.runs)
    return combined(spark, context, events, events, chosen, translated, [""])


def _spans(since: int, until: int, count: int) -> list[tuple[int, int]]:
    """`since` to `until` cut into about `count` spans."""
    step = max(1, ceil((until - since) / min(max(count, 1), MOST_SLICES)))
    return [(start, min(start + step, until)) for start in range(since, until, step)]


def _parts(spark: SparkSession, parts: list[export.Part]) -> RDD[export.Part]:
    """Files as tasks of about the same size: many small ones share one."""
    return parallelize(spark, parts, lines.tasks(spark, (part.slice for part in parts)))
