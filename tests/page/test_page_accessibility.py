"""Contrast in both themes, names of controls, keyboard and phone."""

from pathlib import Path
from typing import Any, Literal
from urllib.parse import quote

import pytest
from playwright.sync_api import Page, expect

from tests.page.conftest import PHONE
from tests.page.page_reading import Opened, OpenedOnPhone, entries, find, focused, selected

STG_SALES = quote("dev|redshift://tickit-wh.us-east-1:5439|dev.tickit_staging.stg_sales")
VIEWS = {
    "overview": "#view=overview",
    "pipeline": f"#view=pipeline&band={quote('dev|tickit_ol')}&open={STG_SALES}",
    "groups": "#view=pipeline",
    "dataset": f"#dataset={STG_SALES}",
    "column": f"#dataset={STG_SALES}&column=pricepaid",
    "list": "#view=list",
}
_FUNCTIONS = (Path(__file__).parent / "accessibility.js").read_text(encoding="utf-8").partition("\n")[2]
SCHEMES: tuple[Literal["light", "dark"], ...] = ("light", "dark")


def check(page: Page, function: str) -> Any:
    return page.evaluate(f"() => {_FUNCTIONS.strip()}.{function}()")


def check_both_themes(page: Page) -> None:
    """Check contrast in both themes, and the names of controls."""
    for scheme in SCHEMES:
        page.emulate_media(color_scheme=scheme)
        assert (scheme, check(page, "contrast")) == (scheme, [])
    assert check(page, "controls") == []


@pytest.mark.parametrize("view", VIEWS)
def test_texts_have_contrast_and_controls_have_names(opened: Opened, captures: Path, view: str) -> None:
    check_both_themes(opened(captures, VIEWS[view]))


def test_contrast_is_measured(opened: Opened, captures: Path) -> None:
    page = opened(captures, "#view=list")
    page.evaluate("document.documentElement.style.setProperty('--quiet', '#c0c6cc')")
    assert any("19 datasets" in problem for problem in check(page, "contrast"))


def test_the_page_is_usable_by_keyboard_alone(opened: Opened, captures: Path) -> None:
    page = opened(captures)
    page.keyboard.press("/")
    page.keyboard.type("stg_sales")
    page.keyboard.press("Enter")
    assert (focused(page), selected(page)) == ("stg_sales", ["stg_sales"])
    page.keyboard.press("ArrowRight")
    assert focused(page) in {"fct_sales", "top_events_by_sales"}
    page.keyboard.press("Enter")
    assert selected(page) == [focused(page)]
    page.keyboard.press("f")
    expect(page.locator("#crumb h2")).to_contain_text("Lineage of")
    page.keyboard.press("Escape")
    page.keyboard.press("Escape")
    page.keyboard.press("o")
    for _ in range(60):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.matches('.band .open')"):
            break
    page.keyboard.press("Enter")
    assert page.locator("body").get_attribute("data-view") == "pipeline"


def test_results_are_announced(opened: Opened, captures: Path) -> None:
    page = opened(captures)
    said = page.locator("#said")
    page.locator("#search").fill("stg_sales")
    expect(said).to_contain_text("result")
    page.keyboard.press("Enter")
    expect(said).to_have_text("view stg_sales")
    page.keyboard.press("Escape")
    expect(said).to_have_text("nothing selected")


def test_a_phone_shows_the_list(phone: OpenedOnPhone, captures: Path) -> None:
    page = phone(captures)
    assert page.locator("body").get_attribute("data-view") == "list"
    assert entries(page)[:2] == ["sales_dashboard", "dim_people"]
    rows = [box["height"] for each in page.locator(".entry").all() if (box := each.bounding_box())]
    assert min(rows) >= 56
    assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]
    assert check(page, "targets") == []
    assert check(page, "contrast") == []
    page.locator(".show-more").first.click()
    assert len(entries(page)) > 30


def test_a_phone_answers_where_a_column_comes_from(phone: OpenedOnPhone, captures: Path) -> None:
    page = phone(captures)
    page.locator(".entry", has_text="fct_sales").first.tap()
    expect(page.locator("#panel h2")).to_have_text("fct_sales")
    assert check(page, "targets") == []
    page.locator("#panel [data-to-column]", has_text="net_amount").tap()
    expect(page.locator("#panel h2")).to_have_text("net_amount")
    expect(page.locator("#panel code").first).to_have_text("pricepaid - commission")
    assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]
    page.locator("#panel .close").tap()
    page.locator("#panel .close").tap()
    expect(page.locator("#listing")).to_be_visible()


def test_a_phone_has_jobs_and_filters(phone: OpenedOnPhone, captures: Path) -> None:
    page = phone(captures)
    page.locator("[data-listed='jobs']").tap()
    assert "tickit_sales_ingest" in entries(page)
    page.locator("[data-listed='filters']").tap()
    page.locator("#filter-environment").select_option("prod")
    assert page.locator("#listing section").count() == 1
    find(page, "fct_sales")
    expect(page.locator("#panel h2")).to_have_text("fct_sales")
