"""The first step: until Spline has heard of the runs that the merge will read."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, astuple, replace
from datetime import datetime
from fnmatch import fnmatchcase
from time import time
from typing import TYPE_CHECKING, Any, Literal

from lineage_merge.orchestration.airflow import upstream_tasks
from lineage_merge.orchestration.airflow.compat import (
    AirflowFailException,
    AirflowSensorTimeout,
    BaseSensorOperator,
)
from lineage_merge.orchestration.airflow.connections import ARANGODB, PASSWORD_VARIABLE
from lineage_merge.orchestration.airflow.openlineage_datasets import (
    Datasets,
    facets,
    spline_database,
)
from lineage_merge.orchestration.airflow.settings import (
    Merge,
    applications,
    fail_if_permanent,
    resolved,
)

if TYPE_CHECKING:
    from lineage_merge.config import Config
    from lineage_merge.sources.spline.run_availability import ExpectedRuns, MissingRun

WhenMissing = Literal["fail", "merge"]


class WaitForSpline(BaseSensorOperator):  # type: ignore[misc] # Airflow is not there when this is checked
    """Waits until Spline knows a good write of each upstream run since the DAG run began.

    Between two checks it holds no worker; with `deferrable` the triggerer does them. After `timeout`
    it fails and names the runs that are missing, or continues with ``when_missing="merge"``.
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
        self._datasets = Datasets((), ())

    def execute(self, context: Mapping[str, Any]) -> Any:
        """The sensor, whose last word is who is missing."""
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
        """The end of a deferred wait."""
        found = event or {}
        if found.get("error"):
            raise AirflowFailException(found["error"])
        if found.get("missing"):
            self._end_without(found["missing"])

    def get_openlineage_facets_on_complete(self, _task_instance: Any) -> Any:
        """What the task read, for the provider of OpenLineage."""
        return facets(self._datasets)

    def _end_without(self, missing: str) -> None:
        """Fail, or continue, although runs are missing."""
        problem = f"after {self.timeout:.0f} s {missing}"
        if self.when_missing != "merge":
            raise AirflowSensorTimeout(problem) from None
        self.log.warning("%s; merging what is there", problem)

    def _wait_deferred(self, context: Mapping[str, Any]) -> None:
        """Check once here, where errors are final, and continue in the triggerer."""
        if self.poke(context):
            return
        from lineage_merge.orchestration.airflow.wait_trigger import SplineTrigger

        with fail_if_permanent(), resolved(self.merge, self, context, here=True) as (_, config):
            spline = config.spline
            if spline is None or spline.arango is None:
                return
            arango = spline.arango
            by_connection = arango.password_env == PASSWORD_VARIABLE
            fields = asdict(replace(arango, password_env="") if by_connection else arango)
            lookback = spline.lookback.total_seconds()
            expected = self._expected(config, context)
        trigger = SplineTrigger(
            fields,
            (self.merge.get("arangodb") or ARANGODB) if by_connection else None,
            [list(each) for each in map(astuple, expected)],
            lookback,
            float(self.poke_interval),
            time() + self.timeout,
        )
        self.defer(trigger=trigger, method_name="execute_complete")

    def _expected(self, config: "Config", context: Mapping[str, Any]) -> "list[ExpectedRuns]":
        names = config.spline.applications if config.spline else ()
        return expected_runs(
            applications(self.merge) or names,
            upstream_tasks.glue_runs(self, context),
            upstream_tasks.began(context),
        )

    def poke(self, context: Mapping[str, Any]) -> bool:
        """One look into Spline's database."""
        from lineage_merge.model.errors import SourceUnreachable
        from lineage_merge.sources.spline.run_availability import missing_runs

        with fail_if_permanent(), resolved(self.merge, self, context, here=True) as (_, config):
            if config.spline is None or config.spline.arango is None:
                self.log.info("nothing to wait for: the merge reads no live Spline")
                return True
            self._datasets = Datasets((spline_database(config.spline.arango),), ())
            expected = self._expected(config, context)
            try:
                absent = missing_runs(config.spline.arango, expected, config.spline.lookback)
            except SourceUnreachable as error:
                # Like a report that is late: it may be there at the next look.
                self._problem = error.message
                self.log.warning("%s", error.message)
                return False
        self._problem = problem(absent)
        self.log.info("%s", self._problem or f"Spline knows all {len(expected)} that it should")
        return not absent


class _Dated:
    """A task instance whose first look has a date: in `dag.test()` Airflow 3.0 hands over a text."""

    def __init__(self, instance: Any) -> None:
        self._instance = instance

    def __getattr__(self, name: str) -> Any:
        return getattr(self._instance, name)

    def get_first_reschedule_date(self, context: Mapping[str, Any]) -> datetime | None:
        found = self._instance.get_first_reschedule_date(context)
        return datetime.fromisoformat(found) if isinstance(found, str) else found


def problem(absent: Sequence["MissingRun"]) -> str:
    """Who is missing, in a line."""
    return f"Spline has no good write of {'; '.join(map(str, absent))}" if absent else ""


def expected_runs(
    globs: Sequence[str], runs: Sequence[upstream_tasks.GlueRuns], since: int
) -> "list[ExpectedRuns]":
    """The runs to wait for: of the Glue jobs upstream the very ones, of others any since then (ms)."""
    from lineage_merge.sources.spline.run_availability import ExpectedRuns

    expected: dict[str, ExpectedRuns] = {}
    for glob in globs:
        matching = [run for run in runs if fnmatchcase(run.job, glob)]
        for run in matching:
            expected[run.job] = ExpectedRuns(run.job, run.run_ids, since)
        if not matching:
            expected[glob] = ExpectedRuns(glob, (), since)
    return list(expected.values())
