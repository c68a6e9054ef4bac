"""The page of the sample pipeline in a browser, from the command to clicks and keys."""

from pathlib import Path

import pytest
from playwright.sync_api import BrowserContext, Page, expect

from tests.command_line import in_process
from tests.page.page_reading import Opened, card, cards, columns, focused, left, selected

DATASETS = [
    "category_map",
    "date",
    "dim_people",
    "event",
    "event",
    "event",
    "fct_sales",
    "sales",
    "sales",
    "sales",
    "sales_dashboard",
    "sales_dl",
    "stg_date",
    "stg_event",
    "stg_sales",
    "stg_users",
    "top_events_by_sales",
    "users",
    "users_snapshot",
]
# Datasets with the price of a ticket, derived by hand from the jobs' code and the models' SQL.
PRICED = ["dim_people", "fct_sales", "sales", "sales", "sales_dl", "stg_sales", "top_events_by_sales"]


@pytest.fixture(scope="module")
def file(tickit_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the page that the command writes."""
    written = tmp_path_factory.mktemp("page") / "lineage.html"
    outcome = in_process("html", "--out", written, "--folder", tickit_folder)
    assert outcome.code == 0, outcome.err
    return written


@pytest.fixture
def page(opened: Opened, file: Path) -> Page:
    return opened(file)


def test_shows_every_dataset_from_left_to_right(page: Page) -> None:
    assert cards(page) == DATASETS
    path = [
        "sales s3://tickit-raw",
        "sales s3://tickit-staging",
        "sales_dl ",
        "sales dev.public",
        "stg_sales ",
    ]
    edges = [
        left(card(page, *each.split(" ", 1))) for each in [*path, "top_events_by_sales ", "sales_dashboard "]
    ]
    assert edges == sorted(set(edges))


def test_lines_are_labelled_with_jobs(page: Page) -> None:
    jobs = set(page.locator(".line .job").all_text_contents())
    assert {"tickit_sales_ingest", "tickit_sales_load", "stg_sales", "fct_sales"} <= jobs


def test_a_selected_line_shows_job_and_write_mode(page: Page) -> None:
    page.locator(".line", has_text="tickit_sales_load").first.locator(".plate").click()
    panel = page.locator("#panel")
    expect(panel.locator("summary")).to_have_text("tickit_sales_load spark")
    expect(panel.locator("dd")).to_contain_text(["tickit_daily", "overwrite"])


def test_columns_are_shown_and_hidden(page: Page) -> None:
    box = card(page, "stg_date")
    assert columns(box) == []
    box.locator(".toggle").click()
    assert columns(box) == ["date_id", "cal_date", "qtr", "year"]
    expect(box.locator(".toggle")).to_have_attribute("aria-expanded", "true")
    box.locator(".toggle").click()
    assert columns(box) == []


def test_hovering_a_column_highlights_its_lineage(page: Page) -> None:
    card(page, "sales", "tickit-raw").locator(".toggle").click()
    card(page, "sales", "tickit-raw").locator(".column", has_text="pricepaid").hover()
    assert cards(page, ".is-down") == PRICED
    assert cards(page, ".is-up") == []
    page.locator("#counts").hover()
    assert cards(page, ".is-down") == []


def test_clicking_a_column_shows_its_sources(page: Page) -> None:
    box = card(page, "top_events_by_sales")
    box.locator(".toggle").click()
    box.locator(".column", has_text="total_sales").click()
    assert cards(page, ".is-up") == ["sales", "sales", "sales", "sales_dl", "stg_sales"]
    assert columns(card(page, "sales", "tickit-raw"), ".is-up") == ["pricepaid"]
    assert "sum(pricepaid)" in " ".join(page.locator(".expression").all_text_contents())
    expect(page.locator("#panel")).to_contain_text("AGGREGATION")
    page.locator("#panel").get_by_role("button", name="Show only this lineage").click()
    assert cards(page) == ["sales", "sales", "sales", "sales_dl", "stg_sales", "top_events_by_sales"]


def test_clicking_a_dataset_shows_its_lineage(page: Page) -> None:
    card(page, "sales_dl").locator(".head").click()
    assert selected(page) == ["sales_dl"]
    assert cards(page, ".is-up") == ["event", "event", "sales", "sales"]
    assert cards(page, ".is-down") == [
        "dim_people",
        "fct_sales",
        "sales",
        "sales_dashboard",
        "stg_sales",
        "top_events_by_sales",
    ]
    page.locator("#panel").get_by_role("button", name="Focus on its lineage").click()
    assert len(cards(page)) == 11
    page.locator("#depth").select_option("1")
    assert cards(page) == ["event", "sales", "sales", "sales_dl"]


def test_search_finds_datasets_columns_and_jobs(page: Page) -> None:
    page.keyboard.press("/")
    page.keyboard.type("top_ev")
    expect(page.locator("#results li").first).to_contain_text("top_events_by_sales")
    page.keyboard.press("Enter")
    assert selected(page) == ["top_events_by_sales"]
    assert focused(page) == "top_events_by_sales"
    page.keyboard.press("/")
    page.keyboard.type("fct_sales#net_amount")
    page.keyboard.press("Enter")
    assert columns(card(page, "fct_sales"), ".is-start") == ["net_amount"]
    page.keyboard.press("/")
    page.keyboard.type("tickit_sales_load")
    page.keyboard.press("Enter")
    assert cards(page) == ["event", "event", "sales", "sales_dl"]


def test_arrow_keys_follow_lines_and_columns(page: Page) -> None:
    page.keyboard.press("/")
    page.keyboard.type("sales_dl")
    page.keyboard.press("Enter")
    page.keyboard.press("ArrowRight")
    assert focused(page) == "sales"
    page.keyboard.press("ArrowLeft")
    assert focused(page) == "sales_dl"
    page.keyboard.press("Enter")
    assert columns(card(page, "sales_dl"))[0] == "salesid"
    page.keyboard.press("ArrowDown")
    assert focused(page) == "salesid"
    page.keyboard.press("Enter")
    assert columns(card(page, "sales", "tickit-raw"), ".is-up") == ["salesid"]
    page.keyboard.press("ArrowLeft")
    assert (
        page.evaluate("document.activeElement.closest('.card').querySelector('.where').textContent")
        == "s3://tickit-staging"
    )
    page.keyboard.press("Escape")
    assert selected(page) == ["sales_dl"]
    page.keyboard.press("Escape")
    assert selected(page) == []


def test_tab_reaches_one_box_and_single_keys_can_be_switched_off(page: Page) -> None:
    assert page.locator(".card[tabindex='0']").count() == 1
    page.keyboard.press("?")
    expect(page.locator("#help")).to_be_visible()
    page.locator("#single-keys").uncheck()
    page.locator("#help-close").click()
    page.keyboard.press("/")
    assert focused(page) != "search"


@pytest.mark.parametrize(
    ("what", "value", "left_over"),
    [
        ("label", "view", ["stg_date", "stg_event", "stg_sales", "stg_users"]),
        ("job", "model.tickit.stg_users", ["stg_users", "users"]),
    ],
)
def test_filters(page: Page, what: str, value: str, left_over: list[str]) -> None:
    field = page.locator(f"#filter-{what}")
    if what == "job":
        field.fill(value)
        field.press("Enter")
    else:
        field.select_option(value)
    assert cards(page) == left_over
    page.locator("#clear").click()
    assert cards(page) == DATASETS


def test_the_address_restores_the_view(page: Page, opened: Opened, file: Path) -> None:
    page.locator("#filter-label").select_option("view")
    card(page, "stg_sales").locator(".toggle").click()
    card(page, "stg_sales").locator(".column", has_text="pricepaid").click()
    page.locator("#zoom-in").click()
    page.wait_for_function("location.hash.includes('view=')")
    page.wait_for_timeout(600)  # the view is saved with a delay
    again = opened(file, page.evaluate("location.hash"))
    assert cards(again) == ["stg_date", "stg_event", "stg_sales", "stg_users"]
    assert columns(card(again, "stg_sales"), ".is-start") == ["pricepaid"]
    assert again.locator("#filter-label").input_value() == "view"
    where = "document.getElementById('world').style.transform"
    numbers = "getComputedStyle(document.getElementById('world')).transform.match(/[\\d.-]+/g).map(Number)"
    assert again.evaluate(where)
    assert again.evaluate(numbers) == pytest.approx(page.evaluate(numbers), abs=1)


def test_back_undoes_a_step(page: Page) -> None:
    card(page, "sales_dl").locator(".head").click()
    card(page, "stg_users").locator(".head").click()
    page.go_back()
    assert selected(page) == ["sales_dl"]


def test_light_and_dark(page: Page, context: BrowserContext) -> None:
    ground = "getComputedStyle(document.body).backgroundColor"
    light = page.evaluate(ground)
    page.emulate_media(color_scheme="dark")
    dark = page.evaluate(ground)
    assert (light, dark) == ("rgb(246, 247, 249)", "rgb(20, 23, 26)")
    page.locator("#theme").click()
    assert page.evaluate(ground) == light
    page.locator("#theme").click()
    page.emulate_media(color_scheme="light")
    assert page.evaluate(ground) == dark


def test_the_legend_names_every_label_and_line(page: Page) -> None:
    page.locator("#legend-button").click()
    lines = page.locator("#legend li").all_text_contents()
    assert {"file", "table", "view", "topic", "seed", "snapshot", "exposure"} <= set(lines)
    assert "upstream of the selection" in lines


def test_focus_limits_the_page_to_one_lineage(tickit_folder: Path, opened: Opened, tmp_path: Path) -> None:
    out = tmp_path / "focused.html"
    outcome = in_process(
        "html", "--out", out, "--folder", tickit_folder, "--focus", "stg_users", "--depth", "1"
    )
    assert outcome.code == 0, outcome.err
    page = opened(out)
    assert cards(page) == ["dim_people", "stg_users", "users", "users_snapshot"]
    assert selected(page) == ["stg_users"]


def test_focus_on_an_unknown_dataset_is_an_error(tickit_folder: Path, tmp_path: Path) -> None:
    outcome = in_process(
        "html", "--out", tmp_path / "no.html", "--folder", tickit_folder, "--focus", "stg_userz"
    )
    assert outcome.code == 9
    assert not (tmp_path / "no.html").exists()
