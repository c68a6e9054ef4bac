"""Trigger that waits for a deferred Glue run.

The provider's trigger raises for failed runs (up to 9.x), which Airflow reports as `TaskDeferralError`
without the reason; this trigger always yields an event. It stops the run if its task is no longer deferred:
marked as failed or successful, or cleared.
"""

import asyncio
from collections.abc import AsyncIterator, Coroutine, Mapping
from contextlib import suppress
from typing import Any

from lineage_merge.airflow import glue_runs
from lineage_merge.airflow.compat import (
    BaseTrigger,
    TriggerEvent,
    in_thread,
    is_deferred,
)


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
                await _to_the_end(self._stop(unless_deferred=True))
            raise

    async def on_kill(self) -> None:
        """Stop the run of a task that a user marked or cleared: called by Airflow 3.3 and newer."""
        if self.stop_when_cancelled:
            await self._stop()

    async def _end(self) -> dict[str, str]:
        found, client = {"state": "", "message": ""}, None
        for _ in range(self.max_polls):
            try:
                client = client or await in_thread(self._client)
                found = await in_thread(glue_runs.outcome, client, self.job_name, self.run_id)
            except Exception as error:  # noqa: BLE001 (an exception here loses the reason)
                return self._event("error", found["state"], f"{type(error).__name__}: {error}")
            if found["state"] not in glue_runs.ACTIVE:
                status = "success" if found["state"] == glue_runs.SUCCEEDED else "failed"
                return self._event(status, found["state"], found["message"])
            await asyncio.sleep(self.poll_seconds)
        limit = f"not completed after {self.max_polls} polls of {self.poll_seconds:.0f} s"
        return self._event("error", found["state"], limit)

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
            client = await in_thread(self._client)
            await in_thread(glue_runs.request_stop, client, self.job_name, self.run_id)
            self.log.info("stopping run %s of Glue job %s", self.run_id, self.job_name)
        except Exception as error:  # noqa: BLE001 (the trigger ends in any case)
            self.log.warning("run %s of Glue job %s may continue: %s", self.run_id, self.job_name, error)


async def _to_the_end(work: Coroutine[Any, Any, None]) -> None:
    """Await work without further cancellations: Airflow 3.0 cancels once per second."""
    task = asyncio.ensure_future(work)
    while not task.done():
        with suppress(asyncio.CancelledError):
            await asyncio.shield(task)
