"""DAG of a pipeline: Glue jobs, dbt, and the merge of their lineage.

Runs on Airflow 2.10 to 3.x, including Amazon MWAA. The merge runs as a job on AWS Glue, so the
workers need ``lineage-merge[airflow]`` and no Spark. Setup: `docs/airflow.md`.

==================== ======================================================================
connection           fields
==================== ======================================================================
aws_default          AWS; on MWAA the role of the environment is sufficient
arangodb_default     Spline's ArangoDB: host (a URL), schema (the database), login; extra:
                     `password_secret`, the name of the secret with the password
gremlin_default      Neptune: host, port 8182, extra ``{"iam_auth": true, "region_name": "..."}``
==================== ======================================================================

========================= =========================================================================
Variable                  value
========================= =========================================================================
lineage_merge_environment dev, staging, prod
lineage_merge_config      optional configuration file of `lineage-merge run`, local or s3://
lineage_merge_artifacts   the prefix passed to `lineage-merge publish --s3`
lineage_merge_glue_role   role of the Glue job, to create it if it does not exist
lineage_merge_glue_vpc    Glue connection of the job to the VPC of Neptune and ArangoDB
dbt_project_dir           the dbt project on the workers
dbt_target                its target; default: the target of its profile
========================= =========================================================================

The name of this file is not that of the package: a `lineage_merge.py` in the folder of DAGs would be
imported in its place.
"""

# mypy: disable-error-code="import-not-found"
# Airflow is installed where this file runs, not where the package is checked.

from collections.abc import Sequence
from datetime import UTC, datetime
from itertools import pairwise
from typing import Any

from airflow.providers.amazon.aws.operators.glue import GlueJobOperator

from lineage_merge.airflow import lineage_merge_task_group

try:
    from airflow.sdk import DAG
except ImportError:  # Airflow 2
    from airflow import DAG
try:
    from airflow.providers.standard.operators.bash import BashOperator
except ImportError:  # Airflow 2 without the standard provider
    from airflow.operators.bash import BashOperator

DBT_BUILD = """\
project="${PROJECT_DIR_VARIABLE:-${DBT_PROJECT_DIR:?set the Airflow Variable dbt_project_dir}}"
target="${TARGET_VARIABLE:-${DBT_TARGET:-}}"
exec dbt build --project-dir "$project" ${target:+--target "$target"}
"""


def variable(name: str) -> str:
    """Return a template for an Airflow Variable; it renders to an empty string if the Variable is not set.

    Reading the Variable here would query the database each time Airflow parses this file.
    """
    return f"{{{{ var.value.get('{name}', '') }}}}"


# Where the merge runs. For Spark on the worker, use only engine="local".
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
    """Return the DAG of a pipeline: its Glue jobs in sequence, dbt, the merge.

    `glue_jobs` are names of Glue jobs, `merge` arguments of `lineage_merge_task_group`. By default
    the task group merges the applications of the upstream Glue jobs.
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
    settings={
        "merge.default_schemas": {"redshift://tickit-wh.us-east-1:5439": "dev.public"},
        # Without an agent: the event logs of the jobs (on Glue the parameters --enable-spark-ui and
        # --spark-event-logs-path). The Glue role needs deploy/iam/event_log_reader.json. If no job has
        # Spline's agent, also pass wait=False: no connection to ArangoDB is needed.
        # "event_log.logs": ["s3://my-bucket/spark-events"],
        # "event_log.applications": ["tickit_*"],
    },
    **ON_GLUE,
)
