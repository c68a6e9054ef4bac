"""Runs of a Glue job, and the trigger that waits for a deferred run.

The provider's trigger raises for failed runs (up to 9.x), which Airflow reports as `TaskDeferralError`
without the reason; this trigger always yields an event. It stops the run if its task is no longer deferred:
marked as failed or successful, or cleared.
"""

import asyncio
import time
from collections.abc import AsyncIterator, Coroutine, Mapping
from contextlib import suppress
from itertools import islice
from typing import Any

from lineage_merge.airflow.compat import (
    BaseTrigger,
    TriggerEvent,
    is_deferred,
    run_in_thread,
)

# States in which a run may still write. A STOPPING run must not be resumed.
ACTIVE = frozenset({"STARTING", "RUNNING", "WAITING", "STOPPING"})
SUCCEEDED = "SUCCEEDED"
STOPPING = "STOPPING"
# Newest first: enough to find the run of a killed worker.
_PAGES_OF_RUNS = 3
# Glue needs seconds to stop a run.
_STOP_POLLS = 120


def run_of_attempt(client: Any, job_name: str, attempt: str) -> str:
    """Return the id of the run with this `--attempt`, or ""."""
    pages = client.get_paginator("get_job_runs").paginate(JobName=job_name)
    try:
        for page in islice(pages, _PAGES_OF_RUNS):
            for run in page["JobRuns"]:
                if (run.get("Arguments") or {}).get("--attempt") == attempt:
                    return str(run["Id"])
    except client.exceptions.EntityNotFoundException:
        pass
    return ""


def state(client: Any, job_name: str, run_id: str) -> str:
    """Return the state of a run, or ""."""
    return outcome(client, job_name, run_id)["state"]


def outcome(client: Any, job_name: str, run_id: str) -> dict[str, str]:
    """Return state and error message of a run, "" if it is unknown."""
    try:
        run = client.get_job_run(JobName=job_name, RunId=run_id)["JobRun"]
    except client.exceptions.EntityNotFoundException:
        run = {}
    return {"state": str(run.get("JobRunState", "")), "message": str(run.get("ErrorMessage") or "")}


def request_stop(client: Any, job_name: str, run_id: str) -> None:
    """Request the stop of a run; no effect on a completed run."""
    client.batch_stop_job_run(JobName=job_name, JobRunIds=[run_id])


def stop(client: Any, job_name: str, run_id: str, poll_seconds: float) -> bool:
    """Stop a run and wait for its end; return whether it has ended."""
    request_stop(client, job_name, run_id)
    for _ in range(_STOP_POLLS):
        if state(client, job_name, run_id) not in ACTIVE:
            return True
        time.sleep(poll_seconds)
    return False


class GlueRunTrigger(BaseTrigger):  # type: ignore[misc] # mypy runs without Airflow
    """Polls a run until it has ended; the event has `status`, `run_id`, `state` and `message`."""

    def __init__(
        self,
        job_name: str,
        run_id: str,
        poll_seconds: float,
        max_polls: int,
        stop_when_cancelled: bool,
        hook: Mapping[str, Any],
    ) -> None:
        super().__init__()
        self.job_name = job_name
        self.run_id = run_id
        self.poll_seconds = poll_seconds
        self.max_polls = max_polls
        self.stop_when_cancelled = stop_when_cancelled
        self.hook = dict(hook)

    def serialize(self) -> tuple[str, dict[str, Any]]:
        """Return the class and its arguments, for Airflow's database."""
        names = ("job_name", "run_id", "poll_seconds", "max_polls", "stop_when_cancelled", "hook")
        return f"{__name__}.GlueRunTrigger", {name: getattr(self, name) for name in names}

    async def run(self) -> AsyncIterator[Any]:
        """Yield one event when the run has ended, or after an error or the last poll."""
        try:
            yield TriggerEvent(await self._end())
        except asyncio.CancelledError:
            if self.stop_when_cancelled and not hasattr(BaseTrigger, "on_kill"):
                await _finish(self._stop(unless_deferred=True))
            raise

    async def on_kill(self) -> None:
        """Stop the run of a task that a user marked or cleared: called by Airflow 3.3 and newer."""
        if self.stop_when_cancelled:
            await self._stop()

    async def _end(self) -> dict[str, str]:
        run, client = {"state": "", "message": ""}, None
        for _ in range(self.max_polls):
            try:
                client = client or await run_in_thread(self._client)
                run = await run_in_thread(outcome, client, self.job_name, self.run_id)
            except Exception as error:  # noqa: BLE001 (an exception here loses the reason)
                return self._event("error", run["state"], f"{type(error).__name__}: {error}")
            if run["state"] not in ACTIVE:
                status = "success" if run["state"] == SUCCEEDED else "failed"
                return self._event(status, run["state"], run["message"])
            await asyncio.sleep(self.poll_seconds)
        limit = f"not completed after {self.max_polls} polls of {self.poll_seconds:.0f} s"
        return self._event("error", run["state"], limit)

    def _event(self, status: str, state: str, message: str) -> dict[str, str]:
        return {"status": status, "run_id": self.run_id, "state": state, "message": message}

    def _client(self) -> Any:
        # Imported at run time: the provider is slow to import, and the triggerer imports all triggers.
        from airflow.providers.amazon.aws.hooks.glue import GlueJobHook

        return GlueJobHook(**self.hook).conn

    async def _stop(self, *, unless_deferred: bool = False) -> None:
        try:
            if unless_deferred and await is_deferred(self.task_instance):
                return  # continued by another triggerer
            client = await run_in_thread(self._client)
            await run_in_thread(request_stop, client, self.job_name, self.run_id)
            self.log.info("stopping run %s of Glue job %s", self.run_id, self.job_name)
        except Exception as error:  # noqa: BLE001 (the trigger ends in any case)
            self.log.warning("run %s of Glue job %s may continue: %s", self.run_id, self.job_name, error)


async def _finish(work: Coroutine[Any, Any, None]) -> None:
    """Await work without further cancellations: Airflow 3.0 cancels once per second."""
    task = asyncio.ensure_future(work)
    while not task.done():
        with suppress(asyncio.CancelledError):
            await asyncio.shield(task)
