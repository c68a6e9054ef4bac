"""Translation of plans into records, shared by the readers of databases, exports and agents' files.

Write events are rows, run selection picks those to use, and each selected plan is assembled and translated
where its documents were read.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from itertools import chain
from typing import Any, NamedTuple

from lineage_merge.infra.engine.rows import Rows
from lineage_merge.infra.redaction import redact
from lineage_merge.model.elements import Count, Element, JobKey, Problem, Reference
from lineage_merge.model.records import Record
from lineage_merge.sources import unmatched_patterns
from lineage_merge.sources.runs import run_selection
from lineage_merge.sources.runs.events import EventRow
from lineage_merge.sources.runs.jobs import job_records
from lineage_merge.sources.runs.run_local import Datasets, mark, own_sources
from lineage_merge.sources.runs.run_selection import PlanKey, SelectedPlan, SelectedWrite
from lineage_merge.sources.source import Resolver
from lineage_merge.sources.spline import labels
from lineage_merge.sources.spline.documents import Document, Plan, assemble, rejected
from lineage_merge.sources.spline.events import Wanted
from lineage_merge.sources.spline.naming import application
from lineage_merge.sources.spline.operation_chain import operations
from lineage_merge.sources.spline.settings import Spline
from lineage_merge.sources.spline.transactions import EVERYTHING, Snapshot
from lineage_merge.sources.spline.translator import JOB_TYPE, application_name, target, translate
from lineage_merge.sources.spline.unmatched_labels import Label, unmatched_labels
from lineage_merge.sources.unmatched_patterns import Names, Patterns


class PlanFacts(NamedTuple):
    """What runs say about a plan. `selected` None: no run of it is selected, or the database records none.

    `own`: the datasets that each of its runs had written before reading them.
    """

    selected: SelectedPlan | None = None
    own: Datasets = frozenset()


class PlanOutput(NamedTuple):
    """The job and the target of a plan, and when the plan was created."""

    job_type: str
    job: str
    dataset: str | None
    created: int


class Translated(NamedTuple):
    """The records of a plan; of no plan ("", without `made`): problems with documents."""

    database: str
    plan: str
    records: list[Record]
    made: PlanOutput | None = None


@dataclass(frozen=True, slots=True)
class Context:
    """Settings that executors need to translate documents."""

    spline: Spline
    resolver: Resolver
    marks_run_local: bool = False
    snapshots: Mapping[str, Snapshot] = field(default_factory=dict)

    def snapshot(self, database: str) -> Snapshot:
        """Return the snapshot of a database, as taken once by the driver."""
        return self.snapshots.get(database, EVERYTHING)

    def dataset(self, uri: str, job: str) -> str:
        """Return the id of a raw URI's dataset, by which the newest write is selected."""
        return self.resolver.resolve_id(Reference("", uri, job))

    def wanted(self) -> Wanted:
        """Return which events are selected."""
        return Wanted(self.spline.wants, self.spline.labels, self.dataset)


def plan_facts(facts: Iterable[object]) -> PlanFacts:
    """Combine the facts that were collected for a plan: its `SelectedPlan` and its own sources."""
    found = PlanFacts()
    for fact in facts:
        if isinstance(fact, SelectedPlan):
            found = found._replace(selected=fact)
        elif isinstance(fact, frozenset):
            found = found._replace(own=fact)
    return found


def selected_plans(
    context: Context, events: Rows[EventRow], selected: Rows[SelectedWrite]
) -> Rows[tuple[PlanKey, SelectedPlan | Datasets]]:
    """Return the `SelectedPlan` of each selected plan, and its own sources if they are requested."""
    plans: Rows[Any] = run_selection.by_plan(selected)
    return plans.union(own_sources(events, selected)) if context.marks_run_local else plans


def event_names(event: EventRow) -> Iterator[Names]:
    """Yield the names by which the application of an event is selected."""
    if event.job and event.application:
        yield event.job, event.application


def names_of(application_name: str) -> Iterator[Names]:
    """Yield the names by which an application is selected."""
    if application_name:
        yield application(application_name).job, application_name


def unmatched_applications(
    spline: Spline, recent: Rows[Names], everything: Callable[[], Rows[Names]]
) -> list[Problem]:
    """Return a notice for each pattern that matches no application, or only older writes.

    `recent` are the names of the writes of the lookback. `everything` returns all names; it is called only if
    a pattern matches none of the recent ones.
    """
    patterns = Patterns("Spline", "applications", "application", spline.applications)
    left = unmatched_patterns.unmatched(patterns, recent)
    if not left:
        return []
    names = everything()
    nothing = unmatched_patterns.unmatched(patterns._replace(globs=left), names)
    notices = (
        unmatched_patterns.notices(patterns, nothing, unmatched_patterns.existing(names)) if nothing else []
    )
    if spline.labels:  # then recent writes may lack a label
        return notices
    what = "no write within the lookback matches {}, only older ones"
    older = [redact(what.format(glob)) for glob in left if glob not in nothing]
    return [*notices, *(Problem("notice", patterns.source, patterns.key, each) for each in older)]


def translate_plan(
    context: Context,
    database: str,
    key: str,
    documents: Mapping[str, list[Document]],
    known: PlanFacts,
    problems: list[Problem],
) -> Iterator[Translated]:
    """Translate one plan into records; none if the plan is not wanted."""
    selected = known.selected
    plan, rejections = assemble(key, documents, context.snapshot(database), database)
    applied_by = selected.application if selected else ""
    name = application_name(plan) or applied_by
    job = application(name).job
    if name and not context.spline.wants(job, name):
        return
    if plan.is_open:
        return
    if selected is None and context.spline.labels.keys() - labels.of_plan(
        context.spline.labels, plan.header or {}
    ):
        return
    if not (plan.header or plan.operations or problems or rejections):
        missing = rejected(f"executionPlan/{key}", "", "missing, but referenced by progress", database)
        yield of_plan(context, database, key, [missing])
        return
    read: list[Element] = [Count("execution plans", 1), *problems, *rejections]
    sequence = selected.sequence if selected else None
    elements = chain(read, translate(plan, applied_by, database, sequence))
    # Only for the newest run: writes of two runs have the same positions.
    if context.spline.operations and name and selected and selected.newest_sequence:
        elements = chain(elements, operations(plan, JobKey(JOB_TYPE, job), selected.newest_sequence))
    records = context.resolver.records(elements)
    marked = [mark(record, known.own) for record in records] if known.own else list(records)
    yield Translated(database, key, marked, _made(context, plan, job))


def of_plan(context: Context, database: str, key: str, elements: Iterable[Element]) -> Translated:
    """Convert elements that are independent of job and run."""
    return Translated(database, key, list(context.resolver.records(elements)))


def _made(context: Context, plan: Plan, job: str) -> PlanOutput:
    uri = target(plan)
    created = (plan.header or {}).get("_created") or 0
    return PlanOutput(redact(JOB_TYPE), redact(job), context.dataset(uri, job) if uri else None, created)


def combined(
    context: Context,
    events: Rows[EventRow],
    recent_events: Rows[EventRow],
    selected: Rows[SelectedWrite],
    translated: Rows[Translated],
    unrecorded: list[str],
    notices: Iterable[Problem] = (),
    labels_of: Callable[[], Rows[Label]] | None = None,
) -> Rows[Record]:
    """Return the records of plans, jobs and problems. `unrecorded` are the databases without `progress`.

    `labels_of` returns the labels of all plans and writes; it is called only if one seems to be missing.
    """
    engine = translated.engine
    if unrecorded:
        translated = newest_plans(translated.cache(), unrecorded)
    if context.spline.labels and labels_of:
        is_found = not recent_events.filter(_is_write).is_empty()
        if not is_found and unrecorded:
            is_found = not translated.filter(_is_made).is_empty()
        notices = (*notices, *unmatched_labels(context.spline.labels, labels_of, is_found=is_found))
    parts = [
        translated.flat_map(_records_of),
        job_records(recent_events, selected, context.resolver),
        events.map_partitions(partial(_problem_records, resolver=context.resolver)),
        engine.rows(list(context.resolver.records([*map(_unrecorded, unrecorded), *notices])), 1),
    ]
    return engine.union(parts)


def newest_plans(translated: Rows[Translated], databases: Iterable[str]) -> Rows[Translated]:
    """Select, for databases without `progress`, the newest plan per job and dataset; of others all plans."""
    unrecorded = frozenset(databases)
    newest = translated.flat_map(partial(_by_target, databases=unrecorded)).combine(_same, _newer, _newer)
    return translated.filter(partial(_is_of_others, databases=unrecorded)).union(newest.map(_plan_of))


def _by_target(
    each: Translated, databases: frozenset[str]
) -> Iterator[tuple[tuple[str, str, str, str | None], Translated]]:
    if each.made and each.database in databases:
        yield (each.database, each.made.job_type, each.made.job, each.made.dataset), each


def _same(each: Translated) -> Translated:
    return each


def _newer(one: Translated, other: Translated) -> Translated:
    return max(one, other, key=_age)


def _age(each: Translated) -> tuple[int, str]:
    return each.made.created if each.made else 0, each.plan


def _plan_of(found: tuple[object, Translated]) -> Translated:
    return found[1]


def _is_of_others(each: Translated, databases: frozenset[str]) -> bool:
    return each.database not in databases or not each.plan


def _records_of(each: Translated) -> list[Record]:
    return each.records


def _problem_records(events: Iterable[EventRow], resolver: Resolver) -> Iterator[Record]:
    return resolver.records(Problem(*json.loads(event.problem)) for event in events if event.problem)


def _unrecorded(database: str) -> Problem:
    source = f"Spline database {database}" if database else "Spline"
    what = "no run is recorded: using the newest plan of each application and target"
    return Problem("notice", source, "progress", what)


def _is_write(event: EventRow) -> bool:
    return not event.problem


def _is_made(each: Translated) -> bool:
    return each.made is not None
