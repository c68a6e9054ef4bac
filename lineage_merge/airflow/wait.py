"""The first step: wait until the servers of sources have the runs that the merge reads.

The step checks periodically, or its trigger does so without a worker.
"""

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from datetime import datetime
from time import time
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from lineage_merge.airflow import upstream_tasks
from lineage_merge.airflow.compat import (
    AirflowFailException,
    AirflowSensorTimeout,
    BaseSensorOperator,
    BaseTrigger,
    TriggerEvent,
    base_hook,
    run_in_thread,
)
from lineage_merge.airflow.openlineage_datasets import TaskDatasets, TaskWithDatasets
from lineage_merge.airflow.settings import Merge, fail_if_permanent, resolve_settings

if TYPE_CHECKING:
    from lineage_merge.config import Config
    from lineage_merge.sources.airflow_support import AirflowSupport, AwaitedRuns
    from lineage_merge.sources.source import Source

WhenMissing = Literal["fail", "merge"]


class _Waiting(NamedTuple):
    source: "Source[Any]"
    support: "AirflowSupport"
    runs: "AwaitedRuns"


class WaitForRuns(TaskWithDatasets, BaseSensorOperator):  # type: ignore[misc] # mypy runs without Airflow
    """Waits until a source has a successful write of each upstream run since the start of the DAG run.

    Occupies no worker between checks; with `deferrable` the triggerer runs them. After `timeout` it fails
    with the missing runs, or continues with ``when_missing="merge"``.
    """

    template_fields = ("merge", "when_missing")
    template_fields_renderers = {"merge": "json"}  # noqa: RUF012 (as Airflow declares it)
    ui_color = "#e6f1f2"

    def __init__(
        self, *, merge: Merge, when_missing: WhenMissing = "fail", deferrable: bool = False, **kwargs: Any
    ) -> None:
        super().__init__(mode="reschedule", **kwargs)
        self.merge = merge
        self.when_missing = when_missing
        self.deferrable = deferrable
        self._problem = ""

    def execute(self, context: Mapping[str, Any]) -> Any:
        """Run the sensor; a timeout reports the missing runs."""
        if self.deferrable:
            return self._wait_deferred(context)
        instance = context["ti"]
        if hasattr(instance, "get_first_reschedule_date"):
            context = {**context, "ti": _Dated(instance)}
        try:
            return super().execute(context)
        except AirflowSensorTimeout:
            self._end_without(self._problem)
            return None

    def execute_complete(self, context: Mapping[str, Any], event: Mapping[str, str] | None = None) -> None:
        """Complete a deferred wait."""
        outcome = event or {}
        if outcome.get("error"):
            raise AirflowFailException(outcome["error"])
        if outcome.get("missing"):
            self._end_without(outcome["missing"])

    def _end_without(self, missing: str) -> None:
        """Fail or continue with missing runs."""
        problem = f"after {self.timeout:.0f} s {missing}"
        if self.when_missing != "merge":
            raise AirflowSensorTimeout(problem) from None
        self.log.warning("%s; merging without them", problem)

    def _wait_deferred(self, context: Mapping[str, Any]) -> None:
        """Check once here, where errors fail the task, then continue in the triggerer."""
        if self.poke(context):
            return
        with fail_if_permanent(), resolve_settings(self.merge, self, context, here=True) as (_, config, ids):
            waits = self._waits(config, context)
        requests = [(wait.source.key, wait.runs.request, ids.get(wait.source.key)) for wait in waits]
        trigger = RunsTrigger(requests, float(self.poke_interval), time() + self.timeout)
        self.defer(trigger=trigger, method_name="execute_complete")

    def _waits(self, config: "Config", context: Mapping[str, Any]) -> list[_Waiting]:
        from lineage_merge.sources import registry

        glue_runs, began = upstream_tasks.glue_runs(self, context), upstream_tasks.began(context)
        waits: list[_Waiting] = []
        for source, settings in registry.list_configured(config):
            support = source.airflow()
            if support and (runs := support.awaited(settings, glue_runs, began)):
                waits.append(_Waiting(source, support, runs))
        return waits

    def poke(self, context: Mapping[str, Any]) -> bool:
        """Check the servers once."""
        from lineage_merge.model.errors import SourceUnreachable

        with fail_if_permanent(), resolve_settings(self.merge, self, context, here=True) as (_, config, _ids):
            waits = self._waits(config, context)
            if not waits:
                self.log.info("nothing to wait for: the merge reads no server")
                return True
            databases = (wait.support.database(config.sources[wait.source.key]) for wait in waits)
            self._datasets = TaskDatasets(tuple(filter(None, databases)), ())
            try:
                missing = [wait.support.missing(wait.runs.request, None) for wait in waits]
            except SourceUnreachable as error:
                # Like a late report: retried at the next check.
                self._problem = error.message
                self.log.warning("%s", error.message)
                return False
        self._problem = "; ".join(filter(None, missing))
        complete = "; ".join(f"{wait.source.name} has all {wait.runs.number} expected runs" for wait in waits)
        self.log.info("%s", self._problem or complete)
        return not self._problem


class _Dated:
    """A task instance with a parsed reschedule date, which is text in `dag.test()` of Airflow 3.0."""

    def __init__(self, instance: Any) -> None:
        self._instance = instance

    def __getattr__(self, name: str) -> Any:
        return getattr(self._instance, name)

    def get_first_reschedule_date(self, context: Mapping[str, Any]) -> datetime | None:
        reschedule_date = self._instance.get_first_reschedule_date(context)
        return (
            datetime.fromisoformat(reschedule_date) if isinstance(reschedule_date, str) else reschedule_date
        )


class RunsTrigger(BaseTrigger):  # type: ignore[misc] # mypy runs without Airflow
    """Polls servers until they have the awaited runs, or until `deadline` (seconds since 1970).

    The event has `missing`, a line that is empty if all runs were reported, and `error`, a permanent error.
    `requests`: the key of a source, its `AwaitedRuns.request`, and the connection with the password, if it
    has one. Contains no password: it is read when the trigger runs, from the connection, or from Secrets
    Manager with the triggerer's role.
    """

    def __init__(self, requests: Sequence[Sequence[Any]], poll_seconds: float, deadline: float) -> None:
        super().__init__()
        self.requests = [list(request) for request in requests]
        self.poll_seconds = poll_seconds
        self.deadline = deadline

    def serialize(self) -> tuple[str, dict[str, Any]]:
        """Return the class and its arguments, for Airflow's database."""
        names = ("requests", "poll_seconds", "deadline")
        return f"{__name__}.RunsTrigger", {name: getattr(self, name) for name in names}

    async def run(self) -> AsyncIterator[Any]:
        """Yield one event."""
        from lineage_merge.model.errors import LineageMergeError, SourceUnreachable

        while True:
            try:
                missing = await run_in_thread(self._missing)
            except SourceUnreachable as error:
                missing = error.message  # like a late report: retried at the next check
            except LineageMergeError as error:
                yield TriggerEvent({"missing": "", "error": error.message})
                return
            except Exception as error:  # noqa: BLE001 (an exception here loses the reason)
                yield TriggerEvent({"missing": "", "error": f"{type(error).__name__}: {error}"})
                return
            if not missing or time() + self.poll_seconds > self.deadline:
                yield TriggerEvent({"missing": missing, "error": ""})
                return
            self.log.info("%s", missing)
            await asyncio.sleep(self.poll_seconds)

    def _missing(self) -> str:
        from lineage_merge.sources.registry import SOURCES

        supports = {source.key: support for source in SOURCES if (support := source.airflow())}
        missing: list[str] = []
        for key, request, conn_id in self.requests:
            password = (base_hook().get_connection(conn_id).password or "") if conn_id else None
            missing.append(supports[key].missing(request, password))
        return "; ".join(filter(None, missing))
