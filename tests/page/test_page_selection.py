"""Filters, selection and history of the page."""

from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from lineage_merge.exporters.page import Options, render
from tests.page.page_graphs import WAREHOUSE, PageGraph, large
from tests.page.page_reading import (
    Opened,
    card,
    cards,
    choose_filter,
    click_in_graph,
    entries,
    eventually,
    find,
    selected,
    show,
)


def saved(made: PageGraph, factory: pytest.TempPathFactory) -> Path:
    file = factory.mktemp("selection") / "lineage.html"
    file.write_text(render(made.graph(), Options()), encoding="utf-8")
    return file


@pytest.fixture(scope="module")
def two_jobs_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = PageGraph()
    ids = {name: made.dataset(WAREHOUSE, f"dev.public.{name}", ("x",)) for name in "abc"}
    for job in ("first", "second"):
        made.feeds(ids["a"], ids["c"], job)
        made.feeds(ids["a"], ids["b"], job)
    return saved(made, tmp_path_factory)


@pytest.fixture
def two_jobs(shown: Opened, two_jobs_file: Path) -> Page:
    """Two jobs that each write `c` and `b` from `a`."""
    return shown(two_jobs_file, "#view=pipeline")


@pytest.fixture(scope="module")
def two_environments_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = PageGraph()
    for environment in ("dev", "prod"):
        made.environment = environment
        raw, mart = (
            made.dataset(WAREHOUSE, f"{environment}.public.{name}", ("x",)) for name in ("raw", "mart")
        )
        made.feeds(raw, mart, f"{environment}_job")
    return saved(made, tmp_path_factory)


@pytest.fixture
def two_environments(shown: Opened, two_environments_file: Path) -> Page:
    """The same pipeline in two environments."""
    return shown(two_environments_file, "#view=pipeline")


def lines(page: Page) -> list[str]:
    return sorted(page.locator("#lines .line > title").all_text_contents())


def dimmed(page: Page) -> list[str]:
    """Return the dimmed cards, which are not in the lineage of the selection."""
    return [
        box.locator(".head .name").text_content() or ""
        for box in page.locator(".card").all()
        if box.locator(".head .name").evaluate("each => getComputedStyle(each).fontWeight") == "400"
    ]


def click_line(page: Page, job: str = "") -> None:
    page.locator(".line", has_text=job).first.locator(".hit").dispatch_event("click")


def test_a_line_shows_the_jobs_that_match_the_filter(two_jobs: Page) -> None:
    assert lines(two_jobs) == ["first, second", "first, second"]
    for job in ("first", "second", "first"):
        choose_filter(two_jobs, "job", job)
        assert lines(two_jobs) == [job, job]
        click_line(two_jobs)
        expect(two_jobs.locator("#panel summary")).to_have_text(f" {job} spark")


def test_a_selected_line_shows_the_job_after_the_filter_changes(two_jobs: Page) -> None:
    choose_filter(two_jobs, "job", "first")
    click_line(two_jobs)
    choose_filter(two_jobs, "job", "second")
    expect(two_jobs.locator("#panel summary")).to_have_text(" second spark")


def test_a_selected_line_stays_the_same_line_when_a_filter_hides_others(two_environments: Page) -> None:
    page = two_environments
    click_line(page, "prod_job")
    expect(page.locator("#panel summary")).to_have_text(" prod_job spark")
    choose_filter(page, "environment", "prod")
    expect(page.locator("#panel summary")).to_have_text(" prod_job spark")
    assert page.locator(".line.is-selected").count() == 1


def test_hiding_the_selected_line_deselects_it(two_environments: Page) -> None:
    page = two_environments
    click_line(page, "dev_job")
    expect(page.locator("#panel summary")).to_have_text(" dev_job spark")
    choose_filter(page, "environment", "prod")
    assert lines(page) == ["prod_job"]
    assert page.locator(".line.is-selected").count() == 0
    expect(page.locator("#panel")).to_be_hidden()


def test_hiding_the_selection_dims_nothing(two_environments: Page) -> None:
    page = two_environments
    card(page, "raw", "dev").locator(".head").click()
    assert dimmed(page) != []
    choose_filter(page, "environment", "prod")
    assert cards(page) == ["mart", "raw"]
    assert dimmed(page) == []
    assert selected(page) == []
    expect(page.locator("#panel")).to_be_hidden()
    # The step before is still there.
    page.go_back()
    assert dimmed(page) != []


def test_hiding_the_traced_column_leaves_the_trace(two_environments: Page) -> None:
    page = two_environments
    find(page, "dev.public.raw#x")
    assert page.locator("body").get_attribute("data-view") == "column"
    page.locator("#environments [data-environment='prod']").click()
    assert page.locator("body").get_attribute("data-view") == "pipeline"
    assert dimmed(page) == []
    expect(page.locator("#panel")).to_be_hidden()


def test_a_link_with_a_hidden_selection_dims_nothing(opened: Opened) -> None:
    made = PageGraph()
    ids = [made.dataset(WAREHOUSE, f"dev.public.{name}", label=name) for name in ("table", "view")]
    made.feeds(*ids)
    page = opened(made.graph(), f"#dataset={ids[0]}&kind=view")
    assert cards(page) == ["view"]
    assert dimmed(page) == []


def test_a_visible_selection_is_retained(two_environments: Page) -> None:
    page = two_environments
    find(page, "dev.public.raw")
    choose_filter(page, "environment", "dev")
    assert selected(page) == ["raw"]
    assert dimmed(page) == []


# The length of the history ends at 50.
COUNT_STEPS = """
() => {
  const { pushState } = history;
  window.steps = 0;
  history.pushState = (...given) => {
    window.steps += 1;
    pushState.apply(history, given);
  };
}
"""


def test_opening_a_group_is_one_step_back(opened: Opened) -> None:
    page = opened(large(400), "#view=pipeline")
    page.evaluate(COUNT_STEPS)
    for steps in (1, 2, 3):
        before = cards(page)
        click_in_graph(page.locator(".card.group:not(.is-outside)").first)
        assert cards(page) != before
        assert page.evaluate("window.steps") == steps
    page.go_back()
    eventually(page, lambda: cards(page) == before)


def test_tags_owners_platforms_and_states_are_filters(opened: Opened) -> None:
    made = PageGraph()
    one = made.dataset("s3://b", "one", label="file", tags=("gold", "daily"))
    two = made.dataset(WAREHOUSE, "dev.public.two", tags=("daily",), owners=("analytics",))
    made.feeds(one, two)
    page = opened(made.graph(), "#view=list")
    for what, value, left_over in [
        ("tag", "gold", ["one"]),
        ("tag", "daily", ["one", "two"]),
        ("owner", "analytics", ["two"]),
        ("platform", "S3", ["one"]),
        ("status", "none", ["one", "two"]),
    ]:
        choose_filter(page, what, value)
        assert (what, value, sorted(entries(page))) == (what, value, left_over)
        page.locator("#clear").click()


def test_a_filter_without_values_is_not_offered(opened: Opened) -> None:
    made = PageGraph()
    made.dataset("s3://b", "one", label="file")
    page = opened(made.graph())
    page.locator("#filters-button").click()
    offered = page.locator("#filters label:visible").all_text_contents()
    assert [text.split("any")[0] for text in offered] == [
        "Environment",
        "DAG",
        "Kind",
        "Platform",
        "Status",
    ]


def test_views_and_the_selected_dataset_are_steps_back(two_jobs: Page) -> None:
    page = two_jobs
    card(page, "a").locator(".head").click()
    show(page, "list")
    show(page, "overview")
    page.go_back()
    assert page.locator("body").get_attribute("data-view") == "list"
    page.go_back()
    assert selected(page) == ["a"]


def lit(page: Page) -> str | None:
    """Return the pressed button of the switch of environments."""
    return page.locator("#environments [aria-pressed='true']").text_content()


def test_the_switch_shows_the_environment_of_the_view(two_environments: Page) -> None:
    page = two_environments
    assert lit(page) == "All"
    show(page, "overview")
    assert lit(page) == "All"
    page.locator(".band .open").first.click()
    assert (lit(page), cards(page)) == ("prod", ["mart", "raw"])
    find(page, "dev.public.mart#x")
    assert lit(page) == "dev"


def test_the_switch_leads_to_the_same_pipeline_of_the_other_environment(two_environments: Page) -> None:
    page = two_environments
    show(page, "overview")
    page.locator(".band .open").first.click()
    page.locator("#environments [data-environment='dev']").click()
    expect(page.locator("#crumb .env")).to_have_text("dev")
    assert (lit(page), cards(page)) == ("dev", ["mart", "raw"])
    page.locator("#environments [data-environment='']").click()
    assert (lit(page), cards(page)) == ("All", ["mart", "mart", "raw", "raw"])


def test_the_index_has_one_row_for_an_end_point_of_two_environments(two_environments: Page) -> None:
    page = two_environments
    show(page, "overview")
    row = page.locator("#sidebar .row", has_text="mart")
    assert row.count() == 1
    assert row.locator(".env").all_text_contents() == ["prod", "dev"]
    row.get_by_role("button", name="mart in dev").click()
    assert selected(page) == ["mart"]
    expect(page.locator("#panel .env")).to_have_text("dev")
