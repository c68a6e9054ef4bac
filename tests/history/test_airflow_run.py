"""Airflow's run in the settings of a history."""

from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any

import pytest

from lineage_merge.orchestration.airflow.history_run import add_run
from lineage_merge.orchestration.configuration import CONFIGURATION


@pytest.mark.parametrize(
    ("history", "expected"),
    [
        ({"location": "s3://lake/h"}, {"run_id": "r1", "logical_date": "2026-01-31 00:00:00+00:00"}),
        ({"location": "s3://lake/h", "run_id": "own"}, {"run_id": "own"}),
    ],
)
def test_the_run_is_stored_with_the_merge(history: dict[str, Any], expected: dict[str, str]) -> None:
    settings = {"history": dict(history)}
    run = SimpleNamespace(run_id="r1", logical_date=datetime(2026, 1, 31, tzinfo=UTC))
    add_run(settings, {"dag_run": run})
    assert expected.items() <= settings["history"].items()


def test_without_a_history_nothing_is_added() -> None:
    settings: dict[str, Any] = {"dag_name": "daily"}
    add_run(settings, {"dag_run": SimpleNamespace(run_id="r1", logical_date=None)})
    assert settings == {"dag_name": "daily"}


def test_a_cluster_gets_the_run_as_arguments() -> None:
    settings: dict[str, Any] = {"history": {"location": "s3://lake/h"}}
    add_run(settings, {"dag_run": SimpleNamespace(run_id="r1", logical_date=None)})
    assert CONFIGURATION.by_key(settings) == {"history.location": "s3://lake/h", "history.run_id": "r1"}
