"""Airflow's run in the settings of a history."""

from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from lineage_merge.airflow.connections import add_run_to_history, check_history_location
from lineage_merge.history.layout import history_location
from lineage_merge.model.errors import ConfigError
from lineage_merge.orchestration import cluster_entrypoint
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
    add_run_to_history(settings, {"dag_run": run})
    assert expected.items() <= settings["history"].items()


def test_without_a_history_nothing_is_added() -> None:
    settings: dict[str, Any] = {"dag_name": "daily"}
    add_run_to_history(settings, {"dag_run": SimpleNamespace(run_id="r1", logical_date=None)})
    assert settings == {"dag_name": "daily"}


def test_a_cluster_gets_the_run_as_arguments() -> None:
    settings: dict[str, Any] = {"history": {"location": "s3://lake/h"}}
    add_run_to_history(settings, {"dag_run": SimpleNamespace(run_id="r1", logical_date=None)})
    assert CONFIGURATION.list_by_key(settings) == {"history.location": "s3://lake/h", "history.run_id": "r1"}


@pytest.mark.parametrize(
    "history", ["s3://lake/h", "{location: s3://lake/h, keep: 400d}"], ids=["text", "mapping"]
)
def test_the_load_of_a_cluster_keeps_a_history_with_the_run(history: str, tmp_path: Path) -> None:
    """From a configuration file to the configuration of the job, through the arguments of Glue or EMR."""
    file = tmp_path / "c.yml"
    file.write_text(
        "dag_name: daily\nenvironment: prod\nopenlineage: {events: s3://lake/events/}\n"
        f"gremlin: {{endpoint: 'wss://neptune:8182/gremlin'}}\nhistory: {history}\n"
    )
    settings = CONFIGURATION.collect(file).settings
    run = SimpleNamespace(run_id="scheduled__2026-01-31", logical_date=datetime(2026, 1, 31, tzinfo=UTC))
    add_run_to_history(settings, {"dag_run": run})
    arguments = cluster_entrypoint.arguments("load", "s3://lake/runs/1", CONFIGURATION.list_by_key(settings))
    words = [word for pair in arguments.items() for word in pair]
    parsed = cluster_entrypoint.parse_arguments(["--JOB_NAME", "lineage_merge", *words])
    config = CONFIGURATION.load(None, flags=parsed.flags)
    assert config.history.location == "s3://lake/h"
    assert (config.history.run_id, config.history.logical_date) == (
        "scheduled__2026-01-31",
        "2026-01-31 00:00:00+00:00",
    )
    assert history_location(config) == "s3://lake/h"


def test_a_cluster_keeps_no_history_on_its_disks() -> None:
    check_history_location("s3://lake/h")
    check_history_location("")
    check_history_location("none")
    with pytest.raises(ConfigError, match=r"history\.location: a cluster needs s3://.*, not history"):
        check_history_location("history")
