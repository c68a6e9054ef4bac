"""Names of Airflow that have moved between 2.10 and 3.x."""

from importlib import import_module
from typing import Any


def _first(*places: str) -> Any:
    """The first of ``module:name`` that this Airflow has."""
    for place in places:
        module, _, name = place.partition(":")
        try:
            return getattr(import_module(module), name)
        except (ImportError, AttributeError):
            continue
    raise ImportError(f"this Airflow has none of {', '.join(places)}")


BaseOperator: Any = _first("airflow.sdk:BaseOperator", "airflow.models.baseoperator:BaseOperator")
BaseSensorOperator: Any = _first("airflow.sdk:BaseSensorOperator", "airflow.sensors.base:BaseSensorOperator")
TaskGroup: Any = _first("airflow.sdk:TaskGroup", "airflow.utils.task_group:TaskGroup")
task_group: Any = _first("airflow.sdk:task_group", "airflow.decorators:task_group")
Asset: Any = _first("airflow.sdk:Asset", "airflow.datasets:Dataset")
AirflowException: Any = _first(
    "airflow.sdk.exceptions:AirflowException", "airflow.exceptions:AirflowException"
)
AirflowFailException: Any = _first(
    "airflow.sdk.exceptions:AirflowFailException", "airflow.exceptions:AirflowFailException"
)
AirflowSensorTimeout: Any = _first(
    "airflow.sdk.exceptions:AirflowSensorTimeout", "airflow.exceptions:AirflowSensorTimeout"
)
AirflowNotFoundException: Any = _first(
    "airflow.sdk.exceptions:AirflowNotFoundException", "airflow.exceptions:AirflowNotFoundException"
)


def base_hook() -> Any:
    """`BaseHook`, by which connections are read: at run time only, as parsing a file must not."""
    return _first("airflow.sdk:BaseHook", "airflow.hooks.base:BaseHook")
