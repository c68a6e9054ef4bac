"""Dashboards in OpenLineage's events, whose fields are named by ids."""

import json
from typing import Any

import pytest

from lineage_merge.exporters.exporter import Export
from lineage_merge.exporters.openlineage import EXPORTER
from lineage_merge.questions.backends.folder import read_folder
from tests.exporters.openlineage_schemas import problems
from tests.graph_folder import write_folder
from tests.sources.quicksight.made_definitions import sales_board


@pytest.fixture(scope="module")
def facets(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    new = tmp_path_factory.mktemp
    nodes, edges = sales_board(new("boards"))
    # As a user may name them.
    renamed = [{**row, "name": "Sales", "title": "Sales"} if row.get("visual_id") else row for row in nodes]
    out = new("events") / "events.jsonl"
    EXPORTER.send(Export(read_folder(write_folder(new("graph"), renamed, edges)), {"out": str(out)}))
    events = [json.loads(line) for line in out.read_text().splitlines()]
    assert not [problem for event in events for problem in problems(event)]
    (board,) = (
        output
        for event in events
        for output in event.get("outputs", ())
        if output["name"] == "dashboard/sales_board"
    )
    return dict(board["facets"])


def test_visuals_of_one_title_keep_their_lineage(facets: dict[str, Any]) -> None:
    fields = facets["columnLineage"]["fields"]
    assert {name: {each["field"] for each in field["inputFields"]} for name, field in fields.items()} == {
        "r1": {"state"},
        "r1.f.region": {"region"},
        "r1.m.net": {"amount", "tax"},
        "c1.f.customer": {"customer"},
        "c1.m.net": {"amount", "tax"},
    }


def test_visuals_are_fields_with_their_title_as_description(facets: dict[str, Any]) -> None:
    found = facets["schema"]["fields"]
    assert {(visual["name"], visual["description"]) for visual in found} == {("r1", "Sales"), ("c1", "Sales")}
    assert {(field["name"], field["description"]) for visual in found for field in visual["fields"]} == {
        ("f.region", "region"),
        ("m.net", "net"),
        ("f.customer", "customer"),
    }
