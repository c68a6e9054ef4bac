"""Steps on the worker: build and load with Spark (Java, ``lineage-merge[local]``), policies without it.

The policies are checked on the loaded graph, as the optional last step.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from lineage_merge.airflow.compat import BaseOperator
from lineage_merge.airflow.openlineage_datasets import TaskWithDatasets, list_step_datasets
from lineage_merge.airflow.report_check import RETIRE_REFUSED, VIOLATION
from lineage_merge.airflow.settings import (
    Merge,
    attempt_of,
    build_folder,
    fail_if_permanent,
    only_warns,
    resolve_settings,
    share_folder,
)
from lineage_merge.model.errors import PolicyViolated, RetireRefused


class MergeOperator(TaskWithDatasets, BaseOperator):  # type: ignore[misc] # mypy runs without Airflow
    """A task with the settings of its group."""

    template_fields: Sequence[str] = ("merge",)
    template_fields_renderers = {"merge": "json"}  # noqa: RUF012 (as Airflow declares it)
    ui_color = "#e8f4db"

    def __init__(self, *, merge: Merge, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.merge = merge


class LocalStep(MergeOperator):
    """A step in the task's process."""

    ui_color = "#dbe9f4"

    def __init__(self, *, step: str, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.step = step

    def execute(self, context: Mapping[str, Any]) -> None:
        """Run the step; its outcome is stored in the folder for the report."""
        from lineage_merge.infra.spark_session import session
        from lineage_merge.orchestration import stages

        on_progress = omit_repeats(self.log.info)
        step: stages.Step = "build" if self.step == "build" else "load"
        folder = attempt_of(step, self.merge, context).folder
        with fail_if_permanent(), resolve_settings(self.merge, self, context, here=True) as (_, config, _ids):
            stages.check(step, config)
            self._datasets = list_step_datasets(step, config, folder)
            try:
                with session(config.spark, on_progress) as spark:
                    (stages.build if step == "build" else stages.load)(spark, config, folder, on_progress)
            except RetireRefused as error:
                if not only_warns(self.merge, RETIRE_REFUSED):
                    raise
                stages.record_refusal(folder, error.message)
        share_folder(step, context, folder)


def omit_repeats(on_progress: Callable[[str], None]) -> Callable[[str], None]:
    """Return a callback without repeated lines, for logs."""
    last = ""

    def report_changes(line: str) -> None:
        nonlocal last
        if line != last:
            last = line
            on_progress(line)

    return report_changes


class CheckPolicies(MergeOperator):
    """Checks the policies of the configuration on the datasets of the DAG.

    Fails if a policy with the severity error is violated, or warns, by the policy in `merge`.
    """

    def execute(self, context: Mapping[str, Any]) -> dict[str, Any]:
        """Check the policies; return the number of violations."""
        from lineage_merge.orchestration import policy_check

        folder = build_folder(context)
        with fail_if_permanent(), resolve_settings(self.merge, self, context, here=True) as (_, config, _ids):
            try:
                return policy_check.check(config, folder, self.log.info)
            except PolicyViolated as error:
                if not only_warns(self.merge, VIOLATION):
                    raise
                self.log.warning("%s", error.message)
                return policy_check.counts(folder)
