"""Glue, then dbt, then the merge of their lineage: one DAG per pipeline.

Runs on Airflow 2.10 to 3.x, including Amazon MWAA. The merge runs as a job on AWS Glue, so the
workers need ``lineage-merge[airflow]`` and no Spark. See `docs/airflow.md` for the setup.

==================== ======================================================================
connection           what
==================== ======================================================================
aws_default          AWS; on MWAA the environment's own role is enough
arangodb_default     Spline's ArangoDB: host (a URL), schema (the database), login, and in extra
                     `password_secret`, the secret with the password
gremlin_default      Neptune: host, port 8182, extra ``{"iam_auth": true, "region_name": "..."}``
==================== ======================================================================

========================= =========================================================================
Variable                  what
========================= =========================================================================
lineage_merge_environment dev, staging, prod
lineage_merge_config      configuration file for further settings, local or s3://
lineage_merge_artifacts   the S3 prefix of `lineage-merge publish --s3`
lineage_merge_glue_role   role of the Glue job, if the job does not exist yet
lineage_merge_glue_vpc    its Glue connection into the VPC of Neptune and ArangoDB
dbt_project_dir           the dbt project on the workers
dbt_target                its target  [default: that of the profile]
========================= =========================================================================

Do not run this file as a script: Python would find it in place of the package of that name.
"""

# mypy: disable-error-code="import-not-found"
# Airflow is installed where this file runs, not where the package is checked.

from collections.abc import Sequence
from datetime import UTC, datetime
from itertools import pairwise
from typing import Any

from airflow.providers.amazon.aws.operators.glue import GlueJobOperator

from lineage_merge.orchestration.airflow import lineage_merge_task_group

try:
    from airflow.sdk import DAG
except ImportError:  # Airflow 2
    from airflow import DAG
try:
    from airflow.providers.standard.operators.bash import BashOperator
except ImportError:  # Airflow 2, without the provider that took its operators over
    from airflow.operators.bash import BashOperator

DBT_BUILD = """\
project="${PROJECT_DIR_VARIABLE:-${DBT_PROJECT_DIR:?set the Airflow Variable dbt_project_dir}}"
target="${TARGET_VARIABLE:-${DBT_TARGET:-}}"
exec dbt build --project-dir "$project" ${target:+--target "$target"}
"""


def variable(name: str) -> str:
    """A template for an Airflow Variable, empty where it is not set.

    A template, because a Variable read in this file would cost a query for each parse.
    """
    return f"{{{{ var.value.get('{name}', '') }}}}"


# Where the merge runs. For Spark on the worker: engine="local" and nothing more.
ON_GLUE: dict[str, Any] = {
    "engine": "glue",
    "artifacts": variable("lineage_merge_artifacts"),
    "engine_options": {
        "iam_role_name": variable("lineage_merge_glue_role"),
        "vpc_connections": [variable("lineage_merge_glue_vpc")],
    },
}


def pipeline_dag(
    dag_id: str, schedule: str | None, glue_jobs: Sequence[str], dbt: bool = True, **merge: Any
) -> DAG:
    """A pipeline's DAG: its Glue jobs one after the other, dbt, the merge.

    `glue_jobs` are names of jobs on Glue, `merge` what `lineage_merge_task_group` takes. Which
    applications to merge it finds by itself: those of the Glue jobs before it.
    """
    with DAG(
        dag_id,
        description="Spark on Glue, dbt, and their lineage",
        schedule=schedule,
        start_date=datetime(2024, 1, 1, tzinfo=UTC),
        catchup=False,
        max_active_runs=1,
        tags=["lineage"],
    ) as dag:
        steps: list[Any] = [GlueJobOperator(task_id=f"glue_{job}", job_name=job) for job in glue_jobs]
        if dbt:
            steps.append(
                BashOperator(
                    task_id="dbt_build",
                    bash_command=DBT_BUILD,
                    env={
                        "PROJECT_DIR_VARIABLE": variable("dbt_project_dir"),
                        "TARGET_VARIABLE": variable("dbt_target"),
                    },
                    append_env=True,
                )
            )
        steps.append(lineage_merge_task_group("lineage", **merge))
        for earlier, later in pairwise(steps):
            earlier >> later
    return dag


tickit_daily = pipeline_dag(
    "tickit_daily",
    schedule="@daily",
    glue_jobs=["tickit_sales_ingest", "tickit_sales_load"],
    dbt_manifests=[
        {
            "manifest": "s3://artifacts/tickit/manifest.json",
            "namespace": "redshift://tickit-wh.us-east-1:5439",
        }
    ],
    settings={"merge.default_schemas": {"redshift://tickit-wh.us-east-1:5439": "dev.public"}},
    **ON_GLUE,
)
