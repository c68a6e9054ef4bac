"""What a read reports: counts, statements whose tables are unknown, patterns that match nothing."""

import json
from collections.abc import Iterable, Iterator

from lineage_merge.infra.document_decoder import loads
from lineage_merge.infra.engine.rows import Rows
from lineage_merge.infra.storage import Slice
from lineage_merge.model.elements import Count, Element, Problem
from lineage_merge.naming import REDSHIFT_DATA_API, redact
from lineage_merge.sources import line_files, unmatched_patterns
from lineage_merge.sources.json_values import as_mapping
from lineage_merge.sources.openlineage.airflow_tasks import changes_table, sql_without_datasets
from lineage_merge.sources.openlineage.datasets import reference
from lineage_merge.sources.openlineage.events import Context
from lineage_merge.sources.openlineage.jobs import is_airflow, job_of
from lineage_merge.sources.openlineage.row_operations import explain_unnamed_target
from lineage_merge.sources.openlineage.runs import as_run
from lineage_merge.sources.openlineage.settings import EVENTS, OpenLineage
from lineage_merge.sources.openlineage.subjects import PROBLEM, RUN, Subject
from lineage_merge.sources.runs.events import EventRow
from lineage_merge.sources.unmatched_patterns import Names, Patterns

_ANY_TABLE = "database.schema.table"
_NO_DATASETS = (
    "the event of its SQL has no datasets: Airflow's hook does not know the warehouse, or cannot parse it"
)

_NAME_WAREHOUSE = (
    "Fix: if it is the former, give the task an inlet or outlet that is a table of the warehouse, such as"
    " redshift://cluster.region:5439/database/schema/table"
)


# ---- unknown tables


def report_unnamed_targets(subject: Subject, context: Context) -> Iterator[Problem]:
    """Yield the problem of a successful statement whose table is unknown."""
    may_be_query = subject.may_be_query
    if not (may_be_query or subject.may_be_row_operation or subject.may_have_unusual_names):
        return
    run = context.complete(subject.run())
    job_run = job_of(run)
    job = job_run.key.name
    if run.at is None or run.failed or not context.applies(run, job_run):
        return
    kind = "Airflow task" if is_airflow(run) else f"{job_run.key.job_type.capitalize()} job"
    for problem in run.problems:
        yield Problem("not-joined", f"{kind} {job}", "", problem)
    if may_be_query:
        if is_airflow(run) and changes_table(sql_without_datasets(run)):
            warehouse = context.warehouse(run)
            message = _NO_DATASETS if warehouse else f"{_NO_DATASETS}. {_NAME_WAREHOUSE}"
            if warehouse and not context.resolver.resolves(reference(warehouse.namespace, _ANY_TABLE, job)):
                message = _unknown_warehouse(job)
            yield Problem("not-joined", f"Airflow task {job}", "", message)
    elif problem := explain_unnamed_target(run):
        yield Problem("not-joined", f"Spark job {job}", "", redact(problem))


def report_extraction_errors(subject: Subject, context: Context) -> Iterator[Problem]:
    """Yield a notice for a run of whose code its client could not read a part, without texts of the code."""
    if not subject.may_have_extraction_errors:
        return
    run = subject.run()
    facet, job_run = as_mapping(run.facets.get("extractionError")), job_of(run)
    failed, total = facet.get("failedTasks"), facet.get("totalTasks")
    if isinstance(failed, int) and failed and context.applies(run, job_run):
        of_total = f" of {total}" if isinstance(total, int) else ""
        message = f"its client could not read {failed}{of_total} statements or tasks: lineage may be missing"
        yield Problem("notice", f"{job_run.key.job_type.capitalize()} job {job_run.key.name}", "", message)


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


# ---- patterns


def report_unmatched(
    settings: OpenLineage, subjects: Rows[Subject], events: Rows[EventRow]
) -> Iterator[Problem]:
    """Yield a notice for each pattern that matches no job, or no namespace of jobs."""
    jobs = Patterns("OpenLineage", "jobs", "job", settings.jobs)
    # Most patterns match a write that was read. Only for others, all events are searched.
    names = events.filter(lambda event: bool(event.job and event.application)).map(_event_names)
    if left := unmatched_patterns.find_unmatched(jobs, names):
        yield from unmatched_patterns.problems(jobs._replace(globs=left), subjects.flat_map(_job_names))
    if settings.namespaces:
        namespaces = Patterns("OpenLineage", "namespaces", "namespace of a job", settings.namespaces)
        yield from unmatched_patterns.problems(namespaces, subjects.flat_map(_job_namespace))


def _event_names(event: EventRow) -> Names:
    return event.job or "", event.application or ""


def _job_names(subject: Subject) -> Iterator[Names]:
    if subject.kind == RUN:
        run = subject.run()
        job_run = job_of(run)
        yield job_run.key.name, job_run.application, run.job["name"]
    elif subject.kind == "JobEvent":
        for text, _ in subject.events:
            run = as_run(loads(text))
            yield job_of(run).key.name, run.job["name"]


def _job_namespace(subject: Subject) -> Iterator[Names]:
    if subject.kind in (RUN, "JobEvent"):
        # The events of a subject are about one job.
        text, _ = min(subject.events)
        yield (loads(text)["job"]["namespace"],)


# ---- counts


def counts(subjects: Rows[Subject], parts: list[Slice], settings: OpenLineage) -> Iterator[Element]:
    """Yield the numbers of distinct events and of their runs, and a notice if files have none."""
    numbers = subjects.map_partitions(_numbers).collect()
    events = sum(events for events, _ in numbers)
    yield Count("OpenLineage events", events)
    yield Count("OpenLineage runs", sum(runs for _, runs in numbers))
    if not events and (settings.events or settings.kafka):
        yield line_files.nothing_found("OpenLineage", "events", "event", parts, EVENTS)


def _numbers(subjects: Iterable[Subject]) -> Iterator[tuple[int, int]]:
    """Count the distinct events and their runs."""
    for subject in subjects:
        if subject.kind != PROBLEM:
            yield len({text for text, _ in subject.events}), int(subject.kind == RUN)
