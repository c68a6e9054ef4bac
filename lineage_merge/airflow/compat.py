"""Names that Airflow moved between 2.10 and 3.x."""

import asyncio
from collections.abc import Callable, Mapping
from importlib import import_module
from importlib.util import find_spec
from typing import Any


def _first_of(*locations: str) -> Any:
    """Return the first ``module:name`` that this Airflow has."""
    for location in locations:
        module, _, name = location.partition(":")
        try:
            return getattr(import_module(module), name)
        except (ImportError, AttributeError):
            continue
    raise ImportError(f"this Airflow has none of {', '.join(locations)}")


def _either(name: str, module: str) -> Any:
    """Return a class of Airflow 3's SDK, or of the module that it is in before."""
    return _first_of(f"airflow.sdk:{name}", f"airflow.sdk.exceptions:{name}", f"{module}:{name}")


BaseOperator: Any = _either("BaseOperator", "airflow.models.baseoperator")
BaseSensorOperator: Any = _either("BaseSensorOperator", "airflow.sensors.base")
TaskGroup: Any = _either("TaskGroup", "airflow.utils.task_group")
task_group: Any = _either("task_group", "airflow.decorators")
Asset: Any = _first_of("airflow.sdk:Asset", "airflow.datasets:Dataset")
AirflowException: Any = _either("AirflowException", "airflow.exceptions")
AirflowFailException: Any = _either("AirflowFailException", "airflow.exceptions")
AirflowSensorTimeout: Any = _either("AirflowSensorTimeout", "airflow.exceptions")
AirflowNotFoundException: Any = _either("AirflowNotFoundException", "airflow.exceptions")
BaseTrigger: Any = _first_of("airflow.triggers.base:BaseTrigger")
TriggerEvent: Any = _first_of("airflow.triggers.base:TriggerEvent")
BaseOperatorLink: Any = _either("BaseOperatorLink", "airflow.models.baseoperatorlink")


def base_hook() -> Any:
    """Return `BaseHook`, which reads connections: only at run time, not while a file is parsed."""
    return _either("BaseHook", "airflow.hooks.base")


def xcom() -> Any:
    """Return `XCom`, by which links of operators read pushed values."""
    return _first_of("airflow.sdk.execution_time.xcom:XCom", "airflow.models.xcom:XCom")


def show_rendered(context: Mapping[str, Any]) -> None:
    """Update the displayed template fields of a running task.

    Airflow 3 does this automatically for operators with `overwrite_rtif_after_execution`.
    """
    if find_spec("airflow.sdk") is None:
        from airflow.models.renderedtifields import RenderedTaskInstanceFields

        RenderedTaskInstanceFields.write(RenderedTaskInstanceFields(context["ti"], render_templates=False))


async def run_in_thread(function: Callable[..., Any], *arguments: Any) -> Any:
    """Call a blocking function from a trigger.

    The call is shielded from cancellation: Airflow 3.0's triggerer fails if it never reads the response to a
    request of its own.
    """
    from asgiref.sync import sync_to_async

    call = sync_to_async(function, thread_sensitive=False)(*arguments)
    return await asyncio.shield(asyncio.ensure_future(call))


async def is_deferred(task_instance: Any) -> bool:
    """Whether a trigger's task instance still waits for it, for use in the triggerer."""
    state = await run_in_thread(_state, task_instance)
    return str(getattr(state, "value", state)) == "deferred"


def _state(instance: Any) -> Any:
    try:
        from airflow.sdk.execution_time.task_runner import RuntimeTaskInstance
    except ImportError:
        from airflow.models.taskinstance import TaskInstance
        from airflow.utils.session import create_session

        with create_session() as session:
            return (
                session.query(TaskInstance.state)
                .filter_by(
                    dag_id=instance.dag_id,
                    task_id=instance.task_id,
                    run_id=instance.run_id,
                    map_index=instance.map_index,
                )
                .scalar()
            )
    map_index = getattr(instance, "map_index", -1)
    states = RuntimeTaskInstance.get_task_states(
        dag_id=instance.dag_id,
        task_ids=[instance.task_id],
        run_ids=[instance.run_id],
        map_index=map_index,
    )
    state = states.get(instance.run_id, {})
    return state.get(instance.task_id, state.get(f"{instance.task_id}_{map_index}"))
