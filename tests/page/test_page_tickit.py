"""The page of the sample pipeline in a browser, from the command to clicks and keys."""

from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.command_line import in_process
from tests.page import geometry
from tests.page.page_reading import (
    Opened,
    card,
    cards,
    choose_filter,
    columns,
    entries,
    eventually,
    find,
    focused,
    left,
    selected,
    show,
)

pytestmark = pytest.mark.jvm

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
def page(shown: Opened, file: Path) -> Page:
    """Return the pipeline view."""
    return shown(file, "#view=pipeline")


def test_the_overview_groups_datasets_by_place(shown: Opened, file: Path) -> None:
    page = shown(file)
    members = {
        box.locator(".top bdi").text_content(): box.locator(".member bdi").all_text_contents()
        for box in page.locator(".box").all()
    }
    assert members["tickit_staging"] == ["stg_date", "stg_event", "stg_sales", "stg_users"]
    assert members["tickit-raw"] == ["event", "sales"]
    assert members["dashboards"] == ["sales_dashboard"]
    assert sum(len(names) for names in members.values()) == len(DATASETS)
    assert geometry.problems(page) == []


def test_the_index_leads_to_end_points_and_sources(shown: Opened, file: Path) -> None:
    page = shown(file)
    index = page.locator("#sidebar")
    assert index.locator("h2").all_text_contents()[0] == "Pipelines"
    assert {"End points", "Sources"} <= set(index.locator("h2").all_text_contents())
    index.get_by_role("button", name="sales_dashboard").click()
    assert selected(page) == ["sales_dashboard"]


def test_shows_every_dataset_from_left_to_right(page: Page) -> None:
    assert cards(page) == DATASETS
    path = [
        "sales tickit-raw",
        "sales tickit-staging",
        "sales_dl ",
        "sales public",
        "stg_sales ",
    ]
    edges = [
        left(card(page, *each.split(" ", 1))) for each in [*path, "top_events_by_sales ", "sales_dashboard "]
    ]
    assert edges == sorted(set(edges))
    assert geometry.problems(page) == []
    assert geometry.frame_problems(page) == []
    assert geometry.small_type(page) == []


def test_each_job_and_project_has_one_label(page: Page) -> None:
    labels = sorted(page.locator(".frame-label bdi").all_text_contents())
    assert labels == ["dbt · project tickit", "tickit_sales_ingest", "tickit_sales_load"]


def test_the_table_shows_the_jobs_with_their_last_run(page: Page) -> None:
    rows = {
        str(row.locator("td").first.text_content()): row.locator("td").all_text_contents()
        for row in page.locator("#table tbody tr").all()
    }
    assert sorted(rows) == ["tickit", "tickit_sales_ingest", "tickit_sales_load"]
    ingest = rows["tickit_sales_ingest"]
    assert "spark" in ingest[1]
    assert "sales_dl" in ingest[6]
    # dbt declares an exposure, and does not write it.
    built = page.locator("#table tr", has_text="dbt").locator("td.wide").get_attribute("title") or ""
    assert set(built.split(", ")) == {
        "tickit_staging (4)",
        "tickit_marts (3)",
        "snapshots.users_snapshot",
        "tickit_ref.category_map",
    }
    page.locator("#table summary").click()
    page.locator("#table").get_by_role("button", name="tickit_sales_load").click()
    expect(page.locator("#panel h2")).to_have_text("tickit_sales_load")


def test_a_narrow_table_shortens_what_jobs_write_at_a_name(page: Page) -> None:
    card(page, "stg_date").click()
    if page.locator("#table table").is_hidden():
        page.locator("#table summary").click()
    for cell in page.locator("#table td.wide").all():
        text, title = cell.text_content() or "", cell.get_attribute("title") or ""
        shown, _, more = text.partition(" and ")
        names = title.split(", ")
        assert names[: len(shown.split(", "))] == shown.split(", ")
        assert more == (f"{len(names) - len(shown.split(', '))} more" if text != title else "")
        assert cell.evaluate("each => each.scrollWidth <= each.clientWidth")
    assert page.locator("#table td.wide", has_text=" more").count() > 0


def test_a_selected_line_shows_job_and_write_mode(page: Page) -> None:
    page.locator(".line", has_text="tickit_sales_load").first.locator(".hit").dispatch_event("click")
    panel = page.locator("#panel")
    expect(panel.locator("summary")).to_have_text(" tickit_sales_load spark")
    panel.locator("summary").click()
    expect(panel.locator("details")).to_contain_text("overwrite")
    expect(panel.locator("details")).to_contain_text("tickit_daily")


def test_columns_are_shown_and_hidden(page: Page) -> None:
    box = card(page, "stg_date")
    assert columns(box) == []
    box.locator(".toggle").click()
    assert columns(box) == ["date_id", "cal_date", "qtr", "year"]
    expect(box.locator(".toggle")).to_have_attribute("aria-expanded", "true")
    assert geometry.problems(page) == []
    box.locator(".toggle").click()
    assert columns(box) == []


def test_hovering_a_column_highlights_its_lineage(page: Page) -> None:
    card(page, "sales", "tickit-raw").locator(".toggle").click()
    card(page, "sales", "tickit-raw").locator(".column", has_text="pricepaid").hover()
    assert cards(page, ".is-down") == PRICED
    assert cards(page, ".is-up") == []
    page.locator("#title").hover()
    assert cards(page, ".is-down") == []


def test_clicking_a_column_shows_only_its_path(page: Page) -> None:
    box = card(page, "top_events_by_sales")
    box.locator(".toggle").click()
    box.locator(".column", has_text="total_sales").click()
    # Four datasets pass the price unchanged.
    chain = page.locator(".card.chain .column .name").all_text_contents()
    assert chain == ["sales", "sales", "sales_dl", "sales", "stg_sales"]
    assert cards(page) == ["5 unchanged steps", "sales_dashboard", "top_events_by_sales"]
    assert columns(card(page, "top_events_by_sales"), ".is-start") == ["total_sales"]
    assert "sum(pricepaid)" in page.locator(".card .expression").all_text_contents()
    expect(page.locator("#panel")).to_contain_text("aggregated")
    expect(page.locator("#panel code")).to_have_text("sum(pricepaid)")
    steps = [row.locator("td").first.text_content() or "" for row in page.locator("#table tbody tr").all()]
    assert [int(step.replace("\N{MINUS SIGN}", "-")) for step in steps] == [-5, -4, -3, -2, -1, 0]
    assert geometry.problems(page) == []


def test_the_trace_has_two_directions(page: Page) -> None:
    find(page, "stg_sales#pricepaid")
    both = cards(page)
    page.locator("[data-side='up']").click()
    up = cards(page)
    page.locator("[data-side='down']").click()
    down = cards(page)
    assert "fct_sales" in both
    assert "fct_sales" not in up
    assert "fct_sales" in down
    assert "sales" not in down
    assert page.evaluate("location.hash").find("side=down") > 0


def test_the_trace_fits_beside_the_panel(page: Page) -> None:
    find(page, "stg_sales#pricepaid")
    panel = left(page.locator("#panel"))
    boxes = [each.bounding_box() for each in page.locator(".card").all()]
    assert all(box and box["x"] >= 0 and box["x"] + box["width"] <= panel for box in boxes)


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
    # The selection and its neighbours are in view, and readable; the small map shows the rest.
    panel = left(page.locator("#panel"))
    near = [card(page, "sales_dl"), card(page, "sales", "tickit-staging"), card(page, "sales", "public")]
    boxes = [each.bounding_box() for each in [*near, card(page, "event", "tickit-staging")]]
    assert geometry.small_type(page) == []
    expect(page.locator("#minimap")).to_be_visible()
    assert all(box and box["x"] >= 0 and box["x"] + box["width"] <= panel for box in boxes)
    page.locator("#panel").get_by_role("button", name="Only its lineage").click()
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


def test_search_is_tolerant(page: Page) -> None:
    for typed, first in [
        ("sales dash", "sales_dashboard"),
        ("dash sales", "sales_dashboard"),
        ("emial", "email"),
        ("top 10 events", "top_events_by_sales"),
        ("snapshto", "users_snapshot"),
        ("mart fct", "fct_sales"),  # a tag and a part of the name
    ]:
        page.locator("#search").fill(typed)
        expect(page.locator("#results li").first.locator(".found")).to_have_text(first)


def test_arrow_keys_follow_lines_and_columns(page: Page) -> None:
    page.keyboard.press("/")
    page.keyboard.type("sales_dl")
    page.keyboard.press("Enter")
    page.keyboard.press("ArrowRight")
    assert focused(page) == "sales"
    assert selected(page) == ["sales_dl"]
    page.keyboard.press("ArrowLeft")
    assert focused(page) == "sales_dl"
    page.keyboard.press("Enter")
    assert columns(card(page, "sales_dl"))[0] == "salesid"
    page.keyboard.press("ArrowDown")
    assert focused(page) == "salesid"
    page.keyboard.press("Enter")
    assert page.locator("body").get_attribute("data-view") == "column"
    assert focused(page) == "salesid"
    page.keyboard.press("ArrowLeft")
    assert page.evaluate("document.activeElement.closest('.card').querySelector('.where').textContent") == (
        "tickit-staging · S3"
    )
    page.keyboard.press("Escape")
    assert selected(page) == ["sales_dl"]
    page.keyboard.press("Escape")
    assert selected(page) == []
    page.keyboard.press("Escape")
    assert page.locator("body").get_attribute("data-view") == "overview"


def test_tab_reaches_one_card_and_single_keys_can_be_switched_off(opened: Opened, file: Path) -> None:
    page = opened(file, "#view=pipeline")
    assert page.locator(".card[tabindex='0']").count() == 1
    page.keyboard.press("l")
    assert page.locator("body").get_attribute("data-view") == "list"
    page.keyboard.press("?")
    expect(page.locator("#help")).to_be_visible()
    page.locator("#single-keys").uncheck()
    page.locator("#help-close").click()
    page.keyboard.press("/")
    assert focused(page) != "search"


@pytest.mark.parametrize(
    ("what", "value", "left_over"),
    [
        ("kind", "view", ["stg_date", "stg_event", "stg_sales", "stg_users"]),
        ("job", "model.tickit.stg_users", ["stg_users", "users"]),
        ("platform", "S3", ["event", "event", "sales", "sales", "sales_dl"]),
    ],
)
def test_filters(page: Page, what: str, value: str, left_over: list[str]) -> None:
    choose_filter(page, what, value)
    inside = sorted(set(cards(page)) - set(cards(page, ".is-outside")))
    assert sorted(cards(page, ":not(.is-outside)")) == left_over, inside
    page.locator("#clear").click()
    assert cards(page) == DATASETS


def test_the_address_restores_the_view(page: Page, opened: Opened, file: Path) -> None:
    choose_filter(page, "kind", "view")
    page.keyboard.press("Escape")
    card(page, "stg_sales").locator(".toggle").click()
    card(page, "stg_sales").locator(".head").click()
    page.locator("#zoom-in").click()
    # The window is saved with a delay.
    eventually(page, lambda: bool(page.evaluate("location.hash === `#${lineage.app.link()}`")))
    again = opened(file, page.evaluate("location.hash"))
    assert cards(again) == ["stg_date", "stg_event", "stg_sales", "stg_users"]
    assert selected(again) == ["stg_sales"]
    assert "pricepaid" in columns(card(again, "stg_sales"))
    assert again.locator("#filter-kind").input_value() == "view"
    numbers = "getComputedStyle(document.getElementById('world')).transform.match(/[\\d.-]+/g).map(Number)"
    assert again.evaluate(numbers) == pytest.approx(page.evaluate(numbers), abs=1)


def test_a_link_of_a_catalog_opens_the_trace(opened: Opened, file: Path) -> None:
    again = opened(file, "#dataset=dev%7Cs3%3A%2F%2Ftickit-raw%7Csales&column=pricepaid")
    assert again.locator("body").get_attribute("data-view") == "column"
    expect(again.locator("#crumb h2")).to_have_text("sales.pricepaid")


def test_back_undoes_a_step(page: Page) -> None:
    card(page, "sales_dl").locator(".head").click()
    card(page, "stg_users").locator(".head").click()
    page.go_back()
    assert selected(page) == ["sales_dl"]


def test_light_and_dark(page: Page) -> None:
    ground = "getComputedStyle(document.body).backgroundColor"
    light = page.evaluate(ground)
    page.emulate_media(color_scheme="dark")
    dark = page.evaluate(ground)
    assert (light, dark) == ("rgb(244, 246, 249)", "rgb(13, 17, 23)")
    page.locator("#theme").click()
    assert page.evaluate(ground) == light
    page.locator("#theme").click()
    page.emulate_media(color_scheme="light")
    assert page.evaluate(ground) == dark


def test_the_legend_names_every_kind_and_line(page: Page) -> None:
    page.locator("#help-button").click()
    lines = page.locator("#legend li").all_text_contents()
    kinds = {"file", "table", "view", "topic", "seed", "snapshot", "exposure (dashboard)"}
    assert kinds <= set(lines)
    assert {"succeeded", "failed", "no run recorded"} <= set(lines)
    assert "upstream or downstream of the selection" in lines


def test_the_list_has_every_dataset_end_points_first(page: Page) -> None:
    show(page, "list")
    assert sorted(entries(page)) == DATASETS
    assert entries(page)[0] == "sales_dashboard"
    page.locator("#listing .entry", has_text="stg_sales").click()
    expect(page.locator("#panel h2")).to_have_text("stg_sales")


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
