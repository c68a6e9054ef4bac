"""Declared edges in files and catalogs: each says who declares them, until when and why."""

import json
from pathlib import Path
from typing import Any

import pytest

from lineage_merge.exporters import neptune_csv, pictures
from lineage_merge.exporters.datazone.run_events import run_events
from lineage_merge.exporters.exporter import Export
from lineage_merge.exporters.openlineage import EXPORTER as OPENLINEAGE
from lineage_merge.questions.backends.in_memory import InMemory
from tests.exporters.datahub_reading import exported, of_kind
from tests.exporters.openlineage_schemas import problems
from tests.lineage_made import MadeLineage
from tests.neptune_reading import records

WHY = "by ann until 2999-01-31: the partner copies it"


@pytest.fixture
def graph() -> InMemory:
    made = MadeLineage().flow("raw > lake").columns("raw.id > lake.id", transformation="IDENTITY")
    made.flow("sftp > raw", "partners/raw", job_type="declared", declared=WHY)
    made.columns("sftp.id > raw.id", "partners/raw", transformation="IDENTITY", job_type="declared")
    for node in made.nodes.values():
        if node.get("job_type") == "declared":
            node["owners"] = ["ann"]
    return made.graph()


def described(events: list[dict[str, Any]]) -> dict[str, str]:
    facets = {event["job"]["name"]: event["job"]["facets"] for event in events}
    return {name: held.get("documentation", {}).get("description", "") for name, held in facets.items()}


SAID = {"daily.declared.partners/raw": f"declared {WHY}", "daily.spark.load": ""}


def test_openlineage_has_a_job_with_its_owner_and_the_declaration(graph: InMemory, tmp_path: Path) -> None:
    file = tmp_path / "events.jsonl"
    OPENLINEAGE.send(Export(graph, {"out": str(file)}))
    events = [json.loads(line) for line in file.read_text().splitlines()]
    assert [problems(event) for event in events] == [[], []]
    assert described(events) == SAID
    (declared,) = [event for event in events if "declared" in event["job"]["name"]]
    facets = declared["job"]["facets"]
    assert [owner["name"] for owner in facets["ownership"]["owners"]] == ["ann"]
    assert (facets["jobType"]["integration"], "run" in declared) == ("DECLARED", False)


def test_datazone_gets_the_declaration_with_the_run(graph: InMemory) -> None:
    assert described(list(run_events(Export(graph, {})))) == SAID


def test_datahub_has_the_declaration_on_job_upstream_and_columns(graph: InMemory, tmp_path: Path) -> None:
    aspects = exported(graph, tmp_path)
    jobs = {
        info.name: info.customProperties.get("declared") for info in of_kind(aspects, "dataJobInfo").values()
    }
    assert jobs == {"partners/raw": f"declared {WHY}", "load": None}
    upstreams = of_kind(aspects, "upstreamLineage").values()
    assert {
        upstream.properties["jobs"]: upstream.properties.get("declared")
        for each in upstreams
        for upstream in each.upstreams
    } == {
        "partners/raw": f"declared {WHY}",
        "load": None,
    }
    columns = {each.transformOperation for lineage in upstreams for each in lineage.fineGrainedLineages}
    assert columns == {"IDENTITY: declared", "IDENTITY"}


def test_files_have_the_property(graph: InMemory, tmp_path: Path) -> None:
    pictures.GRAPHML.send(Export(graph, {"out": str(tmp_path / "x.graphml")}))
    assert f'<data key="edge.declared">{WHY}</data>' in (tmp_path / "x.graphml").read_text()
    neptune_csv.EXPORTER.send(Export(graph, {"out": str(tmp_path / "csv")}))
    rows = [row for file in (tmp_path / "csv").rglob("*.csv*") for row in records(file.read_bytes())]
    assert {row.single.get("declared") for row in rows if row.label == "feeds"} == {None, WHY}
