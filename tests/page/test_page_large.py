"""3,000 datasets: groups, limited numbers of boxes and elements; `benchmarks/page.py` measures the times."""

import re
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.page.page_reading import Opened, cards, choose_filter, click_in_graph, find, selected, show

MAX_BOXES = 130
MAX_ELEMENTS = 2500


@pytest.fixture
def page(shown: Opened, large_page: Path) -> Page:
    return shown(large_page)


def boxes(page: Page) -> int:
    found = page.locator(".card").count()
    assert 0 < found <= MAX_BOXES
    return found


def test_begins_with_the_pipelines(opened: Opened, large_page: Path) -> None:
    page = opened(large_page)
    # Twelve DAGs, and the one whose job writes from the calendar.
    expect(page.locator("#sidebar [data-to-band]")).to_have_count(13)
    assert set(page.locator(".band h2").all_text_contents()) >= {"dag_00", "dag_01"}
    assert page.locator("#counts").text_content() == "3,001 datasets"
    assert page.locator("*").count() < MAX_ELEMENTS

    # Those below the window are drawn on the scroll.
    drawn = page.locator(".band").count()
    assert drawn < 13
    # A fast scroll: the window is at the end again before the browser has painted what was drawn.
    page.locator("#overview").evaluate(
        """overview => {
          const toEnd = () => overview.scrollTo(0, overview.scrollHeight);
          new MutationObserver(toEnd).observe(overview, { childList: true, subtree: true });
          toEnd();
        }"""
    )
    expect(page.locator(".band")).to_have_count(13)


def test_groups_are_nested(shown: Opened, large_page: Path) -> None:
    page = shown(large_page, "#view=pipeline")
    assert cards(page) == ["calendar", "lake…", "mart…", "s3://raw", "staging…"]
    assert page.locator("#counts").text_content() == "3,001 datasets; 3,000 in 4 groups"
    click_in_graph(page.locator(".card", has_text="mart…"))
    assert {"mart_00", "mart_24", "lake…"} <= set(cards(page))
    click_in_graph(page.locator(".card", has_text="mart_03").first)
    assert {"mart_0003", "mart_0728"} <= set(cards(page))
    boxes(page)
    page.keyboard.press("Escape")
    page.keyboard.press("Escape")
    assert cards(page) == ["calendar", "lake…", "mart…", "s3://raw", "staging…"]


def test_the_number_of_boxes_is_limited(page: Page) -> None:
    page.locator(".band .open").first.click()
    for _ in range(8):
        boxes(page)
        group = page.locator(".card.group:not(.is-outside)").first
        if group.count():
            click_in_graph(group)
    boxes(page)


def test_search_shows_a_readable_lineage(page: Page) -> None:
    find(page, "mart_0100")
    assert selected(page) == ["mart_0100"]
    # Three tables, which have three each, and the calendar behind some of these.
    assert {"lake_0100", "lake_0207", "lake_0314", "calendar"} <= set(cards(page))
    boxes(page)


def test_column_lineage_passes_groups(page: Page) -> None:
    find(page, "mart_0100#c0")
    chain = page.locator(".card.chain .column .name").all_text_contents()
    assert chain == ["raw_0100", "staging_0100", "lake_0100"]
    assert cards(page, ".is-start") == ["mart_0100"]


def test_the_lineage_of_a_hub_is_limited(page: Page) -> None:
    find(page, "calendar")
    assert selected(page) == ["calendar"]
    assert boxes(page) < 60


def test_filters_and_grouping(page: Page) -> None:
    choose_filter(page, "dag", "dag_03")
    expect(page.locator("#counts")).to_have_text(re.compile("^2[0-9]{2} of 3,001 datasets$"))
    show(page, "pipeline")
    boxes(page)
    show(page, "list")
    assert page.locator("#listing .entry").count() < MAX_BOXES
