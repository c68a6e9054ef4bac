"""Build and load with Spark on the worker, which therefore needs Java and ``lineage-merge[local]``."""

from collections.abc import Callable, Mapping
from typing import Any

from lineage_merge.airflow.compat import BaseOperator
from lineage_merge.airflow.settings import Merge, failing_well, resolved


class LocalStep(BaseOperator):  # type: ignore[misc] # Airflow is not there when this is checked
    """One step, in the task's own process."""

    template_fields = ("merge",)
    template_fields_renderers = {"merge": "json"}  # noqa: RUF012 (as Airflow declares it)
    ui_color = "#dbe9f4"

    def __init__(self, *, step: str, merge: Merge, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.step = step
        self.merge = merge

    def execute(self, context: Mapping[str, Any]) -> None:
        """Run the step. What it did is left in the folder, for the report."""
        from lineage_merge import steps
        from lineage_merge.spark import session

        say = without_repeats(self.log.info)
        run = steps.build if self.step == "build" else steps.load
        with failing_well(), resolved(self.merge, self, context, here=True) as (_, config):
            steps.check("build" if self.step == "build" else "load", config)
            with session(config.spark, say) as spark:
                run(spark, config, self.merge["folder"], say)


def without_repeats(say: Callable[[str], None]) -> Callable[[str], None]:
    """Pass a line of progress on only when it says something new: a log is not a screen."""
    last = ""

    def say_changes(line: str) -> None:
        nonlocal last
        if line != last:
            last = line
            say(line)

    return say_changes
