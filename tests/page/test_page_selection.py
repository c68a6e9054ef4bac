"""Filters, selection and history of the page."""

import pytest
from playwright.sync_api import Page, expect

from tests.page.page_graphs import WAREHOUSE, PageGraph, large
from tests.page.page_reading import Opened, card, cards, selected


@pytest.fixture
def two_jobs(opened: Opened) -> Page:
    """Two jobs that each write `c` from `a`, and one of them also `b`."""
    made = PageGraph()
    ids = {name: made.dataset(WAREHOUSE, f"dev.public.{name}", ("x",)) for name in "abc"}
    for job in ("first", "second"):
        made.feeds(ids["a"], ids["c"], job)
        made.feeds(ids["a"], ids["b"], job)
    return opened(made.graph())


@pytest.fixture
def two_environments(opened: Opened) -> Page:
    """The same pipeline in two environments, and a DAG beside it."""
    made = PageGraph()
    for environment in ("dev", "prod"):
        made.environment = environment
        ids = [made.dataset(WAREHOUSE, f"{environment}.public.{name}", ("x",)) for name in ("raw", "mart")]
        made.feeds(*ids, f"{environment}_job")
    return opened(made.graph())


def choose_job(page: Page, job: str) -> None:
    page.locator("#filter-job").fill(job)
    page.locator("#filter-job").press("Enter")


def lines(page: Page) -> list[str]:
    return sorted(page.locator("#lines .line > title").all_text_contents())


def dimmed(page: Page) -> list[str]:
    """Return the dimmed boxes, which are not in the lineage of the selection."""
    return [
        box.locator(".head .name").text_content() or ""
        for box in page.locator(".card").all()
        if box.locator(".head .name").evaluate("each => getComputedStyle(each).fontWeight") == "400"
    ]


def history_length(page: Page) -> int:
    """Return the number of entries of the history."""
    found: int = page.evaluate("history.length")
    return found


def test_a_line_shows_the_jobs_that_match_the_filter(two_jobs: Page) -> None:
    assert lines(two_jobs) == ["first, second", "first, second"]
    for job in ("first", "second", "first"):
        choose_job(two_jobs, job)
        assert lines(two_jobs) == [job, job]
        assert set(two_jobs.locator(".line .job").all_text_contents()) == {job}
        two_jobs.locator(".line .hit").first.dispatch_event("click")
        expect(two_jobs.locator("#panel summary")).to_have_text(f"{job} spark")


def test_a_selected_line_shows_the_job_after_the_filter_changes(two_jobs: Page) -> None:
    choose_job(two_jobs, "first")
    two_jobs.locator(".line .hit").first.dispatch_event("click")
    choose_job(two_jobs, "second")
    expect(two_jobs.locator("#panel summary")).to_have_text("second spark")


def test_a_selected_line_stays_the_same_line_when_a_filter_hides_others(two_environments: Page) -> None:
    page = two_environments
    page.locator(".line", has_text="prod_job").locator(".hit").dispatch_event("click")
    expect(page.locator("#panel summary")).to_have_text("prod_job spark")
    page.locator("#filter-environment").select_option("prod")
    expect(page.locator("#panel summary")).to_have_text("prod_job spark")
    assert page.locator(".line.is-selected").count() == 1


def test_hiding_the_selected_line_deselects_it(two_environments: Page) -> None:
    page = two_environments
    page.locator(".line", has_text="dev_job").locator(".hit").dispatch_event("click")
    expect(page.locator("#panel summary")).to_have_text("dev_job spark")
    page.locator("#filter-environment").select_option("prod")
    assert lines(page) == ["prod_job"]
    assert page.locator(".line.is-selected").count() == 0
    expect(page.locator("#panel")).to_be_hidden()


@pytest.mark.parametrize("column", [False, True])
def test_hiding_the_selection_dims_nothing(two_environments: Page, column: bool) -> None:
    page = two_environments
    box = card(page, "raw", "dev.public")
    box.locator(".toggle").click()
    (box.locator(".column") if column else box.locator(".head")).first.click()
    assert dimmed(page) != []
    page.locator("#filter-environment").select_option("prod")
    assert cards(page) == ["mart", "raw"]
    assert dimmed(page) == []
    assert selected(page) == []
    expect(page.locator("#panel")).to_be_hidden()
    # The step before is still there.
    page.go_back()
    assert dimmed(page) != []


def test_a_link_with_a_hidden_selection_dims_nothing(opened: Opened) -> None:
    made = PageGraph()
    ids = [made.dataset(WAREHOUSE, f"dev.public.{name}", label=name) for name in ("table", "view")]
    made.feeds(*ids)
    page = opened(made.graph(), f"#dataset={ids[0]}&label=view")
    assert cards(page) == ["view"]
    assert dimmed(page) == []


def test_a_visible_selection_is_retained(two_environments: Page) -> None:
    page = two_environments
    card(page, "raw", "dev.public").locator(".head").click()
    page.locator("#filter-environment").select_option("dev")
    assert selected(page) == ["raw"]
    assert dimmed(page) == []


def test_opening_a_group_is_one_step_back(opened: Opened) -> None:
    page = opened(large())
    for _ in range(6):
        before, steps_before = cards(page), history_length(page)
        page.locator(".card.group").first.click()
        assert cards(page) != before
        assert history_length(page) == steps_before + 1
    page.go_back()
    assert cards(page) == before
