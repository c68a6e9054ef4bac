"""Shared code of cluster engines: artifacts, arguments, failure reasons."""

import logging
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple

from lineage_merge.airflow.attempts import Attempt
from lineage_merge.airflow.compat import AirflowException, AirflowFailException
from lineage_merge.airflow.connections import aws, check_history_location, environment, existing_aws
from lineage_merge.airflow.openlineage_datasets import TaskDatasets, TaskWithDatasets, list_step_datasets
from lineage_merge.airflow.report_check import RETIRE_REFUSED, VIOLATION
from lineage_merge.airflow.settings import (
    Merge,
    attempt_of,
    fail_if_permanent,
    only_warns,
    resolve_settings,
)
from lineage_merge.model.errors import ConfigError, PolicyViolated, RetireRefused

if TYPE_CHECKING:
    from lineage_merge.orchestration.stages import Step

log = logging.getLogger("airflow.task.lineage_merge")


class JobCall(NamedTuple):
    """The arguments of a step's job, and its input and output datasets."""

    arguments: dict[str, str]
    datasets: TaskDatasets


class ClusterStep(TaskWithDatasets):
    """A step as a job of a cluster."""

    ui_color = "#dbe9f4"
    # `execute` sets the arguments, so Airflow must render them afterwards.
    overwrite_rtif_after_execution = True
    aws_conn_id: str | None
    step: "Step"
    merge: Merge

    def prepare(self, context: Mapping[str, Any]) -> tuple[Attempt, JobCall]:
        """Return this try, and the call of the step's job."""
        self.aws_conn_id = existing_aws(self.aws_conn_id)
        attempt = attempt_of(self.step, self.merge, context)
        call = job_call(self.step, self.merge, self, context, attempt)
        self._datasets = call.datasets
        return attempt, call


def job_call(step: "Step", merge: Merge, task: Any, context: Mapping[str, Any], attempt: Attempt) -> JobCall:
    """Return the arguments of a step's job, without passwords."""
    from lineage_merge.orchestration import cluster_entrypoint

    with fail_if_permanent(), resolve_settings(merge, task, context, here=False) as (settings, config, _ids):
        from lineage_merge.infra.storage import is_s3
        from lineage_merge.orchestration.configuration import CONFIGURATION

        if not is_s3(attempt.folder):
            raise ConfigError(
                "", f"a cluster needs folder or artifacts as s3://bucket/prefix, not {attempt.folder}"
            )
        check_history_location(config.history.location)
        arguments = cluster_entrypoint.arguments(
            step, attempt.folder, CONFIGURATION.list_by_key(settings), attempt=attempt.name
        )
        return JobCall(arguments, list_step_datasets(step, config, attempt.folder))


def read_published_index(merge: Merge) -> dict[str, Any]:
    """Return the index that `lineage-merge publish` wrote to `artifacts`. Permanent failure if missing."""
    from lineage_merge.orchestration import publish

    with fail_if_permanent(), environment(aws(merge.get("aws"))):
        return publish.read(merge["artifacts"])


@contextmanager
def report_job_failure(merge: Merge, attempt: Attempt) -> Iterator[None]:
    """Raise the reason that a failed job stored in the folder.

    A refused retirement that is only a warning is stored in the folder for the report, and not raised;
    violations of policies that are only a warning are logged.
    """
    try:
        yield
    except AirflowFailException:
        raise
    except AirflowException as error:
        from lineage_merge.orchestration import cluster_entrypoint, stages

        with environment(aws(merge.get("aws"))):
            failure = cluster_entrypoint.failure(attempt.folder, attempt.name)
            if failure is None:
                raise
            if failure.exit_code == RetireRefused.exit_code and only_warns(merge, RETIRE_REFUSED):
                stages.record_refusal(attempt.folder, failure.message)
                return
            if failure.exit_code == PolicyViolated.exit_code and only_warns(merge, VIOLATION):
                log.warning("%s", failure.message)
                return
        if failure.permanent:
            raise AirflowFailException(failure.message) from error
        raise AirflowException(failure.message) from error
