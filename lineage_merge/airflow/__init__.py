"""Airflow task groups that merge lineage.

::

    from lineage_merge.airflow import lineage_merge_task_group

    [glue_task, dbt_task] >> lineage_merge_task_group("lineage", environment="prod", ...)

The import loads neither Spark, boto3 nor a Gremlin client: the scheduler parses DAG files repeatedly, and may
not have them installed.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from lineage_merge.airflow.report import merge_counts as merge_counts
    from lineage_merge.airflow.task_group import lineage_asset as lineage_asset
    from lineage_merge.airflow.task_group import (
        lineage_merge_task_group as lineage_merge_task_group,
    )
    from lineage_merge.airflow.unmanaged_jobs import (
        unmanaged_merge_task_group as unmanaged_merge_task_group,
    )

_MODULES = {
    "lineage_asset": "task_group",
    "lineage_merge_task_group": "task_group",
    "merge_counts": "report",
    "unmanaged_merge_task_group": "unmanaged_jobs",
}
__all__ = ["lineage_asset", "lineage_merge_task_group", "merge_counts", "unmanaged_merge_task_group"]


def __getattr__(name: str) -> Any:
    # Lazy, so that modules without Airflow can be imported if it is not installed.
    if name in _MODULES:
        return getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def get_provider_info() -> dict[str, Any]:
    """Return the metadata of the provider (entry point `apache_airflow_provider`): links of operators."""
    return {
        "package-name": "lineage-merge",
        "name": "Lineage merge",
        "description": "Task groups that merge Spark and dbt lineage into one graph.",
        "extra-links": [
            "lineage_merge.airflow.report.ReportLink",
            "lineage_merge.airflow.report.PageLink",
        ],
    }
