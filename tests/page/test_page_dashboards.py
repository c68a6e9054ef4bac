"""Dashboards that their tool describes: their columns are visuals, and they are not of dbt."""

from pathlib import Path

import pytest
from playwright.sync_api import expect

from lineage_merge.exporters.page import Options, render
from tests.page.page_graphs import WAREHOUSE, PageGraph
from tests.page.page_reading import Opened, card, columns


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    graph = PageGraph()
    sales = graph.dataset(WAREHOUSE, "dev.public.sales", ("amount",))
    board = graph.dataset(
        "superset://bi.example.com",
        "dashboard/1",
        ("Total", "By country"),
        "exposure",
        exposure_type="dashboard",
        url="https://bi.example.com/superset/dashboard/1/",
    )
    declared = graph.dataset("dbt://shop", "weekly", (), "exposure", exposure_type="dashboard")
    quicksight = "arn:aws:quicksight:eu-west-1:111122223333"
    sheet = graph.dataset(quicksight, "dashboard/2", ("Map",), "exposure", exposure_type="dashboard")
    for target in (board, declared, sheet):
        graph.feeds(sales, target)
    graph.column_feeds((sales, "amount"), (board, "Total"))
    written = tmp_path_factory.mktemp("dashboards") / "lineage.html"
    written.write_text(render(graph.graph(), Options()), encoding="utf-8")
    return written


def test_the_columns_of_a_dashboard_are_visuals(shown: Opened, file: Path) -> None:
    page = shown(file, "#view=pipeline")
    board = card(page, "1")
    expect(board.locator(".toggle")).to_have_text("2 vis ▸")

    board.locator(".toggle").click()

    assert columns(board) == ["Total", "By country"]


@pytest.mark.parametrize(
    ("name", "tool"), [("1", "Superset"), ("weekly", "dbt exposure"), ("2", "QuickSight")]
)
def test_a_dashboard_is_of_its_tool(name: str, tool: str, shown: Opened, file: Path) -> None:
    page = shown(file, "#view=pipeline")

    expect(card(page, name)).to_contain_text(tool)
