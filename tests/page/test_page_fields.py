"""Fields are folded under their column; a trace runs through them."""

from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from lineage_merge.exporters.page import Options, render
from lineage_merge.model.elements import field_path
from tests.page.page_graphs import PageGraph
from tests.page.page_reading import Opened, card, columns


def made() -> PageGraph:
    """``crm.customer -> users.whole``, ``whole.email -> mart.mail``, ``customer.city -> places.city``."""
    graph = PageGraph()
    crm, users, mart, places = (
        graph.dataset("s3://b", name, held, "file")
        for name, held in (
            ("crm", ("id", "customer")),
            ("users", ("whole",)),
            ("mart", ("mail",)),
            ("places", ("city",)),
        )
    )
    for number in range(500):
        graph.field(crm, "customer", f"f{number:03d}")
    graph.field(crm, "customer", "city")
    graph.field(users, "whole", "email")
    for source, target in ((crm, users), (users, mart), (crm, places)):
        graph.feeds(source, target)
    graph.column_feeds((crm, "customer"), (users, "whole"))
    graph.column_feeds((users, field_path("whole", "email")), (mart, "mail"))
    graph.column_feeds((crm, field_path("customer", "city")), (places, "city"))
    return graph


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    written = tmp_path_factory.mktemp("fields") / "lineage.html"
    written.write_text(render(made().graph(), Options()), encoding="utf-8")
    return written


def traced(page: Page) -> dict[str, list[str]]:
    names = page.locator("#world .card .head .name").all_inner_texts()
    return {name: columns(card(page, name)) for name in names}


def test_fields_are_folded_under_their_column(shown: Opened, file: Path) -> None:
    page = shown(file, "#view=pipeline")
    crm = card(page, "crm")
    expect(crm.locator(".toggle")).to_have_text("2 col ▸")
    crm.locator(".toggle").click()
    assert columns(crm) == ["id", "customer"]
    crm.locator(".fold").click()
    assert columns(crm)[:4] == ["id", "customer", "city", "f000"]
    expect(crm.locator(".column")).to_have_count(60)
    expect(crm.locator(".more")).to_have_text("443 more columns")
    crm.locator(".fold").click()
    assert columns(crm) == ["id", "customer"]


def test_a_trace_runs_through_fields(shown: Opened, file: Path) -> None:
    page = shown(file, "#dataset=dev%7Cs3%3A%2F%2Fb%7Cmart&column=mail")
    assert traced(page) == {"crm": ["customer.email"], "users": ["whole.email"], "mart": ["mail"]}


def test_a_column_covers_its_fields(shown: Opened, file: Path) -> None:
    page = shown(file, "#dataset=dev%7Cs3%3A%2F%2Fb%7Ccrm&column=customer")
    assert traced(page) == {
        "crm": ["customer", "customer.city"],
        "users": ["whole", "whole.email"],
        "mart": ["mail"],
        "places": ["city"],
    }


def test_a_field_reaches_only_what_reads_it(shown: Opened, file: Path) -> None:
    page = shown(file, "#dataset=dev%7Cs3%3A%2F%2Fb%7Ccrm&column=customer.city")
    assert traced(page) == {"crm": ["customer.city"], "users": ["whole.city"], "places": ["city"]}
