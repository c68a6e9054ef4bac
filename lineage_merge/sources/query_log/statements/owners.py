"""The query comments of dbt and Airflow: which job a statement belongs to. Pure."""

import json
import re
from collections.abc import Iterable
from typing import NamedTuple
from urllib.parse import unquote

_PAIR = re.compile(r"(\w+)\s*=\s*'([^']*)'")
# What dbt runs itself; its tests and hooks write no model.
_BUILT = ("model.", "snapshot.", "seed.")


class Owner(NamedTuple):
    """The job of a statement: a dbt node (`job_type` "dbt"), or a task of Airflow (`job_type` "").

    `target`: dbt's target, such as prod.
    """

    job_type: str
    name: str
    target: str = ""


DBT = "dbt"


def owner_of(comments: Iterable[str]) -> Owner | None:
    """Return the job that the first of a statement's comments names, None without one."""
    return next((owner for comment in comments if (owner := owner_in(comment)) is not None), None)


def owner_in(comment: str) -> Owner | None:
    """Return the job that a comment names, None without one.

    dbt: ``{"app": "dbt", "node_id": "model.x.y"}``. Airflow: JSON with ``dag_id`` and ``task_id``, or
    sqlcommenter's ``dag_id='d',task_id='t'``. A dbt statement without a node has the name "".
    """
    if '"app"' not in comment and "dag_id" not in comment:
        return None
    values = _values(comment)
    if values.get("app") == DBT:
        node = values.get("node_id")
        if not (isinstance(node, str) and node.startswith(_BUILT)):
            return Owner(DBT, "")
        target = values.get("target_name")
        return Owner(DBT, node, target if isinstance(target, str) else "")
    dag, task = values.get("dag_id"), values.get("task_id")
    if isinstance(dag, str) and isinstance(task, str) and dag and task:
        return Owner("", f"{dag}.{task}")
    return None


def _values(comment: str) -> dict[str, object]:
    if comment.startswith("{"):
        try:
            values = json.loads(comment)
        except ValueError:
            return {}
        return values if isinstance(values, dict) else {}
    return {name: unquote(value) for name, value in _PAIR.findall(comment)}
