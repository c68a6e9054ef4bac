"""Record which calls of AWS's API the Airflow side makes, Amazon's own operator among them.

    AIRFLOW/bin/python tests/airflow/record_aws_calls.py           # compare with aws_calls.json
    AIRFLOW/bin/python tests/airflow/record_aws_calls.py --write   # add what is new to it

AIRFLOW is an environment with Airflow and this package. `tests/test_deploy_actions.py` asks whether
deploy/iam/mwaa_execution.json allows what was recorded, so that a new call of ours or of the provider
cannot be missing from the policy. AWS is moto; the step is a task of docs/airflow.md's first snippet: its
job is created, started, followed with its log, and stopped.
"""

# mypy: disable-error-code="import-not-found"

import argparse
import json
import os
import re
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any
from unittest.mock import MagicMock

RECORD = Path(__file__).with_name("aws_calls.json")
ARTIFACTS = "s3://lineage/artifacts"
CONNECTIONS = {
    "AIRFLOW_CONN_ARANGODB_DEFAULT": {
        "conn_type": "arangodb",
        "host": "http://arangodb:8529",
        "schema": "spline",
        "login": "reader",
        "extra": {"password_secret": "arango-AbCdEf"},
    },
    "AIRFLOW_CONN_GREMLIN_DEFAULT": {"conn_type": "gremlin", "host": "neptune", "port": 8182},
}
# What distinguishes calls where rights are asked for.
_TELLING = ("Bucket", "Key", "Prefix", "JobName", "Name", "Role", "RoleName", "logGroupName", "SecretId")
# moto's name of a run's log groups, and Glue's.
_LOG_GROUPS = ("test/log", "/aws-glue/jobs")

Call = tuple[str, str, str]


@contextmanager
def recorded() -> Iterator[set[Call]]:
    """Give the calls of all clients of botocore, as they are made."""
    from botocore import client

    base_client: Any = client.BaseClient  # its private method is not in the stubs

    calls: set[Call] = set()
    original = base_client._make_api_call

    def make(client: Any, operation: str, parameters: Mapping[str, Any]) -> Any:
        shown = {name: parameters[name] for name in _TELLING if name in parameters}
        if "logGroupName" in shown:
            shown["logGroupName"] = shown["logGroupName"].replace(*_LOG_GROUPS)
        service = client.meta.service_model.service_name
        calls.add((service, operation, json.dumps(shown, sort_keys=True)))
        return original(client, operation, parameters)

    base_client._make_api_call = make
    try:
        yield calls
    finally:
        base_client._make_api_call = original


def build_step(run: int) -> Any:
    """Return the group's build of the first snippet of docs/airflow.md, its templates rendered."""
    from lineage_merge.airflow import lineage_merge_task_group

    try:
        from airflow.sdk import DAG
    except ImportError:  # Airflow 2
        from airflow import DAG
    with DAG(f"tickit_{run}"):
        group = lineage_merge_task_group(
            "lineage",
            dag_name="tickit_daily",
            environment="prod",
            config=f"{ARTIFACTS}/lineage_merge.yml",
            spline_applications=["tickit_sales_load"],
            engine="glue",
            artifacts=ARTIFACTS,
            engine_options={
                "iam_role_name": "lineage-merge-glue",
                "vpc_connections": ["lineage_merge-vpc"],
                "job_poll_interval": 1,
                "verbose": True,
                "region_name": "eu-west-1",
            },
        )
    step = group.children["lineage.build"]
    step.merge = {name: rendered(value) for name, value in step.merge.items()}
    return step


def rendered(value: Any) -> Any:
    """Return a value as Airflow would render it, each template as one word."""
    return re.sub(r"\{\{.*?\}\}", "rendered", value) if isinstance(value, str) else value


def calls_of_the_tasks() -> set[Call]:
    """Run a build on Glue twice, first where the job does not exist; follow and stop it."""
    import boto3
    from moto import mock_aws

    from lineage_merge.orchestration import publish

    with mock_aws():
        boto3.client("s3").create_bucket(
            Bucket="lineage", CreateBucketConfiguration={"LocationConstraint": "eu-west-1"}
        )
        trust = json.dumps({"Version": "2012-10-17", "Statement": []})
        boto3.client("iam").create_role(RoleName="lineage-merge-glue", AssumeRolePolicyDocument=trust)
        publish.write(ARTIFACTS, f"{ARTIFACTS}/lineage_merge_job.py", {}, "", "1")
        boto3.client("s3").put_object(
            Bucket="lineage", Key="artifacts/lineage_merge.yml", Body=b"strict: true"
        )
        with recorded() as calls:
            for try_number in (1, 2):
                step = build_step(try_number)
                context = {"ti": instance(try_number), "task": step, "run_id": "run"}
                step.execute(context)
                with suppress(NotImplementedError):  # moto stops no run
                    step.on_kill()
                storage_of(step)
        return calls


def storage_of(step: Any) -> None:
    """Read what a job that failed, or ended, leaves in its folder for the tasks after it."""
    from lineage_merge.infra import storage
    from lineage_merge.model.errors import SourceError
    from lineage_merge.orchestration import cluster_entrypoint

    folder = step.merge["folder"] or f"{ARTIFACTS}/runs/rendered"
    cluster_entrypoint.failure(folder, "dag/build/run/-1/1")
    with suppress(SourceError):
        storage.list_files(folder)


def instance(try_number: int) -> Any:
    """A task instance, as far as the operator asks for it."""
    found = MagicMock()
    found.dag_id, found.task_id, found.run_id, found.map_index, found.try_number = (
        "dag",
        "build",
        "run",
        -1,
        try_number,
    )
    return found


def main() -> int:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--write", action="store_true", help="add what is new to the record")
    given = arguments.parse_args()
    with tempfile.TemporaryDirectory() as home:
        os.environ |= {
            "AIRFLOW_HOME": home,
            "AWS_DEFAULT_REGION": "eu-west-1",
            "AWS_ACCESS_KEY_ID": "testing",
            "AWS_SECRET_ACCESS_KEY": "testing",
            "MOTO_ACCOUNT_ID": "111122223333",
            "AIRFLOW_CONN_AWS_DEFAULT": json.dumps({"conn_type": "aws"}),
            **{name: json.dumps(connection) for name, connection in CONNECTIONS.items()},
        }
        calls = calls_of_the_tasks()
    known = {tuple(each) for each in json.loads(RECORD.read_text())} if RECORD.exists() else set()
    new = sorted(calls - known)
    if given.write:
        RECORD.write_text(json.dumps(sorted(calls | known), indent=1) + "\n")
    for each in new:
        sys.stdout.write(f"new: {each}\n")
    return int(bool(new) and not given.write)


if __name__ == "__main__":
    sys.exit(main())
