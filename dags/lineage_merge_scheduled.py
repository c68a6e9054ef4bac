"""Hourly merge of the lineage of Spark applications that no other DAG merges.

These are notebooks, manually started jobs, and pipelines whose DAG has no merge yet. An application is
managed by the DAG under whose name the graph has it. Unmanaged ones are merged under the DAG in their
label `airflow.dag_id`, if the Spline agent sets it, otherwise under this DAG's own name, until a DAG
manages them.

Connections and Variables are those of `lineage_merge.py`. Do not run this file as a script.
"""

# mypy: disable-error-code="import-not-found"
# Airflow is installed where this file runs, not where the package is checked.

from datetime import UTC, datetime
from typing import Any

from lineage_merge.orchestration.airflow import unclaimed_merge_task_group

try:
    from airflow.sdk import DAG
except ImportError:  # Airflow 2
    from airflow import DAG

# Where the merge runs. For Spark on the worker: engine="local" and nothing more.
ON_GLUE: dict[str, Any] = {
    "engine": "glue",
    "artifacts": "{{ var.value.get('lineage_merge_artifacts', '') }}",
    "engine_options": {
        "iam_role_name": "{{ var.value.get('lineage_merge_glue_role', '') }}",
        "vpc_connections": ["{{ var.value.get('lineage_merge_glue_vpc', '') }}"],
    },
}


def scheduled_dag(dag_id: str, schedule: str | None, **merge: Any) -> DAG:
    """The DAG; `merge` is what `unclaimed_merge_task_group` takes."""
    with DAG(
        dag_id,
        description="Lineage of what no DAG merges by itself",
        schedule=schedule,
        start_date=datetime(2024, 1, 1, tzinfo=UTC),
        catchup=False,
        max_active_runs=1,
        tags=["lineage"],
    ) as dag:
        unclaimed_merge_task_group("unclaimed", **merge)
    return dag


lineage_unclaimed = scheduled_dag("lineage_unclaimed", schedule="@hourly", **ON_GLUE)
