"""Build and load as job runs of an EMR Serverless application."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from airflow.providers.amazon.aws.operators.emr import EmrServerlessStartJobOperator

from lineage_merge.airflow import cluster
from lineage_merge.airflow.settings import Merge

if TYPE_CHECKING:
    from lineage_merge.steps import Step

# Two hours, where the operator's own limit is 25 minutes.
_POLL_SECONDS = 30
_MOST_POLLS = 240


class EmrServerlessStep(EmrServerlessStartJobOperator):  # type: ignore[misc] # as above
    """One step as a job run: `EmrServerlessStartJobOperator`, whose driver is known when it runs.

    `spark_submit_parameters` come behind those that the published package needs.
    """

    template_fields = (*EmrServerlessStartJobOperator.template_fields, "merge", "spark_submit_parameters")
    template_fields_renderers = {  # noqa: RUF012 (as Airflow declares it)
        **EmrServerlessStartJobOperator.template_fields_renderers,
        "merge": "json",
    }
    ui_color = "#dbe9f4"

    def __init__(
        self, *, step: "Step", merge: Merge, spark_submit_parameters: str = "", **options: Any
    ) -> None:
        given = {"waiter_delay": _POLL_SECONDS, "waiter_max_attempts": _MOST_POLLS, **options}
        super().__init__(job_driver={}, **given)
        self.step = step
        self.merge = merge
        self.spark_submit_parameters = spark_submit_parameters

    def execute(self, context: Mapping[str, Any], event: dict[str, Any] | None = None) -> Any:
        """Start the job run and wait for it; the XCom is its id."""
        sent = cluster.arguments(self.step, self.merge, self, context)
        found = cluster.published(self.merge)
        parameters = f"{found['emr_serverless']} {self.spark_submit_parameters}".strip()
        self.job_driver = {
            "sparkSubmit": {
                "entryPoint": found["script"],
                "entryPointArguments": [word for pair in sent.items() for word in pair],
                **({"sparkSubmitParameters": parameters} if parameters else {}),
            }
        }
        with cluster.explaining(self.merge, context):
            return super().execute(context, event)

    def execute_complete(self, context: Mapping[str, Any], event: dict[str, Any] | None = None) -> Any:
        """The end of a deferred run."""
        with cluster.explaining(self.merge, context):
            return super().execute_complete(context, event)
