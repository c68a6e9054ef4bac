"""3,000 datasets: groups at first, never all boxes at once, and quick enough to use."""

import time
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from lineage_merge.exporters.page import Options, render
from tests.page.made_pages import large
from tests.page.seeing import Opened, cards, selected

# A screen full; and many times what each takes, so that only a page that hangs fails.
MOST_BOXES = 130
PATIENCE = 20.0


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    written = tmp_path_factory.mktemp("large") / "lineage.html"
    written.write_text(render(large(), Options(title="Large")), encoding="utf-8")
    return written


@pytest.fixture
def page(opened: Opened, file: Path) -> Page:
    started = time.monotonic()
    page = opened(file)
    assert time.monotonic() - started < PATIENCE
    return page


def boxes(page: Page) -> int:
    found = page.locator(".card").count()
    assert 0 < found <= MOST_BOXES
    return found


def test_begins_with_groups_in_the_order_of_the_data(page: Page) -> None:
    assert cards(page) == ["calendar", "lake…", "mart…", "s3://raw", "staging…"]
    assert page.locator("#counts").text_content() == "1 dataset, 3,000 in 4 groups"


def test_groups_open_one_in_the_other_and_close(page: Page) -> None:
    page.locator(".card", has_text="mart…").click()
    assert {"mart_00", "mart_24", "lake…"} <= set(cards(page))
    page.locator(".card", has_text="mart_03").click()
    assert {"mart_0003", "mart_0728"} <= set(cards(page))
    boxes(page)
    page.keyboard.press("Escape")
    page.keyboard.press("Escape")
    assert cards(page) == ["calendar", "lake…", "mart…", "s3://raw", "staging…"]


def test_opening_everything_never_draws_everything(page: Page) -> None:
    for _ in range(8):
        boxes(page)
        page.locator(".card.group").first.click()
    boxes(page)


def test_search_leads_to_a_lineage_that_can_be_read(page: Page) -> None:
    page.locator("#search").fill("mart_0100")
    page.keyboard.press("Enter")
    assert selected(page) == ["mart_0100"]
    # Three tables, which have three each, and the calendar behind some of these.
    assert {"lake_0100", "lake_0207", "lake_0314", "calendar"} <= set(cards(page))
    boxes(page)


def test_a_column_is_followed_through_groups(page: Page) -> None:
    page.locator("#search").fill("mart_0100#c0")
    page.keyboard.press("Enter")
    assert cards(page, ".is-up") == ["lake_0100", "raw_0100", "staging_0100"]


def test_a_hub_does_not_become_a_hairball(page: Page) -> None:
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


def test_every_step_is_quick_enough(page: Page) -> None:
    steps = ["nothing_like_it", "mart_0", "lake_01", "c1", "staging_0333"]
    started = time.monotonic()
    for text in steps:
        page.locator("#search").fill(text)
        page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    page.locator("#fit").click()
    assert time.monotonic() - started < PATIENCE
