"""Build and load as job runs of an EMR Serverless application."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from airflow.providers.amazon.aws.operators.emr import EmrServerlessStartJobOperator

from lineage_merge.airflow import attempts, cluster
from lineage_merge.airflow.cluster import ClusterStep
from lineage_merge.airflow.compat import show_rendered
from lineage_merge.airflow.settings import Merge, attempt_of, share_folder

if TYPE_CHECKING:
    from lineage_merge.orchestration.stages import Step

# Two hours; the default of the operator is 25 minutes.
_POLL_SECONDS = 30
_MAX_POLLS = 240


class EmrServerlessStep(ClusterStep, EmrServerlessStartJobOperator):  # type: ignore[misc] # as above
    """A step as a job run: `EmrServerlessStartJobOperator`, with a job driver that is set at run time.

    `spark_submit_parameters` are appended to those of the published package.
    """

    template_fields = (*EmrServerlessStartJobOperator.template_fields, "merge", "spark_submit_parameters")
    template_fields_renderers = {  # noqa: RUF012 (as Airflow declares it)
        **EmrServerlessStartJobOperator.template_fields_renderers,
        "merge": "json",
    }

    def __init__(
        self, *, step: "Step", merge: Merge, spark_submit_parameters: str = "", **options: Any
    ) -> None:
        given = {"waiter_delay": _POLL_SECONDS, "waiter_max_attempts": _MAX_POLLS, **options}
        super().__init__(job_driver={}, **given)
        self.step = step
        self.merge = merge
        self.spark_submit_parameters = spark_submit_parameters

    def execute(self, context: Mapping[str, Any], event: dict[str, Any] | None = None) -> Any:
        """Start the job run and wait for it; return its id."""
        attempt, call = self.prepare(context)
        published = cluster.read_published_index(self.merge)
        parameters = f"{published['emr_serverless']} {self.spark_submit_parameters}".strip()
        self.job_driver = self._driver(published["script"], call.arguments, parameters)
        run_id = None
        try:
            with cluster.report_job_failure(self.merge, attempt):
                run_id = super().execute(context, event)
        finally:
            # The provider has already sent the original, also before a deferral.
            shown = attempts.redact_secrets(call.arguments)
            self.job_driver = self._driver(published["script"], shown, parameters)
            show_rendered(context)
        share_folder(self.step, context, attempt.folder)
        return run_id

    def execute_complete(self, context: Mapping[str, Any], event: dict[str, Any] | None = None) -> Any:
        """Complete a deferred run."""
        attempt = attempt_of(self.step, self.merge, context)
        run_id = super().execute_complete(context, event)
        share_folder(self.step, context, attempt.folder)
        return run_id

    def resume_execution(
        self, next_method: str, next_kwargs: dict[str, Any] | None, context: Mapping[str, Any]
    ) -> Any:
        """Continue after a deferral; a failed trigger raises the reason of the job."""
        with cluster.report_job_failure(self.merge, attempt_of(self.step, self.merge, context)):
            return super().resume_execution(next_method, next_kwargs, context)

    @staticmethod
    def _driver(script: str, arguments: Mapping[str, str], parameters: str) -> dict[str, Any]:
        return {
            "sparkSubmit": {
                "entryPoint": script,
                "entryPointArguments": [word for pair in arguments.items() for word in pair],
                **({"sparkSubmitParameters": parameters} if parameters else {}),
            }
        }
