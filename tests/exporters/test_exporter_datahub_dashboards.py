"""Dashboards of BI tools in DataHub: charts with the columns that they show, as its library reads them."""

from pathlib import Path
from typing import Any

import pytest

from lineage_merge.questions.backends.folder import read_folder
from lineage_merge.questions.graph import LineageGraph
from tests.exporters.datahub_reading import Aspects, exported, of_kind
from tests.graph_folder import write_folder
from tests.sources.quicksight.made_definitions import sales_board

DASHBOARD = "urn:li:dashboard:(quicksight,sales_board)"
REGIONS, CUSTOMERS = (f"urn:li:chart:(quicksight,sales_board.{visual})" for visual in ("r1", "c1"))
DATA_SET = "urn:li:dataset:(urn:li:dataPlatform:quicksight,dataset/sales,PROD)"


def graph_of(folder: Path, rows: tuple[list[Any], list[Any]]) -> LineageGraph:
    return read_folder(write_folder(folder, *rows))


@pytest.fixture(scope="module")
def rows(tmp_path_factory: pytest.TempPathFactory) -> tuple[list[Any], list[Any]]:
    return sales_board(tmp_path_factory.mktemp("boards"))


@pytest.fixture(scope="module")
def aspects(rows: tuple[list[Any], list[Any]], tmp_path_factory: pytest.TempPathFactory) -> Aspects:
    return exported(graph_of(tmp_path_factory.mktemp("graph"), rows), tmp_path_factory.mktemp("datahub"))


def test_a_dashboard_has_its_charts_and_data_sets(aspects: Aspects) -> None:
    (info,) = of_kind(aspects, "dashboardInfo").values()
    assert aspects[DASHBOARD]["dashboardInfo"] is info
    assert (info.title, set(info.charts), info.datasets) == ("Sales", {REGIONS, CUSTOMERS}, [DATA_SET])


def test_the_input_fields_of_a_chart_are_the_columns_that_it_shows_and_is_filtered_by(
    aspects: Aspects,
) -> None:
    fields = aspects[REGIONS]["inputFields"].fields
    assert {
        (each.schemaFieldUrn, each.schemaField.fieldPath, each.schemaField.description) for each in fields
    } == {
        (f"urn:li:schemaField:({DATA_SET},{column})", column, expression)
        for column, expression in [
            ("region", None),
            ("state", None),
            ("amount", "sum(amount - tax)"),
            ("tax", "sum(amount - tax)"),
        ]
    }


def test_charts_have_a_title_a_type_and_their_sheet(aspects: Aspects) -> None:
    infos = {urn: aspects[urn]["chartInfo"] for urn in (REGIONS, CUSTOMERS)}
    assert {(info.title, info.type, info.customProperties["sheet"]) for info in infos.values()} == {
        ("Sales by region", "BAR", "Sheet s1"),
        ("Best customers", "TABLE", "Sheet s1"),
    }


def test_a_dashboard_is_no_output_of_a_job(aspects: Aspects) -> None:
    outputs = {urn for each in of_kind(aspects, "dataJobInputOutput").values() for urn in each.outputDatasets}
    assert not [urn for urn in outputs if "dashboard" in urn]
    assert not [urn for urn in aspects if urn.startswith("urn:li:dataset:") and "dashboard" in urn]


def test_a_chart_that_was_removed_from_a_dashboard_is_removed(
    rows: tuple[list[Any], list[Any]], tmp_path: Path
) -> None:
    nodes, edges = ([row for row in part if "|c1" not in str(row)] for part in rows)
    before, after = graph_of(tmp_path / "before", rows), graph_of(tmp_path / "after", (nodes, edges))
    found = exported(after, tmp_path, before=before)
    assert {urn for urn, status in of_kind(found, "status").items() if status.removed} == {CUSTOMERS}
    assert found[DASHBOARD]["dashboardInfo"].charts == [REGIONS]
