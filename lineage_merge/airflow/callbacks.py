"""Counts of a merge, for callbacks of DAGs."""

from collections.abc import Mapping
from typing import Any

from lineage_merge.airflow.settings import sibling


def merge_counts(context: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return the counts of the group's report in a callback of any of its tasks; None if not available yet.

    `read`, `nodes`, `edges`, `joined`, `totals` (problems by kind), `problems`, `written`, `refusal`.
    """
    raised = getattr(context.get("exception"), "counts", None)
    if isinstance(raised, dict):
        return raised
    instance = context["ti"]
    found = instance.xcom_pull(task_ids=sibling(instance.task_id, "report"), map_indexes=instance.map_index)
    return found if isinstance(found, dict) else None
