"""Upstream Glue jobs of a task group: names, runs, and the start of the DAG run.

Evaluated at run time, when the dependencies of the group are complete.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from lineage_merge.sources.airflow_support import GlueRuns

_RUN_ID = re.compile(r"jr_\w+")
# States of tasks without a run that would be reported.
_DID_NOT_RUN = frozenset({"skipped", "failed", "upstream_failed", "removed"})


def glue_runs(task: Any, context: Mapping[str, Any]) -> list[GlueRuns]:
    """Return the jobs of all upstream `GlueJobOperator`s by name, except those that did not run."""
    runs_of_job: dict[str, list[str]] = {}
    upstream = [relative for relative in task.get_flat_relatives(upstream=True) if _is_glue(relative)]
    states = _states(context, [relative.task_id for relative in upstream])
    for relative in sorted(upstream, key=lambda one: str(one.task_id)):
        run_ids = list(_run_ids(context["ti"].xcom_pull(task_ids=relative.task_id)))
        if not run_ids and states.get(relative.task_id) in _DID_NOT_RUN:
            continue
        for name in _job_names(relative):
            job = task.render_template(name, context)
            if isinstance(job, str) and job:
                runs_of_job.setdefault(job, []).extend(run_ids)
    return [GlueRuns(job, tuple(dict.fromkeys(run_ids))) for job, run_ids in sorted(runs_of_job.items())]


def _is_glue(task: Any) -> bool:
    """Whether a task runs a Glue job that is no merge step, by class name: the provider may be missing."""
    kind = getattr(task, "operator_class", None) or type(task)
    parents = {parent.__name__ for parent in getattr(kind, "__mro__", ())}
    return "GlueJobOperator" in parents and "GlueStep" not in parents


def _job_names(task: Any) -> Iterator[Any]:
    """Yield the unrendered job names of a task; of a mapped task all literal names."""
    if hasattr(task, "job_name"):
        yield task.job_name
        return
    partial = getattr(task, "partial_kwargs", {})
    if "job_name" in partial:
        yield partial["job_name"]
    expanded = getattr(getattr(task, "expand_input", None), "value", None)
    entries = expanded if isinstance(expanded, (list, tuple)) else [expanded]
    for entry in entries:
        names = entry.get("job_name") if isinstance(entry, Mapping) else None
        yield from [names] if isinstance(names, str) else names if isinstance(names, (list, tuple)) else ()


def _run_ids(pulled: Any) -> Iterator[str]:
    """Yield the run ids that a (mapped) `GlueJobOperator` returned."""
    if isinstance(pulled, str):
        if _RUN_ID.fullmatch(pulled):
            yield pulled
    elif isinstance(pulled, Iterable) and not isinstance(pulled, (Mapping, bytes)):
        for result in pulled:
            yield from _run_ids(result)


def _states(context: Mapping[str, Any], task_ids: list[str]) -> dict[str, str]:
    """Return the known states of the tasks."""
    dag_run, instance = context["dag_run"], context["ti"]
    if not task_ids:
        return {}
    if hasattr(instance, "get_task_states"):  # Airflow 3: tasks have no database access
        task_states = instance.get_task_states(
            dag_id=dag_run.dag_id, task_ids=task_ids, run_ids=[dag_run.run_id]
        )
        states = task_states.get(dag_run.run_id, {})
    else:
        states = {
            task.task_id: task.state for task in dag_run.get_task_instances() if task.task_id in task_ids
        }
    return {name: str(getattr(state, "value", state)) for name, state in states.items()}


def began(context: Mapping[str, Any]) -> int:
    """Return the start of the DAG run, in ms since 1970.

    A cleared run gets a new start, but does not repeat successful tasks: then its scheduled time counts.
    """
    dag_run = context["dag_run"]
    moments = [dag_run.start_date]
    if getattr(dag_run, "clear_number", 0):
        moments += [getattr(dag_run, "run_after", None), getattr(dag_run, "data_interval_end", None)]
    return int(min(moment for moment in moments if moment is not None).timestamp() * 1000)
