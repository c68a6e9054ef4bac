"""What the engines on a cluster share: the artefacts, the arguments, and why a job failed."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from lineage_merge.airflow.compat import AirflowException, AirflowFailException
from lineage_merge.airflow.connections import aws, environment
from lineage_merge.airflow.settings import Merge, failing_well, resolved
from lineage_merge.errors import ConfigError

if TYPE_CHECKING:
    from lineage_merge.steps import Step


def arguments(step: "Step", merge: Merge, task: Any, context: Mapping[str, Any]) -> dict[str, str]:
    """The arguments of a step's job: names and references, no passwords."""
    from lineage_merge import job

    with failing_well(), resolved(merge, task, context, here=False) as (settings, _):
        from lineage_merge.config import by_key
        from lineage_merge.storage import is_s3

        if not is_s3(merge["folder"]):
            raise ConfigError(
                "", f"a cluster needs folder, or artifacts, as s3://bucket/prefix: {merge['folder']}"
            )
        return job.arguments(step, merge["folder"], by_key(settings), attempt=attempt(context))


def attempt(context: Mapping[str, Any]) -> str:
    """A name of this try of the task, the same before and after it was deferred."""
    instance = context["ti"]
    return (
        f"{instance.dag_id}/{instance.task_id}/{instance.run_id}/{instance.map_index}/{instance.try_number}"
    )


def published(merge: Merge) -> dict[str, Any]:
    """What `lineage-merge publish` left under `artifacts`. Fails for good where it did not."""
    from lineage_merge.publish import artefacts

    with failing_well(), environment(aws(merge.get("aws"))):
        return artefacts.read(merge["artifacts"])


@contextmanager
def explaining(merge: Merge, context: Mapping[str, Any]) -> Iterator[None]:
    """Say why the job failed, if it could leave the reason, instead of only that it did."""
    try:
        yield
    except AirflowFailException:
        raise
    except AirflowException as error:
        from lineage_merge import job

        with environment(aws(merge.get("aws"))):
            failure = job.failure(merge["folder"], attempt(context))
        if failure is None:
            raise
        if failure.lasting:
            raise AirflowFailException(failure.message) from error
        raise AirflowException(failure.message) from error
