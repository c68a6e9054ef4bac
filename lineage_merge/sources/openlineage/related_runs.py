"""What runs say of each other: names of tables, warehouses, outcomes of attempts, lineage of a task's work.

All runs are searched for it before any is translated; the driver collects what few of them have.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Set
from dataclasses import replace
from functools import partial

from lineage_merge.infra.engine.rows import Rows
from lineage_merge.sources.openlineage import airflow_attempts
from lineage_merge.sources.openlineage.airflow_attempts import Attempt, Outcome
from lineage_merge.sources.openlineage.airflow_tasks import dag_run_of, has_assets, warehouse_of_task
from lineage_merge.sources.openlineage.events import Context, QueriedTask
from lineage_merge.sources.openlineage.jobs import is_airflow, is_query, job_of, parent_run
from lineage_merge.sources.openlineage.row_operations import short_target
from lineage_merge.sources.openlineage.runs import DatasetKey
from lineage_merge.sources.openlineage.statement_names import names_of
from lineage_merge.sources.openlineage.subjects import Subject


def with_related_runs(context: Context, runs: Rows[Subject]) -> Context:
    """Return the context with what a run needs of others."""
    context = replace(
        context,
        tables=_tables_of_short_names(runs),
        tasks=_collect_queried_tasks(runs),
        outcomes=_outcomes(runs),
    )
    return replace(context, with_children=_find_parents(runs, context))


# ---- tables


def _tables_of_short_names(runs: Rows[Subject]) -> dict[str, dict[str, DatasetKey]]:
    """Return tables that a job changes by names without a database, of events that have no dataset.

    A table is one that another event of the job has a name for; none if there are several.
    """
    wanted = set(runs.flat_map(_short_target).distinct().collect())
    if not wanted:
        return {}
    keys: defaultdict[tuple[str, str], set[DatasetKey]] = defaultdict(set)
    for job, name, key in runs.flat_map(partial(_list_named_tables, wanted=wanted)).distinct().collect():
        keys[job, name].add(key)
    tables: dict[str, dict[str, DatasetKey]] = {}
    for (job, name), of_name in keys.items():
        if len(of_name) == 1:
            tables.setdefault(job, {})[name] = of_name.pop()
    return tables


def _short_target(subject: Subject) -> Iterator[tuple[str, str]]:
    if subject.may_be_row_operation:
        run = subject.run()
        if name := short_target(run):
            yield job_of(run).key.name, name.casefold()


def _list_named_tables(
    subject: Subject, wanted: Set[tuple[str, str]]
) -> Iterator[tuple[str, str, DatasetKey]]:
    run = subject.run()
    job = job_of(run).key.name
    for key, dataset in (*run.inputs.items(), *run.outputs.items()):
        for table in names_of(*key, dataset).tables:
            name = table[-1].casefold()
            if (job, name) in wanted:
                yield job, name, key


# ---- tasks of Airflow


def _collect_queried_tasks(runs: Rows[Subject]) -> dict[str, QueriedTask]:
    """Return the runs of Airflow's tasks that have queries, by run."""
    wanted = frozenset(runs.flat_map(_task_of_query).distinct().collect())
    return dict(runs.flat_map(partial(_find_queried_task, wanted=wanted)).collect()) if wanted else {}


def _task_of_query(subject: Subject) -> Iterator[str]:
    if subject.may_be_query:
        run = subject.run()
        if is_query(run):
            yield parent_run(run)


def _find_queried_task(subject: Subject, wanted: Set[str]) -> Iterator[tuple[str, QueriedTask]]:
    if subject.subject in wanted:
        run = subject.run()
        yield subject.subject, QueriedTask(dag_run_of(run), warehouse_of_task(run))


def _outcomes(runs: Rows[Subject]) -> dict[str, Outcome]:
    """Return the outcomes of attempts of Airflow's tasks that their own events do not show, by run."""
    outcomes = runs.flat_map(_attempts).group(airflow_attempts.task_of, airflow_attempts.outcomes)
    return dict(outcomes.collect())


def _attempts(subject: Subject) -> Iterator[Attempt]:
    # The events of a run are of one kind, but only the last one of a DAG has the states.
    if any('"taskInstance"' in text or '"airflowState"' in text for text, _ in subject.events):
        yield from airflow_attempts.attempts(subject.run())


def _find_parents(runs: Rows[Subject], context: Context) -> frozenset[str]:
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
    if '"outlets"' in subject.any_text:
        run = subject.run()
        if is_airflow(run) and has_assets(run):
            yield run.run_id


def _child(subject: Subject, task_of: Mapping[str, str], context: Context) -> Iterator[tuple[str, str, bool]]:
    """Yield run, task, and whether it has outputs, if the run's parent is a task or a run of one."""
    run = subject.run()
    if task := task_of.get(parent_run(run)):
        # The tables of a query are lineage of the task, the assets of another task are not.
        outputs = context.complete(run).outputs if is_query(run) else run.outputs
        yield run.run_id, task, bool(outputs)
