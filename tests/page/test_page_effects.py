"""The effect of changes on dashboards in the summary of a comparison, in Chromium."""

from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.page import compared_page, effects_page
from tests.page.conftest import PHONE
from tests.page.effects_page import joined, loaded, shop
from tests.page.page_reading import Opened, OpenedOnPhone, cards, entries, selected
from tests.page.test_page_accessibility import check, check_both_themes

COMPARED = f"#compare={effects_page.FIRST}"
RAW, ORDERS = "s3://shop-raw/orders", "dev.marts.orders"
TITLE = "Effect on dashboards"


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return effects_page.save(tmp_path_factory.mktemp("effects"), shop(after=False), shop(after=True))


def effects(page: Page) -> dict[str, tuple[str, ...]]:
    """The affected dashboards with what is written of each."""
    section = page.locator("#changes section", has=page.get_by_role("heading", name=TITLE))
    expect(section).to_have_count(1)
    return {
        item.locator(".item .title").text_content() or "": (
            *item.locator(".mark").all_text_contents(),
            *item.locator(".was").all_text_contents(),
        )
        for item in section.locator("li").all()
    }


def test_dashboards_downstream_of_changes_are_listed_with_their_traces(shown: Opened, file: Path) -> None:
    page = shown(file, COMPARED)
    assert effects(page) == {
        "sales_dashboard": ("changed upstreamdev.marts.orders", "now traces back tos3://shop-raw/fx"),
        "new_dashboard": ("+ added",),
        "stock_dashboard": ("no longer traces back tos3://shop-raw/stock",),
    }
    heading = page.get_by_role("heading", name=TITLE)
    assert heading.text_content() == f"{TITLE}3 of 5"


def test_the_type_of_a_column_affects_what_is_computed_from_it(opened: Opened, tmp_path: Path) -> None:
    after = shop(after=False).column(effects_page.ORDERS, "amount", data_type="decimal(18,2)")
    page = opened(effects_page.save(tmp_path, shop(after=False), after), COMPARED)
    assert effects(page) == {"sales_dashboard": (f"changed upstream{ORDERS}",)}


def test_a_new_condition_affects_all_rows(opened: Opened, tmp_path: Path) -> None:
    page = opened(effects_page.save(tmp_path, joined(after=False), joined(after=True)), COMPARED)
    lines = ("changed upstreamdev.marts.orders", "now traces back tos3://shop-raw/fx")
    assert effects(page) == {"sales_dashboard": lines, "customer_dashboard": lines}


@pytest.mark.parametrize(
    ("is_added", "lines"),
    [
        (True, {f"now traces back to{RAW}", f"before, the trace ended at{ORDERS}"}),
        (False, {f"no longer traces back to{RAW}", f"now the trace ends at{ORDERS}"}),
    ],
)
def test_a_trace_becomes_longer_or_shorter(
    opened: Opened, tmp_path: Path, is_added: bool, lines: set[str]
) -> None:
    before, after = loaded(after=not is_added), loaded(after=is_added)
    page = opened(effects_page.save(tmp_path, before, after), COMPARED)
    assert {key: set(value) for key, value in effects(page).items()} == {
        "sales_dashboard": lines | {f"changed upstream{ORDERS}"}
    }


def test_an_affected_dashboard_is_selected_though_it_is_not_drawn(shown: Opened, file: Path) -> None:
    page = shown(file, COMPARED)
    assert "sales_dashboard" not in cards(page)
    page.locator("#changes .item", has_text="sales_dashboard").click()
    assert selected(page) == ["sales_dashboard"]
    expect(page.locator("#panel h2")).to_have_text("sales_dashboard")
    page.go_back()
    page.go_back()
    assert "sales_dashboard" not in cards(page)
    assert "sales_dashboard" in effects(page)


def test_an_owner_has_no_effect(opened: Opened, tmp_path: Path) -> None:
    after = shop(after=False).node(effects_page.PEOPLE, owners=["ben"])
    page = opened(effects_page.save(tmp_path, shop(after=False), after), COMPARED)
    assert effects(page) == {}
    assert page.get_by_role("heading", name=TITLE).text_content() == f"{TITLE}0 of 4"


def test_a_page_without_dashboards_has_no_such_section(opened: Opened, tmp_path: Path) -> None:
    page = opened(compared_page.save(tmp_path), f"#compare={compared_page.KEYS[0]}")
    expect(page.locator("#panel h2")).to_have_text("What changed")
    assert page.get_by_role("heading", name=TITLE).count() == 0


def test_the_section_has_contrast_and_names(shown: Opened, file: Path) -> None:
    page = shown(file, COMPARED)
    page.get_by_role("heading", name=TITLE).scroll_into_view_if_needed()
    check_both_themes(page)


def test_the_section_on_a_phone(phone: OpenedOnPhone, file: Path) -> None:
    page = phone(file, COMPARED)
    page.locator("#moments [data-action='changes']").tap()
    assert set(effects(page)) == {"sales_dashboard", "new_dashboard", "stock_dashboard"}
    assert check(page, "targets") == []
    assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]
    page.locator("#changes .item", has_text="sales_dashboard").last.tap()
    expect(page.locator("#panel h2")).to_have_text("sales_dashboard")
    assert "sales_dashboard" in entries(page)
