"""From write events to the records of the selected plans: the steps that all inputs share.

Write events are rows, run selection picks those to use, and each selected plan is assembled and translated
where its documents are read. An input only says how its documents are fetched.
"""

import json
from abc import ABC, abstractmethod
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field
from functools import partial
from operator import attrgetter, itemgetter
from typing import Any

from lineage_merge.infra.engine.rows import Engine, Rows
from lineage_merge.model.elements import Problem
from lineage_merge.model.records import Record
from lineage_merge.model.times import latest_credible
from lineage_merge.naming.jobs import application
from lineage_merge.sources.resolver import Resolver
from lineage_merge.sources.runs import run_selection
from lineage_merge.sources.runs.events import EventRow
from lineage_merge.sources.runs.future_times import future_problems
from lineage_merge.sources.runs.jobs import job_records
from lineage_merge.sources.runs.run_local import Datasets, own_sources
from lineage_merge.sources.runs.run_selection import PlanKey, SelectedPlan
from lineage_merge.sources.spline.document_rows import Context, TranslatedPlan
from lineage_merge.sources.spline.labels import Label
from lineage_merge.sources.spline.unmatched_selection import (
    report_unmatched_applications,
    report_unmatched_labels,
)
from lineage_merge.sources.unmatched_patterns import Names

# What runs say about plans, by plan.
SelectedPlans = Rows[tuple[PlanKey, SelectedPlan | Datasets]]


@dataclass(frozen=True, kw_only=True)
class PlanInput(ABC):
    """Where plans and events are read from.

    `unrecorded` are the databases without `progress`; `notices` are reported as they are. Events after
    `latest` (ms since 1970) have a wrong time.
    """

    engine: Engine
    context: Context
    unrecorded: Collection[str] = ()
    notices: Iterable[Problem] = ()
    latest: int = field(default_factory=latest_credible)

    @abstractmethod
    def events(self) -> Rows[EventRow]:
        """Return write events, and problems with them; `wanted` is False without the requested labels."""

    def recent(self, events: Rows[EventRow]) -> Rows[EventRow]:
        """Return the wanted events within the lookback."""
        spline = self.context.spline
        return run_selection.select_lookback(events, spline.runs, spline.lookback, self.latest)

    @abstractmethod
    def translate(self, plans: SelectedPlans) -> Rows[TranslatedPlan]:
        """Return the selected plans, and all plans of unrecorded databases."""

    @abstractmethod
    def application_names(self) -> Rows[Names]:
        """Return the names of applications that events may not have, for messages."""

    @abstractmethod
    def labels(self) -> Rows[Label]:
        """Return the labels of all plans and events, for messages."""


def read_records(plan_input: PlanInput) -> Rows[Record]:
    """Return the records of plans, jobs and problems."""
    engine, context = plan_input.engine, plan_input.context
    spline, unrecorded = context.spline, plan_input.unrecorded
    events = plan_input.events().cache()
    recent = plan_input.recent(events)
    selected = run_selection.select_writes(recent, spline.runs)
    plans: Rows[Any] = run_selection.group_by_plan(selected)
    if context.marks_run_local:
        plans = plans.union(own_sources(recent, selected))
    translated = plan_input.translate(plans)
    if unrecorded:
        translated = newest_plans(translated.cache(), unrecorded)
    notices = [*map(_report_unrecorded, unrecorded), *plan_input.notices]
    if spline.applications:
        without_events = plan_input.application_names() if unrecorded else engine.empty()
        notices += report_unmatched_applications(
            spline,
            recent.flat_map(_names_of_event).union(without_events),
            lambda: events.flat_map(_names_of_event).union(plan_input.application_names()),
        )
    if spline.labels:
        is_matched = not recent.filter(_is_write).is_empty() or (
            bool(unrecorded) and not translated.filter(attrgetter("output")).is_empty()
        )
        notices += report_unmatched_labels(spline.labels, plan_input.labels, is_matched=is_matched)
    of_future = future_problems(events, plan_input.latest, "Spline", "timestamp")
    of_events = engine.union(
        [
            job_records(recent, selected, context.resolver),
            events.map_partitions(partial(_problem_records, resolver=context.resolver)),
            of_future.map_partitions(context.resolver.records),
            engine.rows(list(context.resolver.records(notices)), 1),
        ]
    )
    # Groups have as many partitions as the plans need; of events, nearly all would be empty.
    partitions = max(events.partition_count, engine.parallelism)
    if of_events.partition_count > partitions:
        of_events = of_events.repartition(partitions)
    return translated.flat_map(attrgetter("records")).union(of_events)


def names_of(application_name: object) -> Iterator[Names]:
    """Yield the names by which an application is selected."""
    if isinstance(application_name, str) and application_name:
        yield application(application_name).job, application_name


def newest_plans(translated: Rows[TranslatedPlan], databases: Iterable[str]) -> Rows[TranslatedPlan]:
    """Select, for databases without `progress`, the newest plan per job and dataset; of others all plans."""
    unrecorded = frozenset(databases)
    by_target = translated.flat_map(partial(_group_by_target, databases=unrecorded))
    newest = by_target.combine(_return_plan, _newer, _newer)
    others = translated.filter(partial(_is_of_others, databases=unrecorded))
    return others.union(newest.map(itemgetter(1)))


def _group_by_target(
    plan: TranslatedPlan, databases: frozenset[str]
) -> Iterator[tuple[tuple[str, str, str | None], TranslatedPlan]]:
    if plan.output and plan.database in databases:
        yield (plan.database, plan.output.job, plan.output.dataset), plan


def _return_plan(plan: TranslatedPlan) -> TranslatedPlan:
    return plan


def _newer(one: TranslatedPlan, other: TranslatedPlan) -> TranslatedPlan:
    return max(one, other, key=_age)


def _age(plan: TranslatedPlan) -> tuple[int, str]:
    return plan.output.created if plan.output else 0, plan.plan


def _is_of_others(plan: TranslatedPlan, databases: frozenset[str]) -> bool:
    return plan.database not in databases or not plan.plan


def _names_of_event(event: EventRow) -> Iterator[Names]:
    if event.job and event.application:
        yield event.job, event.application


def _problem_records(events: Iterable[EventRow], resolver: Resolver) -> Iterator[Record]:
    return resolver.records(Problem(*json.loads(event.problem)) for event in events if event.problem)


def _report_unrecorded(database: str) -> Problem:
    source = f"Spline database {database}" if database else "Spline"
    message = "no run is recorded: using the newest plan of each application and target"
    return Problem("notice", source, "progress", message)


def _is_write(event: EventRow) -> bool:
    return not event.problem
