"""The history of a merge in Airflow: its run, and its location on a cluster. Imports no Airflow."""

from collections.abc import Mapping
from typing import Any

from lineage_merge.infra.storage import is_s3
from lineage_merge.model.errors import ConfigError


def add_run(settings: dict[str, Any], context: Mapping[str, Any]) -> None:
    """Add run id and logical date to the settings of the history, if it is configured and has none."""
    history = settings.get("history")
    if not isinstance(history, dict):
        return
    run = context.get("dag_run")
    for name in ("run_id", "logical_date"):
        if value := getattr(run, name, None):  # Airflow 3 has runs without a logical date
            history.setdefault(name, str(value))


def check_location(location: str) -> None:
    """Raise `ConfigError` for a folder, because a cluster's local disks are deleted after the job."""
    from lineage_merge.config import NO_HISTORY  # not while Airflow parses DAGs

    if location not in ("", NO_HISTORY) and not is_s3(location):
        raise ConfigError("history.location", f"a cluster needs s3://bucket/prefix, not {location}")
