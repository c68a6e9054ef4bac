"""Freshness, tests and causes in the graph of a captured dbt project, and after a second invocation."""

import json
from pathlib import Path
from typing import Any

import pytest

from lineage_merge.graph_format.elements import Vertex, edge_of_row, vertex_of_row
from lineage_merge.query import Lineage
from lineage_merge.questions.backends.in_memory import InMemory
from lineage_merge.questions.traversal.causes import diagnose
from lineage_merge.questions.traversal.checks import all_checks, checks_upstream
from lineage_merge.questions.traversal.staleness import Expectations, freshness
from tests.dbt_shop import DATA, PROJECT, TABLES, graph, settings

HOUR = 3_600_000
# An hour after dbt wrote the manifest.
NOW = 1795394954855 + HOUR


def opened(**entry: Any) -> InMemory:
    found = graph(**entry)
    return InMemory(map(vertex_of_row, found.nodes), map(edge_of_row, found.edges))


@pytest.fixture(scope="module")
def shop() -> InMemory:
    return opened()


@pytest.fixture(scope="module")
def later(tmp_path_factory: pytest.TempPathFactory) -> InMemory:
    """The graph after a day: a model failed, and a test passed."""
    folder = tmp_path_factory.mktemp("later")
    added = [
        result_of("run", "model.shop.customers.v2", folder, status="error"),
        result_of(
            "test", "test.shop.positive_stg_orders_amount.009e0f2d06", folder, status="pass", failures=0
        ),
    ]
    return opened(run_results=[*settings()["dbt"][0]["run_results"], *added])


def result_of(command: str, unique_id: str, folder: Path, **result: Any) -> str:
    """Write a captured result of one node as that of the next day, with these values."""
    text = (DATA / f"run_results_{command}.json").read_text("utf-8")
    document = json.loads(text.replace("2026-11-23T", "2026-11-24T"))
    (found,) = (each for each in document["results"] if each["unique_id"] == unique_id)
    document["results"] = [found | result]
    document["metadata"]["invocation_id"] = f"next-{command}"
    file = folder / f"{command}.json"
    file.write_text(json.dumps(document), "utf-8")
    return str(file)


def short(identifier: str) -> str:
    return identifier.removeprefix(TABLES).removeprefix(PROJECT)


def dataset(shop: InMemory, name: str) -> Vertex:
    (found,) = shop.vertices([f"{TABLES}{name}"])
    return found


def freshness_rows(shop: InMemory, hours: int | None = None) -> set[tuple[str, str, tuple[str, ...], str]]:
    limit = None if hours is None else hours * HOUR
    return {
        (
            short(each.dataset.id),
            each.status,
            each.reasons,
            f"{each.because_of.distance} {short(each.because_of.dataset)}" if each.because_of else "",
        )
        for each in freshness(shop, Expectations(NOW, limit))
    }


def cause_rows(shop: InMemory, name: str) -> set[tuple[int, str, str, str]]:
    found = diagnose(shop, dataset(shop, name), Expectations(NOW))
    return {
        (each.distance, each.kind, short(each.dataset), each.finding.element.name) for each in found.causes
    }


STAGED = "main.stg_orders"
TESTS = {
    ("accepted_values_stg_orders_status__paid__returned", f"{STAGED}|status", "failed"),
    ("amounts_per_country_orders_", "main.orders", "passed"),
    ("every_customer_has_an_email", "main.stg_customers|email", "warned"),
    ("freshness.crm.customers", "main_raw.raw_customers", "failed"),
    ("freshness.crm.orders", "main_raw.raw_orders", "passed"),
    ("freshness.crm.unloaded", "main_raw.unloaded", ""),
    ("no_orders_of_unknown_customers", "main.stg_customers", "failed"),
    ("no_orders_of_unknown_customers", STAGED, "failed"),
    ("not_null_stg_customers_customer_id", "main.stg_customers|customer_id", "passed"),
    ("only_paid_orders", "main.orders", "error"),
    ("positive_stg_orders_amount", f"{STAGED}|amount", "failed"),
    (
        "relationships_stg_orders_customer_id__customer_id__ref_stg_customers_",
        f"{STAGED}|customer_id",
        "failed",
    ),
    ("source_not_null_crm_customers_customer_id", "main_raw.raw_customers|customer_id", "passed"),
    ("unique_orders_order_id", "main.orders|order_id", "passed"),
    # A test of the ephemeral model `paid_orders`, which reads `stg_orders`.
    ("unique_paid_orders_order_id", "main.stg_orders", "passed"),
    ("unique_stg_customers_customer_id", "main.stg_customers|customer_id", "passed"),
}
OF_CUSTOMERS = ("stale", ("stale_upstream",), "2 main_raw.raw_customers")
FRESHNESS = {
    ("main_raw.raw_customers", "stale", ("freshness_check",), ""),
    ("main_raw.raw_orders", "fresh", (), ""),
    ("main_raw.unloaded", "unknown", ("no_known_update",), ""),
    ("main.days", "current", (), ""),
    ("main.stg_orders", "fresh", (), ""),
    ("main.stg_customers", "stale", ("stale_upstream",), "1 main_raw.raw_customers"),
    ("main_history.customers_history", *OF_CUSTOMERS),
    ("main.customers_v1", *OF_CUSTOMERS),
    ("main.customers_v2", *OF_CUSTOMERS),
    # dbt checked the source after it had built the model, and its newest row is that of the check.
    ("main.orders", "stale", ("newer_input", "stale_upstream"), "2 main_raw.raw_orders"),
    ("semantic_model.orders", "stale", ("stale_upstream",), "1 main.orders"),
    ("churn_notebook", "stale", ("stale_upstream",), "1 main.orders"),
    ("metric.orders", "stale", ("stale_upstream",), "2 main.orders"),
    ("metric.revenue", "stale", ("stale_upstream",), "2 main.orders"),
    ("metric.revenue_to_date", "stale", ("stale_upstream",), "2 main.orders"),
    ("metric.revenue_per_order", "stale", ("stale_upstream",), "3 main.orders"),
    ("metric.double_revenue", "stale", ("stale_upstream",), "3 main.orders"),
    ("saved_query.monthly_revenue", "stale", ("stale_upstream",), "3 main.orders"),
    ("revenue_dashboard", "stale", ("stale_upstream",), "3 main_raw.raw_customers"),
}
CAUSES = {
    (0, "failed_test", "main.orders", "only_paid_orders"),
    (1, "failed_test", STAGED, "accepted_values_stg_orders_status__paid__returned"),
    (1, "failed_test", STAGED, "no_orders_of_unknown_customers"),
    (1, "failed_test", STAGED, "positive_stg_orders_amount"),
    (1, "failed_test", STAGED, "relationships_stg_orders_customer_id__customer_id__ref_stg_customers_"),
    (2, "late_write", "main_raw.raw_orders", "raw_orders"),
    (2, "failed_test", "main.stg_customers", "every_customer_has_an_email"),
    (3, "stale_source", "main_raw.raw_customers", "freshness.crm.customers"),
}


def test_the_freshness_of_all_datasets(shop: InMemory) -> None:
    assert freshness_rows(shop) == FRESHNESS


def test_all_tests_have_their_results(shop: InMemory) -> None:
    checks = all_checks(shop, "dev").checks
    assert {(each.assertion.name, short(each.checked.id), each.status) for each in checks} == TESTS


def test_datasets_upstream_of_a_mart_without_tests(shop: InMemory) -> None:
    found = checks_upstream(shop, dataset(shop, "main.orders"))
    assert [short(each.id) for each in found.unchecked] == ["main.customers_v2"]
    assert {short(each.dataset) for each in found.checks} == {
        "main.orders",
        "main.stg_orders",
        "main.stg_customers",
        "main_raw.raw_orders",
        "main_raw.raw_customers",
    }


def test_the_causes_at_and_upstream_of_a_mart(shop: InMemory) -> None:
    assert cause_rows(shop, "main.orders") == CAUSES


def test_an_exposure_has_the_causes_of_what_it_shows(shop: InMemory) -> None:
    (dashboard,) = shop.vertices([f"{PROJECT}churn_notebook"])
    found = {
        (each.distance - 1, each.kind, short(each.dataset), each.finding.element.name)
        for each in diagnose(shop, dashboard, Expectations(NOW)).causes
    }
    # The late write is that of an input of the mart: its job did not run since.
    missed = (0, "missing_run", "main.orders", "model.shop.orders")
    assert found == CAUSES - {(2, "late_write", "main_raw.raw_orders", "raw_orders")} | {missed}


def test_a_second_invocation_changes_only_what_it_ran(shop: InMemory, later: InMemory) -> None:
    assert FRESHNESS ^ freshness_rows(later) == {
        ("main.customers_v2", *OF_CUSTOMERS),
        ("main.customers_v2", "stale", ("stale_upstream", "failed_run"), "2 main_raw.raw_customers"),
    }
    checks = all_checks(later, "dev").checks
    assert TESTS ^ {(each.assertion.name, short(each.checked.id), each.status) for each in checks} == {
        ("positive_stg_orders_amount", f"{STAGED}|amount", "failed"),
        ("positive_stg_orders_amount", f"{STAGED}|amount", "passed"),
    }
    assert CAUSES ^ cause_rows(later, "main.orders") == {
        (1, "failed_test", STAGED, "positive_stg_orders_amount"),
        (1, "failed_run", "main.customers_v2", "model.shop.customers.v2"),
    }
    for name in ("main.days", "main.customers_v1", "main_history.customers_history"):
        assert cause_rows(shop, name) == cause_rows(later, name)


def test_jobs_are_selected_by_time_and_status_and_sorted(shop: InMemory, later: InMemory) -> None:
    def names(found: InMemory, **options: Any) -> list[str]:
        return [each.name.partition(".shop.")[2] for each in Lineage.of_graph(found).jobs(**options).jobs]

    assert names(shop, failed=True) == []
    assert names(later, failed=True) == ["customers.v2"]
    # The three models that ended last, and none without a known run.
    assert names(shop, since=1795394920188) == ["customers.v1", "customers.v2", "orders"]
    assert names(shop, order="duration", limit=3) == ["customers.v1", "customers_history", "days"]
    assert names(shop, order="last-run")[:3] == ["orders", "customers.v2", "customers.v1"]
    assert set(names(shop, order="last-run")[-2:]) == {"raw_customers", "raw_orders"}
    assert names(shop, order="name", search="stg") == ["stg_customers", "stg_orders"]
