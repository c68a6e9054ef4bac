"""The DAGs that `check_scheduler.py` runs with a real scheduler, in the folder of DAGs.

`AWS` is the stand-in: jobs named ``sleep`` only sleep, ``lineage_merge`` runs the published script.
"""

# mypy: disable-error-code="import-not-found"

import json
import os
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from lineage_merge.airflow import lineage_merge_task_group, merge_counts

try:
    from airflow.sdk import DAG
except ImportError:
    from airflow import DAG

WORK = Path(os.environ["SCHEDULER_CHECK_WORK"])
SAMPLE = os.environ["SCHEDULER_CHECK_SAMPLE"]
WAREHOUSE = "redshift://tickit-wh.us-east-1:5439"


def write_counts(context: Any) -> None:
    """A callback as a DAG's author writes it, which gets the counts of the merge."""
    counts = merge_counts(context)
    (WORK / f"{context['ti'].dag_id}.{context['ti'].task_id}.json").write_text(
        json.dumps({"counts": counts, "error": str(context.get("exception"))})
    )


def merge(dag_id: str, job_name: str, deferrable: bool, **options: Any) -> Any:
    """A DAG with nothing but a merge of files, whose steps run on Glue. The scheduler runs it by itself."""
    settings = {
        "spline.export": f"{SAMPLE}/spline/tickit_sales_load",
        "merge.default_schemas": {WAREHOUSE: "dev.public"},
        **options.pop("settings", {}),
    }
    given = {
        "spline_applications": ["*"],
        "retries": 2,
        "retry_delay": timedelta(seconds=1),
        "settings": settings,
        **options,
    }
    with DAG(dag_id, schedule="@once", start_date=datetime(2024, 1, 1, tzinfo=UTC), catchup=False) as dag:
        lineage_merge_task_group(
            "lineage",
            engine="glue",
            wait=False,
            artifacts="s3://lineage/artifacts",
            engine_options={
                "job_name": job_name,
                "deferrable": deferrable,
                "iam_role_arn": "arn:aws:iam::123456789012:role/glue",
                "vpc_connections": ["lineage_merge-vpc"],
                "job_poll_interval": 1,
                "waiter_delay": 1,
                "waiter_max_attempts": 600,
                "script_args": {"--spark-master": "local[1]"},
            },
            default_args={"on_failure_callback": write_counts},
            **given,
        )
    return dag


# A damaged manifest beside a whole one: the graph is loaded, then the report fails.
rejected = merge(
    "rejected",
    "lineage_merge",
    deferrable=True,
    dbt_manifests=[
        {"manifest": f"{SAMPLE}/dbt/manifest.json", "namespace": WAREHOUSE},
        {"manifest": f"{WORK}/damaged.json", "namespace": WAREHOUSE},
    ],
)
# The job itself finds that its password is missing: it would be missing again.
permanent = merge(
    "permanent",
    "lineage_merge",
    deferrable=True,
    settings={
        "spline.arango.hosts": "http://localhost:1",
        "spline.arango.database": "spline",
        "spline.arango.password_secret": "lineage/arango#no_such_key",
        "spline.export": None,
    },
)
killed = merge("killed", "sleep_killed", deferrable=False)
abandoned = merge("abandoned", "sleep_abandoned", deferrable=True)
