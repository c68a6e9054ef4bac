"""Reader of OpenLineage events into records.

Each slice is read and validated where it is stored. The events of a run are grouped, runs are selected, and
each selected run is translated where its events are.
"""

import json
from collections.abc import Hashable, Iterable, Iterator, Mapping, Set
from dataclasses import astuple, replace
from functools import partial
from typing import Any, NamedTuple

from lineage_merge.config import Config
from lineage_merge.infra.document_decoder import loads
from lineage_merge.infra.engine.rows import Engine, Rows
from lineage_merge.infra.storage import Slice
from lineage_merge.model.elements import Count, Element, Problem
from lineage_merge.model.records import Record
from lineage_merge.naming import REDSHIFT_DATA_API, redact
from lineage_merge.sources import line_files, unmatched_patterns
from lineage_merge.sources.openlineage import airflow_attempts, files
from lineage_merge.sources.openlineage.airflow_attempts import Attempt, Outcome
from lineage_merge.sources.openlineage.airflow_tasks import (
    changes_table,
    dag_run_of,
    has_assets,
    sql_without_datasets,
    warehouse_of_task,
    with_known_names,
)
from lineage_merge.sources.openlineage.datasets import reference
from lineage_merge.sources.openlineage.documents import Document, cut_down, kind_of
from lineage_merge.sources.openlineage.events import (
    Context,
    QueriedTask,
    event_rows,
    number_of,
    run_of,
    without_nested,
)
from lineage_merge.sources.openlineage.jobs import is_airflow, is_query, job_of, parent_run
from lineage_merge.sources.openlineage.row_operations import (
    may_be_row_operation,
    short_target,
    unnamed_target,
)
from lineage_merge.sources.openlineage.runs import DatasetKey, Run, as_run, combine_events, newest
from lineage_merge.sources.openlineage.source import EVENTS, OpenLineage
from lineage_merge.sources.openlineage.statement_names import names_of
from lineage_merge.sources.openlineage.translator import assertions, targets, translate, translate_dataset
from lineage_merge.sources.runs import run_selection
from lineage_merge.sources.runs.events import EventRow
from lineage_merge.sources.runs.jobs import job_records
from lineage_merge.sources.runs.run_local import Datasets, mark, own_sources
from lineage_merge.sources.runs.run_selection import PlanKey, SelectedPlan
from lineage_merge.sources.source import Resolver
from lineage_merge.sources.unmatched_patterns import Names, Patterns

_PROBLEM = "problem"
_ANY_TABLE = "database.schema.table"
_RUN = "RunEvent"
_NO_DATASETS = (
    "the event of its SQL has no datasets: Airflow's hook does not know the warehouse, or cannot parse it"
)

_NAME_WAREHOUSE = (
    "Fix: if it is the former, give the task an inlet or outlet that is a table of the warehouse, such as"
    " redshift://cluster.region:5439/database/schema/table"
)


class Text(NamedTuple):
    """An event of a file: its type, its subject, its location and its text."""

    kind: str
    subject: str
    location: str
    text: str


class Subject(NamedTuple):
    """All events about one subject, without duplicates: text and location."""

    kind: str
    subject: str
    events: frozenset[tuple[str, str]]


def read_openlineage(engine: Engine, config: Config, resolver: Resolver) -> Rows[Record]:
    """Read all events about the selected jobs, as records.

    Raises `SourceError` if the files cannot be read at all.
    """
    settings = config.of(OpenLineage)
    if settings is None:
        return engine.empty()
    context = Context(settings, resolver)
    parts = files.find(settings.events)
    notices: tuple[Problem, ...] = ()
    if settings.kafka:
        from lineage_merge.sources.kafka_landing.kafka import with_landed

        parts, notices = with_landed(engine, settings.kafka, parts, files.find)
    texts = line_files.parallel(engine, parts).flat_map(_texts)
    by_subject = texts.map(lambda text: ((text.kind, text.subject), (text.text, text.location)))
    texts_of_subject = by_subject.combine(_only, _added, set.__ior__)
    subjects = texts_of_subject.map(lambda events: Subject(*events[0], frozenset(events[1]))).cache()
    runs = subjects.filter(lambda subject: subject.kind == _RUN)
    context = replace(
        context, tables=_tables_of_short_names(runs), tasks=_queried_tasks(runs), outcomes=_outcomes(runs)
    )
    context = replace(context, with_children=_with_children(runs, context))
    events = runs.flat_map(lambda subject: event_rows(_run(subject, context), context))
    events = run_selection.within_lookback(without_nested(events).cache(), settings.runs, settings.lookback)
    written = events.filter(lambda event: event.target is not None)
    selected = run_selection.select_writes(written, settings.runs)
    named: Rows[tuple[str, Any]] = runs.map(lambda subject: (subject.subject, subject))
    translated = named.union(run_selection.by_plan(selected).map(_of_run))
    if config.merge.collapse_run_local:
        translated = translated.union(own_sources(written, selected).map(_of_run))

    def plan_records(_run_id: Hashable, rows: list[tuple[str, Any]]) -> Iterator[Record]:
        return _plan_records([row for _, row in rows], context)

    def static_records(subjects: Iterable[Subject]) -> Iterator[Record]:
        return resolver.records(element for subject in subjects for element in _of_static(context, subject))

    unnamed = runs.flat_map(lambda subject: _unnamed_targets(subject, context)).distinct()
    said = [*_counted(subjects, parts), *notices, *_unmatched(settings, subjects, events)]
    return engine.union(
        [
            translated.group(lambda row: row[0], plan_records),
            subjects.filter(lambda subject: subject.kind != _RUN).map_partitions(static_records),
            job_records(events, selected, context.resolver),
            unnamed.flat_map(lambda problem: resolver.records([problem])),
            engine.rows(resolver.records(said), 1),
        ]
    )


def _texts(part: Slice) -> Iterator[Text]:
    for read in files.events(part):
        if isinstance(read, Problem):
            yield Text(_PROBLEM, read.document, "", json.dumps(astuple(read)))
            continue
        event = read.document
        kind = kind_of(event)
        if kind == _RUN:
            subject = event["run"]["runId"]
        else:
            about = event["dataset" if kind == "DatasetEvent" else "job"]
            subject = f"{about['namespace']} {about['name']}"
        # Locations of a run's events are not needed; without them, duplicates are counted once.
        location = "" if kind == _RUN else read.location
        yield Text(kind, subject, location, json.dumps(cut_down(event), sort_keys=True))


def _only(event: tuple[str, str]) -> set[tuple[str, str]]:
    return {event}


def _added(events: set[tuple[str, str]], event: tuple[str, str]) -> set[tuple[str, str]]:
    events.add(event)
    return events


def _run(subject: Subject, context: Context | None = None) -> Run:
    run = combine_events(loads(text) for text, _ in subject.events)
    if is_airflow(run):
        run = with_known_names(run)
    return context.named(run) if context is not None else run


def _tables_of_short_names(runs: Rows[Subject]) -> dict[str, dict[str, DatasetKey]]:
    """Return tables that a job changes by names without a database, of events that have no dataset.

    A table is one that another event of the job has a name for; none if there are several.
    """
    wanted = set(runs.flat_map(_short_target).distinct().collect())
    if not wanted:
        return {}
    keys_of: dict[tuple[str, str], set[DatasetKey]] = {}
    for job, name, key in runs.flat_map(lambda subject: _named_tables(subject, wanted)).distinct().collect():
        keys_of.setdefault((job, name), set()).add(key)
    tables: dict[str, dict[str, DatasetKey]] = {}
    for (job, name), keys in keys_of.items():
        if len(keys) == 1:
            tables.setdefault(job, {})[name] = next(iter(keys))
    return tables


def _queried_tasks(runs: Rows[Subject]) -> dict[str, QueriedTask]:
    """Return the runs of Airflow's tasks that have queries, by run."""
    wanted = frozenset(runs.flat_map(_task_of_query).distinct().collect())
    return dict(runs.flat_map(partial(_queried_task, wanted=wanted)).collect()) if wanted else {}


def _task_of_query(subject: Subject) -> Iterator[str]:
    if _may_be_query(subject):
        run = _run(subject)
        if is_query(run):
            yield parent_run(run)


def _queried_task(subject: Subject, wanted: Set[str]) -> Iterator[tuple[str, QueriedTask]]:
    if subject.subject in wanted:
        run = _run(subject)
        yield subject.subject, QueriedTask(dag_run_of(run), warehouse_of_task(run))


def _outcomes(runs: Rows[Subject]) -> dict[str, Outcome]:
    """Return the outcomes of attempts of Airflow's tasks that their own events do not show, by run."""
    outcomes = runs.flat_map(_attempts).group(airflow_attempts.task_of, airflow_attempts.outcomes)
    return dict(outcomes.collect())


def _attempts(subject: Subject) -> Iterator[Attempt]:
    # The events of a run are of one kind, but only the last one of a DAG has the states.
    if any('"taskInstance"' in text or '"airflowState"' in text for text, _ in subject.events):
        yield from airflow_attempts.attempts(_run(subject))


def _with_children(runs: Rows[Subject], context: Context) -> frozenset[str]:
    """Return the tasks with assets whose queries, Spark or dbt jobs send lineage of their own.

    The parent of an action of Spark is its application, whose parent is the task.
    """
    task_of = {task: task for task in runs.flat_map(_task_with_assets).collect()}
    with_outputs: set[str] = set()
    for _ in range(2):
        if task_of:
            children = runs.flat_map(partial(_child, task_of=task_of, context=context)).collect()
            with_outputs |= {task for _, task, has_outputs in children if has_outputs}
            task_of = {child: task for child, task, _ in children}
    return frozenset(with_outputs)


def _task_with_assets(subject: Subject) -> Iterator[str]:
    # The events of a run are about one job.
    if '"outlets"' in next(iter(subject.events))[0]:
        run = _run(subject)
        if is_airflow(run) and has_assets(run):
            yield run.run_id


def _child(subject: Subject, task_of: Mapping[str, str], context: Context) -> Iterator[tuple[str, str, bool]]:
    """Yield run, task, and whether it has outputs, if the run's parent is a task or a run of one."""
    run = _run(subject)
    task = task_of.get(parent_run(run))
    if task:
        # The tables of a query are lineage of the task, the assets of another task are not.
        outputs = context.named(run).outputs if is_query(run) else run.outputs
        yield run.run_id, task, bool(outputs)


def _short_target(subject: Subject) -> Iterator[tuple[str, str]]:
    if _may_be_row_operation(subject):
        run = _run(subject)
        name = short_target(run)
        if name:
            yield job_of(run).key.name, name.casefold()


def _named_tables(subject: Subject, wanted: Set[tuple[str, str]]) -> Iterator[tuple[str, str, DatasetKey]]:
    run = _run(subject)
    job = job_of(run).key.name
    for key, dataset in (*run.inputs.items(), *run.outputs.items()):
        for table in names_of(*key, dataset).tables:
            name = table[-1].casefold()
            if (job, name) in wanted:
                yield job, name, key


def _may_be_row_operation(subject: Subject) -> bool:
    # The events of a run are about one job.
    return may_be_row_operation(next(iter(subject.events))[0])


def _of_run(row: tuple[PlanKey, SelectedPlan | Datasets]) -> tuple[str, Any]:
    (_, plan), _ = row
    return run_of(plan), row


def _plan_records(
    rows: Iterable[Subject | tuple[PlanKey, SelectedPlan | Datasets]], context: Context
) -> Iterator[Record]:
    """Yield the records of one run's selected writes; a write is a run and one of its targets.

    A run that only checks data has no target: its assertions are read as well.
    """
    of_run: Subject | None = None
    selected: dict[str, SelectedPlan] = {}
    own: dict[str, Datasets] = {}
    for subject in rows:
        if isinstance(subject, Subject):
            of_run = subject
            continue
        (_, plan), value = subject
        if isinstance(value, SelectedPlan):
            selected[plan] = value
        else:
            own[plan] = value
    if of_run is None:
        return
    run = _run(of_run, context)
    keys = targets(run)
    if (selected or not keys) and context.applies(run, job_of(run)):
        yield from context.resolver.records(assertions(run))
    for plan, how in selected.items():
        elements = translate(run, keys[number_of(plan)], how.sequence)
        for record in context.resolver.records(elements):
            yield mark(record, own.get(plan, frozenset()))


def _unnamed_targets(subject: Subject, context: Context) -> Iterator[Problem]:
    """Yield the problem of a successful statement whose table is unknown."""
    if _may_be_query(subject):
        yield from _without_datasets(_run(subject, context), context)
        return
    if not _may_be_row_operation(subject):
        return
    run = _run(subject, context)
    job_run = job_of(run)
    problem = unnamed_target(run)
    if problem and run.at is not None and not run.failed and context.applies(run, job_run):
        yield Problem("not-joined", f"Spark job {job_run.key.name}", "", redact(problem))


def _may_be_query(subject: Subject) -> bool:
    # The events of a run are about one job.
    text = next(iter(subject.events))[0]
    return '"sql"' in text and '"AIRFLOW"' in text


def _without_datasets(run: Run, context: Context) -> Iterator[Problem]:
    job_run = job_of(run)
    applies = run.at is not None and not run.failed and context.applies(run, job_run)
    if applies and is_airflow(run) and changes_table(sql_without_datasets(run)):
        task = job_run.key.name
        warehouse = context.warehouse(run)
        message = _NO_DATASETS if warehouse else f"{_NO_DATASETS}. {_NAME_WAREHOUSE}"
        if warehouse and not context.resolver.resolves(reference(warehouse.namespace, _ANY_TABLE, task)):
            message = _unknown_warehouse(task)
        yield Problem("not-joined", f"Airflow task {task}", "", message)


def _unknown_warehouse(task: str) -> str:
    """Return why the Redshift of a task is unknown, and the rule that names it."""
    rule = {
        "name": "data-api",
        "application": task,
        "match": f"^{REDSHIFT_DATA_API}(?P<table>.+)$",
        "dataset": "redshift://cluster.region:5439|{table}",
    }
    return (
        "its event does not name the Redshift cluster, and the configuration has none or several."
        f" Fix: add to merge.rules: {json.dumps(rule)}"
    )


def _of_static(context: Context, subject: Subject) -> Iterator[Element]:
    """Yield the elements of an event without a run, the newest one about its job or dataset."""
    if subject.kind == _PROBLEM:
        for text in sorted(text for text, _ in subject.events):
            yield Problem(*json.loads(text))
        return
    # Of duplicates, the first location is reported, whichever was read first.
    by_text: dict[str, str] = {}
    for text, location in sorted(subject.events):
        by_text.setdefault(text, location)
    documents: list[Document] = [loads(text) for text in by_text]
    event = newest(documents)
    location = by_text[json.dumps(event, sort_keys=True)]
    if subject.kind == "DatasetEvent":
        yield from translate_dataset(event, location)
        return
    run = as_run(event)
    if context.applies(run, job_of(run)):
        for key in run.outputs:
            yield from translate(run, key)


def _unmatched(settings: OpenLineage, subjects: Rows[Subject], events: Rows[EventRow]) -> Iterator[Problem]:
    """Yield a notice for each pattern that matches no job, or no namespace of jobs."""
    jobs = Patterns("OpenLineage", "jobs", "job", settings.jobs)
    # Most patterns match a write that was read. Only for others, all events are searched.
    names = events.filter(lambda event: bool(event.job and event.application)).map(_event_names)
    left = unmatched_patterns.unmatched(jobs, names)
    if left:
        yield from unmatched_patterns.problems(jobs._replace(globs=left), subjects.flat_map(_job_names))
    if settings.namespaces:
        namespaces = Patterns("OpenLineage", "namespaces", "namespace of a job", settings.namespaces)
        yield from unmatched_patterns.problems(namespaces, subjects.flat_map(_job_namespace))


def _event_names(event: EventRow) -> Names:
    return event.job or "", event.application or ""


def _job_names(subject: Subject) -> Iterator[Names]:
    if subject.kind == _RUN:
        run = _run(subject)
        job_run = job_of(run)
        yield job_run.key.name, job_run.application, run.job["name"]
    elif subject.kind == "JobEvent":
        for text, _ in subject.events:
            run = as_run(loads(text))
            yield job_of(run).key.name, run.job["name"]


def _job_namespace(subject: Subject) -> Iterator[Names]:
    if subject.kind in (_RUN, "JobEvent"):
        # The events of a subject are about one job.
        text, _ = min(subject.events)
        yield (loads(text)["job"]["namespace"],)


def _counted(subjects: Rows[Subject], parts: list[Slice]) -> Iterator[Element]:
    numbers = subjects.map_partitions(_numbers).collect()
    events = sum(events for events, _ in numbers)
    yield Count("OpenLineage events", events)
    yield Count("OpenLineage runs", sum(runs for _, runs in numbers))
    if not events:
        yield line_files.nothing_found("OpenLineage", "events", "event", parts, EVENTS)


def _numbers(subjects: Iterable[Subject]) -> Iterator[tuple[int, int]]:
    """Count the distinct events and their runs."""
    for subject in subjects:
        if subject.kind != _PROBLEM:
            yield len({text for text, _ in subject.events}), int(subject.kind == _RUN)
