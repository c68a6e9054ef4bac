"""Questions through dbt's semantic layer: from a raw column to the dashboard that shows a metric of it."""

import pytest

from lineage_merge.graph_format.elements import edge_of_row, vertex_of_row
from lineage_merge.questions.backends.in_memory import InMemory
from lineage_merge.questions.formats.diagrams import dot, mermaid
from lineage_merge.questions.formats.graphml import graphml
from lineage_merge.questions.formats.tree import tree
from lineage_merge.questions.traversal.impact import impact
from lineage_merge.questions.traversal.lineage import lineage
from tests.dbt_shop import PROJECT, TABLES, graph


@pytest.fixture(scope="module")
def shop() -> InMemory:
    found = graph()
    return InMemory(map(vertex_of_row, found.nodes), map(edge_of_row, found.edges))


def short(identifier: str) -> str:
    return identifier.removeprefix(TABLES).removeprefix(PROJECT)


def test_the_impact_of_a_raw_column_reaches_metrics_and_the_dashboard(shop: InMemory) -> None:
    (column,) = shop.vertices([f"{TABLES}main_raw.raw_orders|amount"])
    found = impact(shop, column)
    assert {short(each.id) for each in found.exposures} == {"revenue_dashboard", "churn_notebook"}
    assert {short(each.id) for each in found.datasets} == {
        "main.stg_orders",
        "main.orders",
        "semantic_model.orders",
        "metric.revenue",
        "metric.revenue_per_order",
        "metric.double_revenue",
        "metric.revenue_to_date",
        "saved_query.monthly_revenue",
    }
    assert {each.name for each in found.jobs} == {"model.shop.stg_orders", "model.shop.orders"}


def test_upstream_of_a_dashboard_passes_the_semantic_layer_and_no_tests(shop: InMemory) -> None:
    (dashboard,) = shop.vertices([f"{PROJECT}revenue_dashboard"])
    found = lineage(shop, dashboard, "up")
    assert {short(each.id) for each in found.datasets} == {
        "revenue_dashboard",
        "metric.revenue_per_order",
        "metric.revenue",
        "metric.orders",
        "semantic_model.orders",
        "main.orders",
        "main.stg_orders",
        "main.customers_v2",
        "main.stg_customers",
        "main_raw.raw_orders",
        "main_raw.raw_customers",
    }
    lines = str(tree(found, [dashboard.id], "up"))
    for text in (mermaid(found), dot(found), graphml(found), lines):
        assert "revenue_per_order" in text
