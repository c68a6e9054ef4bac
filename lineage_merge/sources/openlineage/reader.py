"""Reader of OpenLineage events into records.

Events are grouped by what they are about (`subjects.py`). Runs are searched for what others need of them
(`related_runs.py`), their writes are selected, and each selected run is translated where its events are.
"""

import json
from collections.abc import Hashable, Iterable, Iterator
from itertools import chain
from typing import Any

from lineage_merge.config import Config
from lineage_merge.infra.document_decoder import loads
from lineage_merge.infra.engine.rows import Engine, Rows
from lineage_merge.model.elements import Count, Element, Problem
from lineage_merge.model.records import Record
from lineage_merge.model.times import latest_credible
from lineage_merge.sources.openlineage import files, notices
from lineage_merge.sources.openlineage.events import Context, merge_nested, number_of, run_of, run_rows
from lineage_merge.sources.openlineage.jobs import job_of
from lineage_merge.sources.openlineage.known_datasets import with_known_datasets
from lineage_merge.sources.openlineage.related_runs import with_related_runs
from lineage_merge.sources.openlineage.runs import as_run, newest
from lineage_merge.sources.openlineage.services import read_services
from lineage_merge.sources.openlineage.settings import OpenLineage
from lineage_merge.sources.openlineage.subjects import PROBLEM, RUN, Subject, read_subjects
from lineage_merge.sources.openlineage.translator import assertions, targets, translate, translate_dataset
from lineage_merge.sources.resolver import Resolver
from lineage_merge.sources.runs import run_selection
from lineage_merge.sources.runs.events import EventRow
from lineage_merge.sources.runs.future_times import future_problems
from lineage_merge.sources.runs.jobs import job_records
from lineage_merge.sources.runs.run_local import Datasets, mark, own_sources
from lineage_merge.sources.runs.run_selection import PlanKey, SelectedPlan


def read_openlineage(engine: Engine, config: Config, resolver: Resolver) -> Rows[Record]:
    """Read all events about the selected jobs, as records.

    Raises `SourceError` if the files cannot be read at all.
    """
    settings = config.of(OpenLineage)
    if settings is None:
        return engine.empty()
    parts = files.find(settings.events)
    landing: tuple[Problem, ...] = ()
    services = read_services(engine, settings)
    if settings.kafka:
        from lineage_merge.sources.kafka_landing.kafka import with_landed

        parts, landing = with_landed(engine, settings.kafka, parts, files.find)
    subjects = read_subjects(engine, parts, services.events).cache()
    runs = subjects.filter(lambda subject: subject.kind == RUN)
    context = with_related_runs(Context(settings, resolver), runs)

    rows: Rows[Any] = runs.flat_map(
        lambda subject: run_rows(context.complete(subject.run()), context)
    ).cache()
    events: Rows[EventRow] = rows.filter(lambda row: isinstance(row, EventRow))
    without_writes = rows.filter(lambda row: isinstance(row, Count))
    latest = latest_credible()
    writes = merge_nested(events).cache()
    events = run_selection.select_lookback(writes, settings.runs, settings.lookback, latest)
    ahead = future_problems(writes, latest, "OpenLineage", "eventTime")
    written = events.filter(lambda event: event.target is not None)
    selected = run_selection.select_writes(written, settings.runs)
    by_run: Rows[tuple[str, Any]] = runs.map(lambda subject: (subject.subject, subject))
    by_run = by_run.union(run_selection.group_by_plan(selected).map(_key_by_run))
    if config.merge.collapse_run_local:
        by_run = by_run.union(own_sources(written, selected).map(_key_by_run))

    def run_records(_run_id: Hashable, rows: list[tuple[str, Any]]) -> Iterator[Record]:
        return _run_records((row for _, row in rows), context)

    def static_records(subjects: Iterable[Subject]) -> Iterator[Record]:
        elements = (static_elements(subject, context) for subject in subjects)
        return resolver.records(chain.from_iterable(elements))

    unnamed = runs.flat_map(lambda subject: notices.report_unnamed_targets(subject, context)).distinct()
    unread = runs.flat_map(lambda subject: notices.report_extraction_errors(subject, context)).distinct()
    notes = [
        *notices.counts(subjects, parts, settings),
        *landing,
        *services.notes,
        *notices.report_unmatched(settings, subjects, events),
    ]
    return engine.union(
        [
            by_run.group(lambda row: row[0], run_records),
            subjects.filter(lambda subject: subject.kind != RUN).map_partitions(static_records),
            job_records(events, selected, resolver),
            without_writes.map_partitions(resolver.records),
            ahead.map_partitions(resolver.records),
            services.exported.map_partitions(resolver.records),
            unnamed.union(unread).flat_map(lambda problem: resolver.records([problem])),
            engine.rows(resolver.records(notes), 1),
        ]
    )


def _key_by_run(row: tuple[PlanKey, SelectedPlan | Datasets]) -> tuple[str, Any]:
    (_, plan), _ = row
    return run_of(plan), row


def _run_records(
    rows: Iterable[Subject | tuple[PlanKey, SelectedPlan | Datasets]], context: Context
) -> Iterator[Record]:
    """Yield the records of one run's selected writes; a write is a run and one of its targets.

    A run that only checks data has no target: its assertions are read as well.
    """
    subject: Subject | None = None
    selected: dict[str, SelectedPlan] = {}
    own: dict[str, Datasets] = {}
    for row in rows:
        if isinstance(row, Subject):
            subject = row
            continue
        (_, plan), value = row
        if isinstance(value, SelectedPlan):
            selected[plan] = value
        else:
            own[plan] = value
    if subject is None:
        return
    run = context.complete(subject.run())
    keys = targets(run)
    if (selected or not keys) and context.applies(run, job_of(run)):
        yield from context.resolver.records(assertions(run))
    for plan, how in selected.items():
        elements = translate(run, keys[number_of(plan)], how.sequence)
        for record in context.resolver.records(elements):
            yield mark(record, own.get(plan, frozenset()))


def static_elements(subject: Subject, context: Context) -> Iterator[Element]:
    """Yield the elements of an event without a run, the newest one about its job or dataset."""
    if subject.kind == PROBLEM:
        for problem, _ in sorted(subject.events):
            yield Problem(*json.loads(problem))
        return
    # Of duplicates, the first location is reported, whichever was read first.
    location_of = dict(sorted(subject.events, reverse=True))
    event = newest(loads(text) for text in location_of)
    location = location_of[json.dumps(event, sort_keys=True)]
    if subject.kind == "DatasetEvent":
        yield from translate_dataset(event, location)
        return
    run = with_known_datasets(as_run(event))
    if context.applies(run, job_of(run)):
        for problem in run.problems:
            yield Problem("not-joined", location, "", problem)
        for key in run.outputs:
            yield from translate(run, key)
