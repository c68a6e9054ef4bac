"""Glue, then dbt, then the merge of their lineage: one DAG for each pipeline.

Runs on Airflow 2.10, 2.11 and 3. What it needs to know stands in Airflow Variables, or in the
environment of the workers:

===================== ========================= ==============================================
Variable              environment               what
===================== ========================= ==============================================
lineage_merge_config  LINEAGE_MERGE_CONFIG      the configuration file of `lineage-merge run`
dbt_project_dir       DBT_PROJECT_DIR           the dbt project
dbt_target            DBT_TARGET                its target; none: the default of its profile
===================== ========================= ==============================================

The Glue jobs exist already and report to Spline; the connection `aws_default` says how to
start them. The merge is recorded under the DAG's own id, whatever `dag_name` the file has.
Its worker reads what the file names, so where workers share no disk, a dbt manifest lies in
S3.

The merge starts Spark on its worker, which therefore needs Java 17 and PySpark
(``lineage-merge[local]``). Amazon MWAA has neither: its constraints forbid PySpark 3.5. There
the merge belongs on Glue, not on the worker.

Airflow parses this file again and again, so nothing heavy is imported before a task runs. Do
not run the file as a script: Python would then find it in place of the package of that name.
"""

# mypy: disable-error-code="import-not-found"
# Airflow is installed where this file runs, not where the package is checked.

import logging
import os
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from itertools import pairwise
from typing import Any

from airflow.providers.amazon.aws.operators.glue import GlueJobOperator

try:
    from airflow.sdk import DAG
except ImportError:  # Airflow 2
    from airflow import DAG
try:
    from airflow.providers.standard.operators.bash import BashOperator
    from airflow.providers.standard.operators.python import PythonOperator
except ImportError:  # Airflow 2, without the provider that took its operators over
    from airflow.operators.bash import BashOperator
    from airflow.operators.python import PythonOperator

# Every worker keeps these lines in the task's log.
log = logging.getLogger("airflow.task")

# XCom lies in Airflow's database; the log and the graph have the rest.
MOST_PROBLEMS_IN_XCOM = 20

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


def without_repeats(say: Callable[[str], None]) -> Callable[[str], None]:
    """Pass a line of progress on only when it says something new: a log is not a screen."""
    last = ""

    def say_changes(line: str) -> None:
        nonlocal last
        if line != last:
            last = line
            say(line)

    return say_changes


def merge_lineage(config_file: str, dag_name: str) -> dict[str, Any]:
    """Merge what Spline and dbt recorded into the graph; returns the report, for XCom.

    Raises `lineage_merge.errors.LineageMergeError`, whose message is one line to act on.
    """
    from io import StringIO
    from pathlib import Path

    from rich.console import Console

    from lineage_merge import config, pipeline
    from lineage_merge.cli.printing import loaded_text, print_report
    from lineage_merge.errors import ConfigError
    from lineage_merge.spark import session

    config_file = config_file or os.environ.get("LINEAGE_MERGE_CONFIG", "")
    if not config_file:
        raise ConfigError("", "set the Airflow Variable lineage_merge_config to the configuration file")
    settings = config.load(Path(config_file), flags={"dag_name": dag_name})
    say = without_repeats(log.info)
    with session(settings.spark, say) as spark:
        outcome = pipeline.run(spark, settings, say)
    summary = StringIO()
    console = Console(file=summary, width=120, highlight=False)
    print_report(console, outcome.report, loaded_text(outcome.loaded))
    log.info("\n%s", summary.getvalue())
    report = outcome.report.as_json()
    return {**report, "problems": report["problems"][:MOST_PROBLEMS_IN_XCOM]}


def pipeline_dag(dag_id: str, schedule: str | None, glue_jobs: Sequence[str], dbt: bool = True) -> DAG:
    """A pipeline's DAG: its Glue jobs one after the other, dbt, the merge.

    `glue_jobs` are names of jobs on Glue. Without jobs and with ``dbt=False`` the merge stands
    alone, for a pipeline that something else runs, or to try the merge out.
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
        steps.append(
            PythonOperator(
                task_id="merge_lineage",
                python_callable=merge_lineage,
                op_kwargs={"config_file": variable("lineage_merge_config"), "dag_name": dag_id},
            )
        )
        for earlier, later in pairwise(steps):
            earlier >> later
    return dag


tickit_daily = pipeline_dag(
    "tickit_daily", schedule="@daily", glue_jobs=["tickit_sales_ingest", "tickit_sales_load"]
)
