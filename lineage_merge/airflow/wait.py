"""The first step: until Spline has heard of the runs that the merge will read."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any, Literal

from lineage_merge.airflow import upstream
from lineage_merge.airflow.compat import AirflowSensorTimeout, BaseSensorOperator
from lineage_merge.airflow.settings import Merge, applications, failing_well, resolved

if TYPE_CHECKING:
    from lineage_merge.sources.spline.arrivals import Expected, Missing

WhenMissing = Literal["fail", "merge"]


class WaitForSpline(BaseSensorOperator):  # type: ignore[misc] # Airflow is not there when this is checked
    """Waits until Spline knows a good write of each upstream run since the DAG run began.

    Between two looks it holds no worker. After `timeout` it fails and names who did not report, or
    goes on with ``when_missing="merge"``.
    """

    template_fields = ("merge",)
    template_fields_renderers = {"merge": "json"}  # noqa: RUF012 (as Airflow declares it)
    ui_color = "#e6f1f2"

    def __init__(self, *, merge: Merge, when_missing: WhenMissing = "fail", **kwargs: Any) -> None:
        super().__init__(mode="reschedule", **kwargs)
        self.merge = merge
        self.when_missing = when_missing
        self._problem = ""

    def execute(self, context: Mapping[str, Any]) -> Any:
        """The sensor, whose last word is who is missing."""
        instance = context["ti"]
        if hasattr(instance, "get_first_reschedule_date"):
            context = {**context, "ti": _Dated(instance)}
        try:
            return super().execute(context)
        except AirflowSensorTimeout:
            problem = f"after {self.timeout:.0f} s {self._problem}"
            if self.when_missing == "merge":
                self.log.warning("%s; merging what is there", problem)
                return None
            raise AirflowSensorTimeout(problem) from None

    def poke(self, context: Mapping[str, Any]) -> bool:
        """One look into Spline's database."""
        from lineage_merge.errors import SourceUnreachable
        from lineage_merge.sources.spline.arrivals import missing

        with failing_well(), resolved(self.merge, self, context, here=True) as (_, config):
            if config.spline is None or config.spline.arango is None:
                self.log.info("nothing to wait for: the merge reads no live Spline")
                return True
            runs = upstream.glue_runs(self, context)
            expected = expected_runs(
                applications(self.merge) or config.spline.applications, runs, upstream.began(context)
            )
            try:
                absent = missing(config.spline.arango, expected, config.spline.lookback)
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


def problem(absent: Sequence["Missing"]) -> str:
    """Who is missing, in a line."""
    return f"Spline has no good write of {'; '.join(map(str, absent))}" if absent else ""


def expected_runs(globs: Sequence[str], runs: Sequence[upstream.GlueRuns], since: int) -> "list[Expected]":
    """The runs to wait for: of the Glue jobs upstream the very ones, of others any since then (ms)."""
    from lineage_merge.sources.spline.arrivals import Expected

    expected: dict[str, Expected] = {}
    for glob in globs:
        matching = [run for run in runs if fnmatchcase(run.job, glob)]
        for run in matching:
            expected[run.job] = Expected(run.job, run.run_ids, since)
        if not matching:
            expected[glob] = Expected(glob, (), since)
    return list(expected.values())
