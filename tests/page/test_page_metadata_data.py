"""Owners, tags, tests and freshness in the page's data."""

import json
from typing import Any

from lineage_merge.exporters.page import Options, render
from lineage_merge.exporters.page.data import page_data
from lineage_merge.exporters.page.selection import neighborhood
from tests.page import shop_page
from tests.page.page_graphs import WAREHOUSE, PageGraph

RELATIONSHIP = "relationships_stg_orders_customer_id__customer_id__ref_stg_customers_"
# From the project's models/*.yml and the results of `dbt test`: test, status, failing rows, what it checks.
TESTS = {
    ("accepted_values_stg_orders_status__paid__returned", "failed", 1, "stg_orders#status"),
    ("amounts_per_country_orders_", "passed", 0, "orders"),
    ("every_customer_has_an_email", "warned", 1, "stg_customers#email"),
    ("freshness.crm.customers", "failed", None, "raw_customers"),
    ("freshness.crm.orders", "passed", None, "raw_orders"),
    ("freshness.crm.unloaded", "", None, "unloaded"),
    ("no_orders_of_unknown_customers", "failed", 1, "stg_customers"),
    ("no_orders_of_unknown_customers", "failed", 1, "stg_orders"),
    ("not_null_stg_customers_customer_id", "passed", 0, "stg_customers#customer_id"),
    ("only_paid_orders", "error", None, "orders"),
    ("positive_stg_orders_amount", "failed", 1, "stg_orders#amount"),
    (RELATIONSHIP, "failed", 1, "stg_orders#customer_id"),
    ("source_not_null_crm_customers_customer_id", "passed", 0, "raw_customers#customer_id"),
    ("unique_orders_order_id", "passed", 0, "orders#order_id"),
    # Of an ephemeral model: it checks what the model reads.
    ("unique_paid_orders_order_id", "passed", 0, "stg_orders"),
    ("unique_stg_customers_customer_id", "passed", 0, "stg_customers#customer_id"),
}


def checks_of(data: dict[str, Any]) -> set[tuple[str, str, int | None, str]]:
    """Return name, status, failing rows and what is checked, of each check."""
    found = set()
    for name, _, _, status, failures, _, checks, *_ in data["assertions"]:
        for dataset, column in checks:
            at = data["datasets"][dataset]
            what = at["name"] if column < 0 else f"{at['name']}#{at['columns'][column][0]}"
            found.add((name, status, failures, what))
    return found


def test_the_page_has_the_tests_of_a_dbt_project() -> None:
    assert checks_of(page_data(shop_page.shop())) == TESTS


def test_a_test_has_its_facts() -> None:
    data = page_data(shop_page.shop())
    rows = {row[0]: row for row in data["assertions"]}
    email = rows["every_customer_has_an_email"]
    assert email[1:4] == ["not_null", "warn", "warned"]
    assert {("owners", "crm@example.com"), ("tags", "contact\npii"), ("DAG", "daily")} <= set(
        map(tuple, email[7])
    )
    assert ["compared with", "shop.main.stg_customers#customer_id"] in rows[RELATIONSHIP][7]
    loaded, warns, fails = rows["freshness.crm.customers"][8]
    assert (loaded, warns, fails) == (1795154400000, 12 * 3_600_000, 24 * 3_600_000)


def test_the_neighborhood_of_a_dataset_has_its_tests() -> None:
    _, found = neighborhood(shop_page.graph(), "shop.main_raw.raw_customers", 1)
    names = {name for name, *_ in checks_of(page_data(found))}
    assert names == {each[0] for each in TESTS if each[3].split("#")[0] in ("raw_customers", "stg_customers")}


def test_columns_without_facts_take_no_space() -> None:
    made = PageGraph()
    made.dataset(WAREHOUSE, "dev.public.one", ("a", "b"))
    data = page_data(made.graph())
    assert data["datasets"][0]["columns"] == [["a", "int", ""], ["b", "int", ""]]
    assert data["assertions"] == []


def test_no_password_of_owners_tags_tests_and_links_reaches_the_page() -> None:
    made = PageGraph()
    secret = "https://u:hunter2@h/x?password=hunter2"  # not a real one
    dataset = made.dataset(
        WAREHOUSE,
        "dev.public.one",
        ("a",),
        owners=(secret,),
        tags=(secret,),
        url=secret,
        meta=json.dumps({"password": "hunter2", "wiki": secret}),
        constraints=(f"check (a <> '{secret}')",),
        file_path=secret,
    )
    made.check(
        secret,
        dataset,
        description=secret,
        column_name=f"concat('{secret}', a)",
        owners=(secret,),
        tags=(secret,),
    )
    made.job("load", owners=(secret,), tags=(secret,))
    assert "hunter2" not in render(made.graph(), Options())
