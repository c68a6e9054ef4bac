"""Checks of operators and settings inside an environment with Airflow, without a scheduler and without Spark.

    python -m pytest --noconftest -n 0 tests/airflow/operator_checks.py

`check_dag.py` runs them after `airflow db migrate`. The name keeps them out of the suite, which has no Airflow.
"""

# mypy: disable-error-code="import-not-found"

from types import SimpleNamespace
from typing import Any

import pytest

from lineage_merge.airflow import settings
from lineage_merge.errors import ConfigError

GRAPH = {"gremlin.endpoint": "ws://localhost:8182/gremlin"}
NAMESPACE = "redshift://wh.us-east-1:5439"


def merge_of(**given: Any) -> dict[str, Any]:
    return {"folder": "s3://lineage/runs", "dag_name": "sales", "environment": "dev", "aws": None, **given}


def resolve(merge: dict[str, Any]) -> Any:
    """The configuration of a step of a group without tasks before it."""
    task = SimpleNamespace(get_flat_relatives=lambda upstream: [])
    context = {"ti": SimpleNamespace(), "dag_run": SimpleNamespace(dag_id="sales")}
    with settings.resolved(merge, task, context, here=False) as found:
        return found.config


@pytest.mark.parametrize(
    "given",
    [
        {"spline.agent": "s3://lineage/agent/", "spline.applications": ["sales_*"]},
        {"openlineage.events": "s3://lineage/events/"},
        {"hive.log": "s3://logs/hive/"},
        {"sql": [{"path": "s3://sql/", "namespace": NAMESPACE, "dialect": "redshift"}]},
    ],
)
def test_a_merge_of_files_needs_no_connection(given: dict[str, Any]) -> None:
    config = resolve(merge_of(settings={**GRAPH, **given}))

    assert sorted(config.sources) == [next(iter(given)).partition(".")[0]]


def test_a_merge_without_sources_asks_for_spline() -> None:
    with pytest.raises(ConfigError, match="no connection arangodb_default in Airflow"):
        resolve(merge_of(settings=GRAPH))
