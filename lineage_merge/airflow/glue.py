"""Build and load as runs of a job on AWS Glue 5."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from airflow.providers.amazon.aws.operators.glue import GlueJobOperator

from lineage_merge.airflow import cluster
from lineage_merge.airflow.settings import Merge

if TYPE_CHECKING:
    from lineage_merge.steps import Step

JOB_NAME = "lineage_merge"
# Only where the job does not exist yet and is created.
_CREATED = {"GlueVersion": "5.0", "WorkerType": "G.1X", "NumberOfWorkers": 2}
# Several DAGs may use one job.
_CONCURRENT_RUNS = 20


class GlueStep(GlueJobOperator):  # type: ignore[misc] # Airflow is not there when this is checked
    """One step as a run of a Glue job: `GlueJobOperator`, whose arguments are known when it runs.

    `artifacts` in `merge` is where `lineage-merge publish` put script and package; empty: the job
    exists and has both.
    """

    template_fields = (*GlueJobOperator.template_fields, "merge")
    template_fields_renderers = {**GlueJobOperator.template_fields_renderers, "merge": "json"}  # noqa: RUF012
    ui_color = "#dbe9f4"
    script_args: dict[str, Any]

    def __init__(self, *, step: "Step", merge: Merge, **options: Any) -> None:
        given = {
            "job_name": JOB_NAME,
            "job_desc": "one step of a merge of lineage",
            "concurrent_run_limit": _CONCURRENT_RUNS,
            "stop_job_run_on_kill": True,
            **options,
        }
        given["create_job_kwargs"] = _CREATED | (options.get("create_job_kwargs") or {})
        super().__init__(**given)
        # A worker that was lost finds the run that it started, instead of starting another beside it.
        # As an argument, each line of Airflow warns of another spelling.
        for name in ("durable", "resume_glue_job_on_retry"):
            if hasattr(self, name):
                setattr(self, name, True)
        self.step = step
        self.merge = merge

    def execute(self, context: Mapping[str, Any]) -> Any:
        """Start the run and wait for it; the XCom is its id."""
        sent = cluster.arguments(self.step, self.merge, self, context)
        if self.merge["artifacts"]:
            found = cluster.published(self.merge)
            self.script_location = found["script"]
            sent = {**found["glue"], **sent}
        self.script_args = {**sent, **self.script_args}
        with cluster.explaining(self.merge, context):
            return super().execute(context)

    def execute_complete(self, context: Mapping[str, Any], event: dict[str, Any] | None = None) -> Any:
        """The end of a deferred run."""
        with cluster.explaining(self.merge, context):
            return super().execute_complete(context, event)
