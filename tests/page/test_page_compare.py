"""The picker of moments and the comparison of two, in Chromium."""

import csv
import io
from pathlib import Path
from urllib.parse import quote

import pytest
from playwright.sync_api import Page, expect

from tests.page import compared_page, geometry
from tests.page.compared_page import KEYS
from tests.page.conftest import PHONE
from tests.page.page_reading import Opened, OpenedOnPhone, card, cards, columns, entries, find, selected, show
from tests.page.test_page_accessibility import check, check_both_themes
from tests.page.test_page_names import HOSTILE

FIRST, SECOND, LAST = KEYS
ORDERS = quote("dev|redshift://wh:5439|dev.public.orders")
REVENUE = quote("dev|redshift://wh:5439|dev.marts.revenue")
COMPARED = f"#compare={FIRST}"
VIEWS = {
    "overview": f"#view=overview&compare={FIRST}",
    "compare": COMPARED,
    "dataset": f"#view=pipeline&compare={FIRST}&dataset={ORDERS}",
    "column": f"#view=column&compare={FIRST}&dataset={REVENUE}&column=total",
    "list": f"#view=list&compare={FIRST}",
}
MARKS = {
    ("customers", "+ added"),
    ("orders_csv", "\u2212 removed"),
    ("orders", "~ 4 columns"),
    ("revenue", "~ 1 column, owner"),
}


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return compared_page.save(tmp_path_factory.mktemp("compared"))


def marks(page: Page) -> set[tuple[str, str]]:
    """Names of marked cards, with their marks."""
    expect(page.locator(".card > .mark").first).to_be_visible()
    return {
        (box.locator(".head .name").text_content() or "", box.locator("> .mark").text_content() or "")
        for box in page.locator(".card.marked").all()
    }


def lines(page: Page, action: str) -> set[tuple[str, str]]:
    """Names at the ends of the lines with a mark."""
    name = "key => document.querySelector(`.card[data-key='${key}'] .head .name`).textContent"
    return {
        (
            page.evaluate(name, line.get_attribute("data-source")),
            page.evaluate(name, line.get_attribute("data-target")),
        )
        for line in page.locator(f"#stage .line.is-{action}").all()
    }


def pick(page: Page, moment: int, earlier: int | None = None) -> None:
    page.locator("#moment").select_option(str(moment))
    page.locator("#compare").select_option("" if earlier is None else str(earlier))


def test_the_page_opens_at_the_newest_moment_without_a_comparison(opened: Opened, file: Path) -> None:
    page = opened(file)
    assert page.locator("#moment option").all_text_contents() == [
        "2026-01-03 23:59 UTC",
        "2026-01-02 23:59 UTC",
        "2026-01-01 23:59 UTC",
    ]
    assert page.locator("#compare").input_value() == ""
    assert page.locator(".mark").count() == 0
    show(page, "list")
    assert sorted(entries(page)) == ["customers", "orders", "orders", "revenue", "stock"]
    page.locator("#export-button").click()
    assert page.locator("#export-changes").is_hidden()


def test_a_page_without_moments_has_no_picker(shown: Opened, captures: Path) -> None:
    page = shown(captures)
    assert page.locator("#moments, #views [data-view='compare']").count() == 0


def test_an_earlier_moment_shows_the_picture_of_then(shown: Opened, file: Path) -> None:
    page = shown(file, "#view=pipeline")
    page.locator("#moment").select_option("0")
    expect(page.locator("#said")).to_have_text("as of 2026-01-01 23:59 UTC")
    assert cards(page) == ["orders", "orders", "orders_csv", "revenue", "stock"]
    box = card(page, "orders", "public")
    box.locator(".toggle").click()
    assert columns(box) == ["id", "amount", "note", "placed"]
    assert box.locator(".type").all_text_contents() == ["int", "int", "string", "date"]
    # Ages are as of then.
    assert box.locator(".age").text_content() == "20 h ago"
    assert f"moment={quote(FIRST, safe='')}" in page.evaluate("location.hash")
    page.go_back()
    page.go_back()
    assert cards(page) == ["customers", "orders", "orders", "revenue", "stock"]


def test_the_comparison_marks_cards_columns_and_lines_in_words(shown: Opened, file: Path) -> None:
    page = shown(file)
    show(page, "compare")
    pick(page, 2, 0)
    assert marks(page) == MARKS
    assert cards(page) == ["customers", "orders", "orders", "orders_csv", "revenue"]
    rows = {
        (
            row.locator(".sign").text_content(),
            row.locator(".name").text_content(),
            row.locator(".type").text_content(),
        )
        for row in card(page, "orders", "public").locator(".column").all()
    }
    assert rows == {
        ("~", "amount", "int → bigint"),
        ("\u2212", "note", "string"),
        ("\u2212", "placed", "date"),
        ("+", "placed_at", "date"),
    }
    assert (
        card(page, "revenue").locator(".column").get_attribute("aria-label") == "column total, ~ expression"
    )
    assert lines(page, "added") == {("orders", "customers")}
    assert lines(page, "removed") == {("orders", "orders_csv")}
    assert page.locator(".line.is-removed title").text_content() == "removed: export_orders"
    assert geometry.problems(page) == []
    key = page.locator("#key").text_content() or ""
    assert "1 other dataset not drawn" in key
    assert page.locator("#key .mark").all_text_contents() == ["+ added", "\u2212 removed", "~ changed"]


def test_the_summary_counts_and_lists_the_changes(opened: Opened, file: Path) -> None:
    page = opened(file, COMPARED)
    panel = page.locator("#panel")
    assert panel.locator(".place").text_content() == "2026-01-01 23:59 UTC → 2026-01-03 23:59 UTC"
    found = {
        (each.locator("dt").text_content(), tuple(each.locator("dd span").all_text_contents()))
        for each in panel.locator(".numbers > div").all()
    }
    assert found == {
        ("Datasets", ("+1", "\u22121", "~1")),
        ("Jobs", ("+1", "\u22121")),
        ("Feeds", ("+1", "\u22121")),
        ("Columns", ("+1", "\u22122", "~1")),
        ("Column lineage", ("+1", "\u22122", "~1")),
    }
    listed = set(panel.locator("#changes .item").all_text_contents())
    assert {"\u2212 removedexport_orders", "~ changeddev.public.orders#amount"} <= listed
    assert "typeint → bigint" in panel.locator(".was").all_text_contents()
    panel.locator("#changes .item", has_text="dev.marts.revenue").first.click()
    assert selected(page) == ["revenue"]
    page.keyboard.press("Escape")
    expect(panel.locator("h2")).to_have_text("What changed")
    panel.locator(".close").click()
    assert panel.is_hidden()
    page.locator("#moments [data-action='changes']").click()
    expect(panel.locator("h2")).to_have_text("What changed")


def test_the_panel_shows_before_and_after(shown: Opened, file: Path) -> None:
    page = shown(file, f"#view=pipeline&compare={FIRST}&dataset={REVENUE}")
    section = page.locator("#panel #changes")
    expect(section.locator("h3")).to_have_text("Changed since 2026-01-01 23:59 UTC")
    assert "owneranna → ben" in section.locator(".was").all_text_contents()
    expression = "expressionsum(amount) → sum(amount - refund)"
    assert expression in section.locator(".was").all_text_contents()
    page.locator("#panel [data-to-column]", has_text="total").last.click()
    assert expression in section.locator(".was").all_text_contents()


def test_a_removed_dataset_and_job_are_still_shown(shown: Opened, file: Path) -> None:
    page = shown(file, COMPARED)
    page.locator("#search").fill("orders_csv")
    assert "\u2212 removed" in (page.locator("#results li").first.text_content() or "")
    page.keyboard.press("Enter")
    assert selected(page) == ["orders_csv"]
    assert page.locator("#panel #changes .mark").first.text_content() == "\u2212 removed"
    row = page.locator("#table tr", has_text="export_orders")
    assert row.locator(".mark").text_content() == "\u2212 removed"
    label = page.locator(".frame-label", has_text="export_orders").text_content() or ""
    assert label == "\u2212 export_ordersremoved"


def test_the_column_trace_marks_steps_and_columns(shown: Opened, file: Path) -> None:
    page = shown(file, VIEWS["column"])
    assert lines(page, "changed") == {("orders", "revenue")}
    path = page.locator("#table tr", has_text="total")
    assert path.locator(".mark").text_content() == "~ expression"


def test_overview_and_list_mark_what_changed(shown: Opened, file: Path) -> None:
    page = shown(file, VIEWS["overview"])
    expect(page.locator(".band .mark").first).to_be_visible()
    assert page.locator(".band header .mark").all_text_contents() == ["~ 2 changed", "~ 2 changed"]
    members = {
        (each.locator("bdi").text_content(), each.locator(".sign").text_content())
        for each in page.locator(".member.marked").all()
    }
    assert members == {("customers", "+"), ("orders_csv", "\u2212"), ("orders", "~"), ("revenue", "~")}
    assert page.locator("#overview .line.is-removed").count() == 1
    assert geometry.problems(page) == []
    # What is removed needs no attention.
    assert "orders_csv is not read" not in (page.locator("#sidebar").text_content() or "")
    show(page, "list")
    found = {
        (each.locator(".two > bdi").text_content(), each.locator(".mark").text_content())
        for each in page.locator(".entry.marked").all()
    }
    assert found == MARKS
    page.locator("[data-listed='jobs']:visible").click()
    jobs = {
        (each.locator(".two > bdi").text_content(), each.locator(".mark").text_content())
        for each in page.locator(".entry.marked").all()
    }
    assert jobs == {("export_orders", "\u2212 removed"), ("shop", "~ 1 job changed")}


def test_only_changes_hides_the_rest(shown: Opened, file: Path) -> None:
    page = shown(file, COMPARED)
    assert cards(page) == ["customers", "orders", "orders", "orders_csv", "revenue"]
    page.locator("[data-changed='only']").click()
    assert cards(page) == ["customers", "orders", "orders_csv", "revenue"]
    page.locator("[data-changed='']").click()
    assert cards(page) == ["customers", "orders", "orders", "orders_csv", "revenue", "stock"]
    page.locator("[data-changed='only']").click()
    page.locator("#compare").select_option("")
    # Without a comparison the filter has no meaning.
    assert cards(page) == ["customers", "orders", "orders", "revenue", "stock"]


def test_a_link_restores_moment_comparison_and_selection(opened: Opened, file: Path) -> None:
    page = opened(file, f"#moment={SECOND}&compare={FIRST}")
    assert marks(page) == {("orders", "~ 4 columns")}
    card(page, "orders", "public").locator(".head").click()
    again = opened(file, page.evaluate("location.hash"))
    assert selected(again) == ["orders"]
    assert (again.locator("#moment").input_value(), again.locator("#compare").input_value()) == ("1", "0")
    unknown = opened(file, "#moment=2020-01-01T00:00:00Z&compare=x")
    assert (unknown.locator("#moment").input_value(), unknown.locator("#compare").input_value()) == ("2", "")


def test_a_moment_is_compared_with_earlier_ones_only(shown: Opened, file: Path) -> None:
    page = shown(file, f"#moment={SECOND}")
    assert page.locator("#compare option").all_text_contents() == ["nothing", "2026-01-01 23:59 UTC"]
    page.locator("#compare").select_option("0")
    page.locator("#moment").select_option("0")
    assert page.locator("#compare option").all_text_contents() == ["nothing"]
    show(page, "compare")
    assert (page.locator("#moment").input_value(), page.locator("#compare").input_value()) == ("2", "1")


def test_the_changes_are_exported_as_csv(opened: Opened, file: Path) -> None:
    page = opened(file, COMPARED)
    page.locator("#export-button").click()
    with page.expect_download() as saved:
        page.locator("#export-changes").click()
    assert saved.value.suggested_filename == "shop_changes.csv"
    rows = [tuple(row) for row in csv.reader(io.StringIO(Path(saved.value.path()).read_text()))]
    assert rows[0] == ("kind", "action", "environment", "element", "from", "property", "before", "after")
    orders, raw, revenue = "dev.public.orders", "s3://shop-raw/orders", "dev.marts.revenue"
    assert {
        ("column", "changed", "dev", f"{orders}#amount", "", "type", "int", "bigint"),
        ("column", "removed", "dev", f"{orders}#note", "", "", "", ""),
        ("dataset", "changed", "dev", revenue, "", "owner", "anna", "ben"),
        ("job", "removed", "dev", "export_orders", "", "", "", ""),
        ("feed", "added", "dev", "dev.marts.customers", orders, "job", "", "model.shop.customers"),
        ("expression", "removed", "dev", f"{orders}#note", f"{raw}#note", "job", "load_orders", ""),
        (
            "expression",
            "changed",
            "dev",
            f"{revenue}#total",
            f"{orders}#amount",
            "expression",
            "sum(amount)",
            "sum(amount - refund)",
        ),
    } <= set(rows)


def test_the_picture_of_a_comparison_is_exported_with_its_marks(opened: Opened, file: Path) -> None:
    page = opened(file, VIEWS["overview"])
    page.locator("#export-button").click()
    with page.expect_download() as saved:
        page.locator("[data-export='svg']").click()
    assert "~ 2 changed" in Path(saved.value.path()).read_text()


def test_the_comparison_is_usable_by_keyboard(opened: Opened, file: Path) -> None:
    page = opened(file, "#view=pipeline")
    page.locator("#moment").focus()
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.id") == "moment-slider"
    page.keyboard.press("Tab")
    page.keyboard.press("ArrowDown")
    expect(page.locator("#said")).to_contain_text("compared with 2026-01-02 23:59 UTC: 8 changes")
    assert page.evaluate("document.activeElement.id") == "compare"
    page.keyboard.press("Tab")
    page.keyboard.press("Tab")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    assert cards(page) == ["customers", "orders", "orders_csv", "revenue"]
    assert page.evaluate("document.activeElement.dataset.changed") == "only"
    find(page, "customers")
    assert selected(page) == ["customers"]
    page.keyboard.press("Escape")
    expect(page.locator("#panel h2")).to_have_text("What changed")


@pytest.mark.parametrize("view", VIEWS)
def test_marks_have_contrast_and_names(shown: Opened, file: Path, view: str) -> None:
    page = shown(file, VIEWS[view])
    assert page.locator(".mark").count()
    check_both_themes(page)


def test_a_phone_lists_the_changes(phone: OpenedOnPhone, file: Path) -> None:
    page = phone(file, COMPARED)
    assert sorted(entries(page)) == ["customers", "orders", "orders", "orders_csv", "revenue"]
    assert check(page, "targets") == []
    assert check(page, "contrast") == []
    assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]
    page.locator("#moments [data-action='changes']").tap()
    expect(page.locator("#panel h2")).to_have_text("What changed")
    assert check(page, "targets") == []
    assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]
    page.locator("#panel [data-to-dataset]", has_text="dev.marts.revenue").first.tap()
    expect(page.locator("#panel h2")).to_have_text("revenue")
    page.locator("#panel .close").tap()
    page.locator("#panel .close").tap()
    expect(page.locator("#listing")).to_be_visible()


def test_hostile_names_are_marked_as_they_are(opened: Opened, tmp_path: Path) -> None:
    compared_page.write(str(tmp_path / "history"), *HOSTILE)
    file = tmp_path / "hostile.html"
    file.write_text(
        compared_page.rendered(compared_page.moments(str(tmp_path / "history"))), encoding="utf-8"
    )
    page = opened(file, f"#compare={SECOND}")
    assert {name for name, mark in marks(page) if mark == "+ added"} == {*HOSTILE}
    listed = page.locator("#changes .item").all_text_contents()
    assert {f"+ addeddev.marts.{name}" for name in HOSTILE} <= {*listed}
    for name in HOSTILE:
        page.locator("#changes [data-to-dataset]").get_by_text(f"dev.marts.{name}", exact=True).first.click()
        assert selected(page) == [name]
        page.keyboard.press("Escape")
    assert page.evaluate("window.hacked") is None
