"""Hourly merge of Spark applications that no DAG merges.

These are notebooks, manually started jobs, and pipelines whose DAG has no merge yet. An application
is managed by the DAG under whose name it is in the graph. An unmanaged application is merged under the
DAG in its label `airflow.dag_id`, if the Spline agent sets this label, or else under this DAG's
name, until another DAG claims it.

Connections and Variables: see `lineage_pipeline.py`.
"""

# mypy: disable-error-code="import-not-found"
# Airflow is installed where this file runs, not where the package is checked.

from datetime import UTC, datetime
from typing import Any

from lineage_merge.airflow import unmanaged_merge_task_group

try:
    from airflow.sdk import DAG
except ImportError:  # Airflow 2
    from airflow import DAG

# Where the merge runs. For Spark on the worker, use only engine="local".
ON_GLUE: dict[str, Any] = {
    "engine": "glue",
    "artifacts": "{{ var.value.get('lineage_merge_artifacts', '') }}",
    "engine_options": {
        "iam_role_name": "{{ var.value.get('lineage_merge_glue_role', '') }}",
        "vpc_connections": ["{{ var.value.get('lineage_merge_glue_vpc', '') }}"],
    },
}


def scheduled_dag(dag_id: str, schedule: str | None, **merge: Any) -> DAG:
    """The DAG; `merge` is what `unmanaged_merge_task_group` takes."""
    with DAG(
        dag_id,
        description="Lineage of applications that no DAG merges",
        schedule=schedule,
        start_date=datetime(2024, 1, 1, tzinfo=UTC),
        catchup=False,
        max_active_runs=1,
        tags=["lineage"],
    ) as dag:
        unmanaged_merge_task_group("unmanaged", **merge)
    return dag


lineage_unmanaged = scheduled_dag("lineage_unmanaged", schedule="@hourly", **ON_GLUE)
