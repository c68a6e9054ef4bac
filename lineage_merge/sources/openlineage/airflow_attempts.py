"""Which attempts of Airflow's tasks count, by all events of a DAG run. Pure.

The end of a DAG run has the state of each task (facet `airflowState`), which the task's own events may not
show: a skipped task sends COMPLETE, a killed worker nothing, and a FAIL may or may not be retried.
"""

from collections.abc import Hashable, Iterator
from dataclasses import replace
from typing import Literal, NamedTuple

from lineage_merge.infra.batches import gather
from lineage_merge.sources.json_values import as_mapping
from lineage_merge.sources.openlineage.airflow_tasks import dag_run_of, is_retried, task_instance_of
from lineage_merge.sources.openlineage.documents import text
from lineage_merge.sources.openlineage.jobs import is_airflow, is_query
from lineage_merge.sources.openlineage.runs import Run


class Attempt(NamedTuple):
    """An attempt of a task, or the `state` of the task when its DAG run ended (`run_id` is ""), at `at`.

    `at`: the end, or the begin of one that did not end. `again`: it failed, and retries are left.
    """

    job_namespace: str
    job: str
    dag_run: str
    run_id: str
    number: int
    map_index: int | None
    at: int
    outcome: Literal["succeeded", "failed", "running"]
    again: bool = False
    state: str = ""


class Outcome(NamedTuple):
    """How an attempt counts if its events do not show it: `succeeded` or `failed` (`at`), or not at all."""

    status: Literal["succeeded", "failed", "none"]
    at: int = 0

    def apply_to(self, run: Run) -> Run:
        """Return the run with this outcome; one that does not count has no end."""
        if self.status == "none":
            return replace(run, at=None)
        return replace(run, at=run.at or self.at, failed=self.status == "failed")


def attempts(run: Run) -> Iterator[Attempt]:
    """Yield the attempt of a run of a task, or the state of each task at the end of a DAG run."""
    dag_run = dag_run_of(run)
    if not dag_run or not is_airflow(run) or is_query(run):
        return
    namespace, name = run.job["namespace"], run.job["name"]
    states = as_mapping(as_mapping(run.facets.get("airflowState")).get("tasksState"))
    if states and run.at is not None:
        for task, state in states.items():
            job = f"{name}.{task}"
            yield Attempt(namespace, job, dag_run, "", 0, None, run.at, "running", state=text(state))
        return
    instance = task_instance_of(run)
    number, map_index = instance.get("try_number"), instance.get("map_index")
    at = run.at if run.at is not None else run.began_at
    if not isinstance(number, int) or at is None:
        return
    outcome: Literal["succeeded", "failed", "running"] = (
        "running" if run.at is None else "failed" if run.failed else "succeeded"
    )
    index = map_index if isinstance(map_index, int) else None
    yield Attempt(namespace, name, dag_run, run.run_id, number, index, at, outcome, is_retried(run))


def task_of(attempt: Attempt) -> Hashable:
    """Return the task of a DAG run."""
    return attempt.job_namespace, attempt.job, attempt.dag_run


def outcomes(_task: Hashable, of_task: list[Attempt]) -> Iterator[tuple[str, Outcome]]:
    """Yield the outcome of each attempt of a task that its own events do not show."""
    states = [attempt for attempt in of_task if not attempt.run_id]
    state = max(states, key=lambda attempt: (attempt.at, attempt.state), default=None)
    of_instance = gather((attempt.map_index, attempt) for attempt in of_task if attempt.run_id)
    for map_index, of_one in of_instance.items():
        *earlier, last = sorted(of_one, key=lambda attempt: (attempt.number, attempt.at, attempt.run_id))
        # The state is that of any mapped instance, and older than an attempt after the end of the DAG run.
        ended = state if map_index is None and state and state.at >= last.at else None
        known = _find_outcome(last, ended) if ended else None
        if known:
            yield last.run_id, known
        status = known.status if known else last.outcome
        for attempt in earlier:
            if attempt.outcome != "succeeded" or status == "succeeded":
                yield attempt.run_id, Outcome("none")


def _find_outcome(last: Attempt, state: Attempt) -> Outcome | None:
    """Return the outcome of the last attempt by the state of the task at the end of the DAG run."""
    match state.state:
        case "skipped":
            return Outcome("none")
        case "failed" if last.outcome == "running" or last.again:
            return Outcome("failed", state.at)
        case "success" if last.outcome != "succeeded":
            return Outcome("succeeded", state.at)
    return None
