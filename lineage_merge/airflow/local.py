"""Build and load with Spark on the worker, which needs Java and ``lineage-merge[local]``."""

from collections.abc import Callable, Mapping
from typing import Any

from lineage_merge.airflow.compat import BaseOperator
from lineage_merge.airflow.openlineage_datasets import Datasets, facets, of_step
from lineage_merge.airflow.settings import (
    Merge,
    attempt_of,
    fail_if_permanent,
    refusal_is_warning,
    resolved,
    share_folder,
)
from lineage_merge.model.errors import RetireRefused


class LocalStep(BaseOperator):  # type: ignore[misc] # mypy runs without Airflow
    """A step in the task's process."""

    template_fields = ("merge",)
    template_fields_renderers = {"merge": "json"}  # noqa: RUF012 (as Airflow declares it)
    ui_color = "#dbe9f4"

    def __init__(self, *, step: str, merge: Merge, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.step = step
        self.merge = merge
        self._datasets = Datasets((), ())

    def execute(self, context: Mapping[str, Any]) -> None:
        """Run the step; its outcome is stored in the folder for the report."""
        from lineage_merge.infra.spark_session import session
        from lineage_merge.orchestration import stages

        on_progress = without_repeats(self.log.info)
        step: stages.Step = "build" if self.step == "build" else "load"
        folder = attempt_of(step, self.merge, context).folder
        with fail_if_permanent(), resolved(self.merge, self, context, here=True) as (_, config):
            stages.check(step, config)
            self._datasets = of_step(step, config, folder)
            try:
                with session(config.spark, on_progress) as spark:
                    (stages.build if step == "build" else stages.load)(spark, config, folder, on_progress)
            except RetireRefused as error:
                if not refusal_is_warning(self.merge):
                    raise
                stages.record_refusal(folder, error.message)
        share_folder(step, context, folder)

    def get_openlineage_facets_on_complete(self, _task_instance: Any) -> Any:
        """Return inputs and outputs of the step, for the OpenLineage provider."""
        return facets(self._datasets)


def without_repeats(on_progress: Callable[[str], None]) -> Callable[[str], None]:
    """Return a callback without repeated lines, for logs."""
    last = ""

    def report_changes(line: str) -> None:
        nonlocal last
        if line != last:
            last = line
            on_progress(line)

    return report_changes
