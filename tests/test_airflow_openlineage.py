"""What the tasks of a merge read and write, as OpenLineage names it."""

import json
from typing import Any

from lineage_merge.airflow.openlineage_datasets import TaskDatasets, list_step_datasets
from lineage_merge.orchestration.configuration import CONFIGURATION

SETTINGS: dict[str, Any] = {
    "dag_name": "sales",
    "environment": "prod",
    "spline": {"arango": {"hosts": "http://arangodb:8529,http://b:8530", "database": "spline"}},
    "openlineage": {"events": ["s3://lineage/events/"]},
    "dbt": [{"manifest": "s3://dbt/manifest.json", "namespace": "redshift://wh.us-east-1:5439"}],
    "gremlin": {"endpoint": "wss://user:hunter2@graph:8182/gremlin"},
}
FOLDER = "s3://lineage/runs/sales/try-1"
GRAPH = ("gremlin://graph:8182", "prod/sales")


def test_a_build_reads_the_sources_and_writes_the_folder() -> None:
    assert list_step_datasets("build", CONFIGURATION.parse(SETTINGS), FOLDER) == TaskDatasets(
        (
            ("arangodb://arangodb:8529", "spline"),
            ("s3://dbt", "manifest.json"),
            ("s3://lineage", "events"),
        ),
        (("s3://lineage", "runs/sales/try-1"),),
    )


def test_a_load_reads_the_folder_and_writes_the_graph() -> None:
    found = list_step_datasets("load", CONFIGURATION.parse(SETTINGS), FOLDER)

    assert found == TaskDatasets((("s3://lineage", "runs/sales/try-1"),), (GRAPH,))
    assert "hunter2" not in json.dumps(found)


def test_pairs_survive_json() -> None:
    found = list_step_datasets("build", CONFIGURATION.parse(SETTINGS), FOLDER)

    assert TaskDatasets.from_pairs(*json.loads(json.dumps(found))) == found


def test_a_local_folder_is_a_file() -> None:
    found = list_step_datasets("load", CONFIGURATION.parse({**SETTINGS, "gremlin": {}}), "/var/runs/try-1")

    assert found == TaskDatasets((("file", "/var/runs/try-1"),), (("gremlin://embedded", "prod/sales"),))
