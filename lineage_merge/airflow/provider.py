"""Provider metadata for Airflow: links of operators."""

from typing import Any


def get_provider_info() -> dict[str, Any]:
    """Return the metadata for the entry point `apache_airflow_provider`."""
    return {
        "package-name": "lineage-merge",
        "name": "Lineage merge",
        "description": "Task groups that merge Spark and dbt lineage into one graph.",
        "extra-links": [
            "lineage_merge.airflow.report.ReportLink",
            "lineage_merge.airflow.report.PageLink",
        ],
    }
