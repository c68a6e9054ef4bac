"""Write events of combined runs, and writes inside another command, such as CREATE TABLE AS SELECT. Pure."""

from collections.abc import Hashable, Iterator, Mapping, Set
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any, NamedTuple

from lineage_merge.infra.engine.rows import Rows
from lineage_merge.model.elements import Count
from lineage_merge.sources.openlineage import translator
from lineage_merge.sources.openlineage.airflow_attempts import Outcome
from lineage_merge.sources.openlineage.airflow_tasks import (
    Warehouse,
    is_retried,
    move_to_dag_run,
    sets_of_task,
    sql_of,
    sql_without_datasets,
    warehouse_of_query,
    with_assets,
)
from lineage_merge.sources.openlineage.datasets import reference
from lineage_merge.sources.openlineage.jobs import (
    JobRun,
    is_airflow,
    is_part,
    is_query,
    job_of,
    parent_run,
)
from lineage_merge.sources.openlineage.row_operations import with_output
from lineage_merge.sources.openlineage.runs import DatasetKey, Run
from lineage_merge.sources.openlineage.settings import OpenLineage
from lineage_merge.sources.resolver import Resolver
from lineage_merge.sources.runs.events import EventRow, nulls_first
from lineage_merge.sources.settings import matches_globs

# Separates a run id, which has no space, from the number of its target.
_SEPARATOR = " "


class QueriedTask(NamedTuple):
    """What queries need of the run of their task: its DAG run ("" if unknown), and the warehouse it names."""

    dag_run: str
    warehouse: Warehouse | None


@dataclass(frozen=True, slots=True)
class Context:
    """Which runs are selected, and how references are resolved.

    `tables`: as in `row_operations.with_output`, by the job that names them. `tasks`: the runs of Airflow's
    tasks that have queries. `outcomes`: of runs whose own events do not show it. `with_children`: tasks whose
    work other runs report, so that their assets are no lineage.
    """

    settings: OpenLineage
    resolver: Resolver
    tables: Mapping[str, Mapping[str, DatasetKey]] = field(default_factory=dict)
    tasks: Mapping[str, QueriedTask] = field(default_factory=dict)
    outcomes: Mapping[str, Outcome] = field(default_factory=dict)
    with_children: Set[str] = frozenset()

    def applies(self, run: Run, job_run: JobRun) -> bool:
        """Match by the job's name, the application's, the OpenLineage job's, and by its namespace."""
        names = (job_run.key.name, job_run.application, run.job["name"])
        return matches_globs(self.settings.jobs, *names) and matches_globs(
            self.settings.namespaces, run.job["namespace"]
        )

    def complete(self, run: Run) -> Run:
        """Return the run with what only other events, its statements or its task's assets name.

        That is the table that other events of its job name, the outcome of an attempt, and the tables of
        SQL, if the warehouse is known.
        """
        if is_query(run):
            return self._as_query(run)
        if is_airflow(run):
            outcome = self.outcomes.get(run.run_id)
            run = outcome.apply_to(run) if outcome else run
            run = self._with_written(run)
            return run if run.run_id in self.with_children else with_assets(run)
        tables = self.tables.get(job_of(run).key.name) if self.tables else None
        return with_output(run, tables) if tables else run

    def _as_query(self, run: Run) -> Run:
        task, outcome = self.tasks.get(parent_run(run)), self.outcomes.get(parent_run(run))
        if outcome and outcome.status == "none":
            run = outcome.apply_to(run)
        if task and task.dag_run:
            run = move_to_dag_run(run, task.dag_run)
        return self._with_tables(run) if sql_without_datasets(run) else self._with_written(run)

    def warehouse(self, run: Run) -> Warehouse | None:
        """Return the warehouse of a query without datasets; None if nothing names it."""
        task = self.tasks.get(parent_run(run))
        return (task.warehouse if task else None) or warehouse_of_query(run)

    def _with_written(self, run: Run) -> Run:
        query = sql_of(run)
        if not query or not (run.inputs or run.outputs):
            return run
        try:
            from lineage_merge.sources.openlineage.task_statements import with_written
        except ModuleNotFoundError as error:
            if error.name != "sqlglot":
                raise
            return run
        return with_written(run, query)

    def _with_tables(self, run: Run) -> Run:
        warehouse = self.warehouse(run)
        if warehouse is None:
            return run
        try:
            from lineage_merge.sources.openlineage.task_statements import with_tables
        except ModuleNotFoundError as error:
            if error.name != "sqlglot":
                raise
            return run
        named = with_tables(run, sql_without_datasets(run), warehouse)
        task = job_of(run).key.name
        refs = (reference(*key, task) for key in (*named.inputs, *named.outputs))
        return named if all(map(self.resolver.resolves, refs)) else run


def run_rows(run: Run, context: Context) -> Iterator[EventRow | Count]:
    """Yield the rows of a run, and of a selected one without a write why it has none, as a count."""
    rows = list(event_rows(run, context))
    yield from rows
    if not any(row.target is not None for row in rows) and context.applies(run, job_of(run)):
        yield Count(_kind_without_writes(run), 1)


def _kind_without_writes(run: Run) -> str:
    if run.at is None:
        return "OpenLineage runs without an end"
    if translator.targets(run):
        return "OpenLineage runs that failed and are reported by their task"
    if run.outputs:
        return "OpenLineage runs that only define tables"
    if run.problems:
        return "OpenLineage runs with unknown datasets"
    return "OpenLineage runs that only read" if run.inputs else "OpenLineage runs without datasets"


def event_rows(run: Run, context: Context) -> Iterator[EventRow]:
    """Yield one row per target of a finished run; one without a target if it wrote nothing.

    That row only records the run's success or failure. Actions of a Spark application that write nothing,
    such as a count, are no runs. Nor is an attempt of an Airflow task that is tried again; a task says itself
    that a query of it failed.
    """
    retried = is_retried(run) and run.run_id not in context.outcomes
    if run.at is None or retried or (run.failed and is_query(run)):
        return
    job_run = job_of(run)
    if not context.applies(run, job_run):
        return
    targets = translator.targets(run)
    common = EventRow(
        database="",
        wanted=True,
        application=job_run.application,
        job=job_run.key.name,
        job_type=job_run.key.job_type,
        at=run.at,
        run_id=job_run.run_id,
        shown_run_id=job_run.shown_run_id or None,
        failed=run.failed,
        framework=job_run.framework,
        **_find_task_labels(run),
    )
    for number, key in enumerate(targets):
        ref = reference(*key, job_run.key.name)
        yield common._replace(
            key=plan_of(run.run_id, number),
            plan=plan_of(run.run_id, number),
            target=ref.name,
            dataset=context.resolver.resolve_id(ref),
            # The duration is that of the run, so it is counted once.
            duration_ms=None if number else run.duration_ms,
            append=_appends(run, key),
            rows=translator.rows_written(run, key),
            version=translator.version_written(run, key),
        )
    if not targets and not is_part(run):
        # The lineage of a task may be in its queries, which have no duration.
        duration = run.duration_ms if is_airflow(run) else None
        yield common._replace(key=run.run_id, plan=run.run_id, duration_ms=duration)


def _find_task_labels(run: Run) -> dict[str, Any]:
    """Return owners and tags of an Airflow task, whose queries do not have them."""
    return sets_of_task(run) if is_airflow(run) else {}


def _appends(run: Run, key: DatasetKey) -> bool:
    mode = translator.write_mode(run, key)
    # Mapped instances and queries of a task are parts of one run: only a known overwrite replaces the others.
    return mode != "overwrite" and (bool(mode) or is_airflow(run))


def plan_of(run_id: str, number: int) -> str:
    """Return the name of a run's write to one of its targets."""
    return f"{run_id}{_SEPARATOR}{number}"


def run_of(plan: str) -> str:
    """Return the run id in a plan's name."""
    return plan.partition(_SEPARATOR)[0]


def number_of(plan: str) -> int:
    """Return the target's number in a plan's name."""
    return int(plan.rpartition(_SEPARATOR)[2])


def merge_nested(events: Rows[EventRow]) -> Rows[EventRow]:
    """Merge each command and the writes inside it into one write.

    For a failed CREATE TABLE AS SELECT, openlineage-spark sends FAIL only for the insert. The outer command,
    to the same target, began before the insert, ended no earlier, and is reported as COMPLETE: it failed.

    If both succeed, the insert's rows are counted once: it is within the command's time, to the same target,
    with as many rows.
    """
    return events.group(lambda event: (event.run_id, event.target), _as_one)


def _as_one(_written: Hashable, events: list[EventRow]) -> Iterator[EventRow]:
    """Return the writes to one target in one run, merged."""
    if events[0].job_type == "airflow":
        # Mapped instances and queries of a task run beside each other, not within.
        yield from events
        return
    in_order = sorted(events, key=_outer_first)
    writes = list(_mark_failed(in_order) if in_order[0].target is not None else in_order)
    # Sorting is stable: of equal row counts the outer one stays first.
    for _, of_rows in groupby(sorted(writes, key=_rows), key=_rows):
        yield from _drop_counted(of_rows)


def _outer_first(event: EventRow) -> tuple[tuple[bool, object], ...]:
    at = event.at or 0
    return nulls_first(at - (event.duration_ms or 0), -at, event.key)


def _rows(event: EventRow) -> tuple[tuple[bool, object], ...]:
    return nulls_first(event.rows)


def _mark_failed(in_order: list[EventRow]) -> Iterator[EventRow]:
    earliest: int | None = None  # end of the first failed write among the later ones
    event_rows: list[EventRow] = []
    for event in reversed(in_order):
        at = event.at or 0
        is_failed = bool(event.failed) or (earliest is not None and earliest <= at)
        event_rows.append(event._replace(failed=is_failed))
        if event.failed:
            earliest = at if earliest is None else min(earliest, at)
    return reversed(event_rows)


def _drop_counted(of_rows: Iterator[EventRow]) -> Iterator[EventRow]:
    latest: int | None = None  # end of the last of the previous writes
    for event in of_rows:
        at = event.at or 0
        is_inner = latest is not None and latest >= at
        yield event._replace(rows=None) if is_inner else event
        latest = at if latest is None else max(latest, at)
