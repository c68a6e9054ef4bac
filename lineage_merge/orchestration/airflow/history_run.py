"""Airflow's run in the settings of the history. Imports no Airflow."""

from collections.abc import Mapping
from typing import Any


def add_run(settings: dict[str, Any], context: Mapping[str, Any]) -> None:
    """Add run id and logical date to the settings of the history, if it is configured and has none."""
    history = settings.get("history")
    if not isinstance(history, dict):
        return
    run = context.get("dag_run")
    for name in ("run_id", "logical_date"):
        if value := getattr(run, name, None):  # Airflow 3 has runs without a logical date
            history.setdefault(name, str(value))
