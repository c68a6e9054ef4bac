"""3,000 datasets: groups, limited numbers of boxes, response times."""

import time
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from lineage_merge.exporters.page import Options, render
from tests.page.page_graphs import large
from tests.page.page_reading import Opened, cards, selected

# The limit of time is generous, so that only a page that hangs fails.
MAX_BOXES = 130
MAX_SECONDS = 20.0


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    written = tmp_path_factory.mktemp("large") / "lineage.html"
    written.write_text(render(large(), Options(title="Large")), encoding="utf-8")
    return written


@pytest.fixture
def page(opened: Opened, file: Path) -> Page:
    started = time.monotonic()
    page = opened(file)
    assert time.monotonic() - started < MAX_SECONDS
    return page


def boxes(page: Page) -> int:
    found = page.locator(".card").count()
    assert 0 < found <= MAX_BOXES
    return found


def test_begins_with_groups_in_the_order_of_the_data(page: Page) -> None:
    assert cards(page) == ["calendar", "lake…", "mart…", "s3://raw", "staging…"]
    assert page.locator("#counts").text_content() == "1 dataset, 3,000 in 4 groups"


def test_groups_are_nested(page: Page) -> None:
    page.locator(".card", has_text="mart…").click()
    assert {"mart_00", "mart_24", "lake…"} <= set(cards(page))
    page.locator(".card", has_text="mart_03").click()
    assert {"mart_0003", "mart_0728"} <= set(cards(page))
    boxes(page)
    page.keyboard.press("Escape")
    page.keyboard.press("Escape")
    assert cards(page) == ["calendar", "lake…", "mart…", "s3://raw", "staging…"]


def test_the_number_of_boxes_is_limited(page: Page) -> None:
    for _ in range(8):
        boxes(page)
        page.locator(".card.group").first.click()
    boxes(page)


def test_search_shows_a_readable_lineage(page: Page) -> None:
    page.locator("#search").fill("mart_0100")
    page.keyboard.press("Enter")
    assert selected(page) == ["mart_0100"]
    # Three tables, which have three each, and the calendar behind some of these.
    assert {"lake_0100", "lake_0207", "lake_0314", "calendar"} <= set(cards(page))
    boxes(page)


def test_column_lineage_passes_groups(page: Page) -> None:
    page.locator("#search").fill("mart_0100#c0")
    page.keyboard.press("Enter")
    assert cards(page, ".is-up") == ["lake_0100", "raw_0100", "staging_0100"]


def test_the_lineage_of_a_hub_is_limited(page: Page) -> None:
    page.locator("#search").fill("calendar")
    page.keyboard.press("Enter")
    page.locator("#panel").get_by_role("button", name="Focus on its lineage").click()
    assert selected(page) == ["calendar"]
    assert boxes(page) < 60


def test_filters_and_grouping_by_dag(page: Page) -> None:
    page.locator("#grouping").select_option("dag")
    assert {"dag_00", "dag_11"} <= set(cards(page))
    page.locator("#filter-dag").select_option("dag_03")
    boxes(page)
    expect(page.locator("#counts")).to_contain_text("of 3,001")


def test_interactions_are_fast(page: Page) -> None:
    steps = ["nothing_like_it", "mart_0", "lake_01", "c1", "staging_0333"]
    started = time.monotonic()
    for text in steps:
        page.locator("#search").fill(text)
        page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    page.locator("#fit").click()
    assert time.monotonic() - started < MAX_SECONDS
