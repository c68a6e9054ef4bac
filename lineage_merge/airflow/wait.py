"""The first step: wait until Spline has the runs that the merge reads."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, astuple, replace
from datetime import datetime
from fnmatch import fnmatchcase
from time import time
from typing import TYPE_CHECKING, Any, Literal

from lineage_merge.airflow import upstream_tasks
from lineage_merge.airflow.compat import (
    AirflowFailException,
    AirflowSensorTimeout,
    BaseSensorOperator,
)
from lineage_merge.airflow.connections import ARANGODB, PASSWORD_VARIABLE
from lineage_merge.airflow.openlineage_datasets import TaskDatasets, TaskWithDatasets, spline_database
from lineage_merge.airflow.settings import (
    Merge,
    applications,
    fail_if_permanent,
    resolved,
)

if TYPE_CHECKING:
    from lineage_merge.sources.spline.run_availability import ExpectedRuns
    from lineage_merge.sources.spline.settings import Spline

WhenMissing = Literal["fail", "merge"]


class WaitForSpline(TaskWithDatasets, BaseSensorOperator):  # type: ignore[misc] # mypy runs without Airflow
    """Waits until Spline has a successful write of each upstream run since the start of the DAG run.

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
        found = event or {}
        if found.get("error"):
            raise AirflowFailException(found["error"])
        if found.get("missing"):
            self._end_without(found["missing"])

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
        from lineage_merge.airflow.wait_trigger import SplineTrigger
        from lineage_merge.sources.spline.settings import Spline

        with fail_if_permanent(), resolved(self.merge, self, context, here=True) as (_, config):
            spline = config.of(Spline)
            if spline is None or spline.arango is None:
                return
            arango = spline.arango
            by_connection = arango.password_env == PASSWORD_VARIABLE
            fields = asdict(replace(arango, password_env="") if by_connection else arango)
            lookback = spline.lookback.total_seconds()
            expected = self._expected(spline, context)
        trigger = SplineTrigger(
            fields,
            (self.merge.get("arangodb") or ARANGODB) if by_connection else None,
            [list(each) for each in map(astuple, expected)],
            lookback,
            float(self.poke_interval),
            time() + self.timeout,
        )
        self.defer(trigger=trigger, method_name="execute_complete")

    def _expected(self, spline: "Spline", context: Mapping[str, Any]) -> "list[ExpectedRuns]":
        return expected_runs(
            applications(self.merge) or spline.applications,
            upstream_tasks.glue_runs(self, context),
            upstream_tasks.began(context),
        )

    def poke(self, context: Mapping[str, Any]) -> bool:
        """Check Spline's database once."""
        from lineage_merge.model.errors import SourceUnreachable
        from lineage_merge.sources.spline.run_availability import missing_runs, missing_text
        from lineage_merge.sources.spline.settings import Spline

        with fail_if_permanent(), resolved(self.merge, self, context, here=True) as (_, config):
            spline = config.of(Spline)
            if spline is None or spline.arango is None:
                self.log.info("nothing to wait for: the merge reads no live Spline")
                return True
            self._datasets = TaskDatasets((spline_database(spline.arango),), ())
            expected = self._expected(spline, context)
            try:
                absent = missing_runs(spline.arango, expected, spline.lookback)
            except SourceUnreachable as error:
                # Like a late report: retried at the next check.
                self._problem = error.message
                self.log.warning("%s", error.message)
                return False
        self._problem = missing_text(absent)
        self.log.info("%s", self._problem or f"Spline has all {len(expected)} expected runs")
        return not absent


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


def expected_runs(
    globs: Sequence[str], runs: Sequence[upstream_tasks.GlueRuns], since: int
) -> "list[ExpectedRuns]":
    """Return the expected runs: the exact runs of upstream Glue jobs, else any run since then (ms)."""
    from lineage_merge.sources.spline.run_availability import ExpectedRuns

    expected: dict[str, ExpectedRuns] = {}
    for glob in globs:
        matching = [run for run in runs if fnmatchcase(run.job, glob)]
        for run in matching:
            expected[run.job] = ExpectedRuns(run.job, run.run_ids, since)
        if not matching:
            expected[glob] = ExpectedRuns(glob, (), since)
    return list(expected.values())
