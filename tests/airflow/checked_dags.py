"""The DAGs that `run_in_airflow.py` runs: the shipped ones, made by their own factories for each engine.

Lies in the folder of DAGs beside copies of the shipped files, because Airflow 3 runs only what its
database knows.
"""

# mypy: disable-error-code="import-not-found"

from datetime import UTC, datetime, timedelta
from importlib import util
from pathlib import Path
from types import ModuleType
from typing import Any

from lineage_merge.airflow import lineage_merge_task_group

try:
    from airflow.sdk import DAG
except ImportError:
    from airflow import DAG

WAREHOUSE = "redshift://tickit-wh.us-east-1:5439"
GLUE_JOBS = ("tickit_sales_ingest", "tickit_sales_load")
# Below one folder each try of a build has its own.
FOLDER = "s3://lineage/runs/1"
ARTIFACTS = "s3://lineage/artifacts"


def shipped(name: str) -> ModuleType:
    """Return the module of a file of `dags/`."""
    spec = util.spec_from_file_location(f"shipped_{name}", Path(__file__).with_name(f"{name}.py"))
    assert spec
    assert spec.loader
    module = util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


pipeline_dag = shipped("lineage_pipeline").pipeline_dag
scheduled_dag = shipped("lineage_scheduled").scheduled_dag

MERGE: dict[str, Any] = {
    "dbt_manifests": [{"manifest": "{{ var.value.sample_data }}/dbt/manifest.json", "namespace": WAREHOUSE}],
    "settings": {"merge.default_schemas": {WAREHOUSE: "dev.public"}},
    "poke_interval": 1,
    "wait_timeout": 90,
    "retries": 0,
}

POLICIES = [{"name": "fed", "datasets": "*.tickit_marts.*", "must_be_fed_by": "s3://tickit-raw/*"}]
check_local = pipeline_dag(
    "check_local",
    None,
    GLUE_JOBS,
    engine="local",
    check_policies=True,
    **{**MERGE, "settings": {**MERGE["settings"], "policies": POLICIES}},
)
check_glue = pipeline_dag(
    "check_glue",
    None,
    GLUE_JOBS[1:],
    dbt=False,
    engine="glue",
    folder=FOLDER,
    artifacts=ARTIFACTS,
    engine_options={
        "iam_role_arn": "arn:aws:iam::123456789012:role/glue",
        "vpc_connections": ["lineage_merge-vpc"],
        "job_poll_interval": 1,
        "script_args": {"--spark-master": "local[2]"},
    },
    **MERGE,
)
check_emr_serverless = pipeline_dag(
    "check_emr_serverless",
    None,
    [],
    dbt=False,
    engine="emr_serverless",
    folder=FOLDER,
    artifacts=ARTIFACTS,
    spline_applications=["tickit_*"],
    engine_options={
        "application_id": "{{ var.value.emr_application }}",
        "execution_role_arn": "arn:aws:iam::123456789012:role/emr",
        "waiter_delay": 1,
    },
    **{**MERGE, "wait": False},
)
check_unmanaged = scheduled_dag(
    "check_unmanaged", None, engine="local", grace=timedelta(0), settings=MERGE["settings"], retries=0
)
with DAG("check_missing", schedule=None, start_date=datetime(2024, 1, 1, tzinfo=UTC)) as check_missing:
    lineage_merge_task_group(
        "lineage", spline_applications=["tickit_sales_load", "never_there"], **{**MERGE, "wait_timeout": 2}
    )
