"""Contrast in both themes, names of controls, keyboard and phone."""

from importlib.resources import files
from pathlib import Path
from typing import Any, Literal
from urllib.parse import quote

import pytest
from playwright.sync_api import Page, expect

from tests.page import compared_page
from tests.page.conftest import PHONE
from tests.page.page_reading import Opened, OpenedOnPhone, entries, find, focused, selected

STG_SALES = quote("dev|redshift://tickit-wh.us-east-1:5439|dev.tickit_staging.stg_sales")
VIEWS = {
    "overview": "#view=overview",
    "pipeline": f"#view=pipeline&band={quote('dev|tickit_ol')}",
    "groups": "#view=pipeline",
    "dataset": f"#dataset={STG_SALES}&open={STG_SALES}",
    "column": f"#dataset={STG_SALES}&column=pricepaid",
    "list": "#view=list",
    "layer": f"#view=pipeline&band={quote('dev|tickit_ol')}&layer=tag",
    "layer_of_all": "#view=overview&layer=owner",
}
# The others have the same elements: a pipeline those of a dataset, its layer those of the layer of all.
VIEWS_FOR_AXE = ("overview", "groups", "dataset", "column", "list", "layer_of_all")
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
def test_texts_have_contrast_and_controls_have_names(shown: Opened, captures: Path, view: str) -> None:
    check_both_themes(shown(captures, VIEWS[view]))


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


def test_results_are_announced(shown: Opened, captures: Path) -> None:
    page = shown(captures)
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


AXE = (files("axe_playwright_python") / "axe.min.js").read_text(encoding="utf-8")
FINDINGS = """(part) => axe.run(part || document).then(({ violations }) => violations.map(
  ({ id, nodes }) => `${id}: ${nodes.map((node) => node.html.slice(0, 120)).slice(0, 3).join(" | ")}`))"""


def axe_findings(page: Page, part: str = "") -> list[str]:
    """Return what axe finds in the page as it is, or in a part of it (CSS selector)."""
    if not page.evaluate("'axe' in window"):
        page.evaluate(AXE)
    found: list[str] = page.evaluate(FINDINGS, part)
    return found


@pytest.mark.parametrize("view", VIEWS_FOR_AXE)
def test_axe_finds_nothing(shown: Opened, captures: Path, view: str) -> None:
    """In one theme: all that differs in the other is the contrast, which is measured in both."""
    assert axe_findings(shown(captures, VIEWS[view])) == []


def test_axe_finds_a_control_without_a_name(opened: Opened, captures: Path) -> None:
    page = opened(captures, "#view=list")
    page.evaluate("document.getElementById('search').labels[0].remove()")
    page.evaluate("document.getElementById('search').placeholder = ''")
    assert [finding.partition(":")[0] for finding in axe_findings(page, "header.bar")] == ["label"]


def test_axe_finds_nothing_in_what_opens(opened: Opened, tmp_path: Path) -> None:
    page = opened(compared_page.save(tmp_path))
    for what in ("filters", "export", "help"):
        page.locator(f"#{what}-button").click()
        expect(page.locator(f"#{what}")).to_be_visible()
        assert (what, axe_findings(page, f"#{what}")) == (what, [])
    page.keyboard.press("Escape")
    page.locator("#search").fill("or")
    assert axe_findings(page, "header.bar") == []
    page.keyboard.press("Escape")
    page.locator("#story [data-action='week']").click()
    assert axe_findings(page) == []


def test_axe_finds_nothing_on_a_phone(phone: OpenedOnPhone, captures: Path) -> None:
    page = phone(captures)
    assert axe_findings(page) == []
    page.locator(".entry", has_text="fct_sales").first.tap()
    assert axe_findings(page, "#panel") == []
