"""The page of a review: findings lead to marked elements, by keyboard too, in print, and on a phone."""

from pathlib import Path
from urllib.parse import quote

import pytest
from playwright.sync_api import Page, expect

from lineage_merge.review.findings import Assessed, Finding, ReviewResult, Severity
from tests.page import review_page
from tests.page.page_reading import Opened, OpenedOnPhone, card, cards, columns, entries, focused
from tests.page.test_page_accessibility import axe_findings, check, check_both_themes

SHOP = "dev|duckdb://shop|shop.main."
VIEWS = {
    "review": "",
    "overview": "#view=overview",
    "dataset": f"#dataset={quote(review_page.REPORT)}",
    "column": f"#dataset={quote(f'{SHOP}int_shipments')}&column=carrier",
    "list": "#view=list",
}


@pytest.fixture(scope="module")
def reviewed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the page of a review."""
    return review_page.save(tmp_path_factory.mktemp("review"))


def marks(page: Page) -> dict[str, str]:
    """Return the words of the marks of the cards, by name."""
    found: dict[str, str] = page.evaluate(
        "() => Object.fromEntries([...document.querySelectorAll('.card')].filter((card) => "
        "card.querySelector(':scope > .mark')).map((card) => [card.querySelector('.head .name').textContent, "
        "card.querySelector(':scope > .mark').textContent]))"
    )
    return found


def test_the_page_opens_with_the_findings_and_marks_their_elements(shown: Opened, reviewed: Path) -> None:
    page = shown(reviewed)
    summary = "Review against main: 3 breaking, 1 policy, 2 changed, 3 info"
    expect(page.locator("#moments")).to_contain_text(summary)
    titles = ["Breaking3", "Policies violated1", "Changed2", "Information3"]
    assert page.locator("#panel h3").all_text_contents() == titles
    assert {name: words for name, words in marks(page).items() if not words.startswith("→")} == {
        "int_shipments": "~ breaking, 1 column",
        "int_order_items": "~ breaking, 2 columns",
        "fct_orders": "~ breaking, 1 column, missing column, filter",
        "mart_top_customers": "~ 1 column",
        "rpt_customers": "~ policy, 1 column, policy violated",
        "rpt_shipments": "+ added",
        "dim_carriers": "✕ breaks",
        "carriers": "✕ breaks",
        "mart_margin": "✕ breaks",
        "mart_revenue_by_category": "✕ breaks",
    }
    assert columns(card(page, "int_shipments"), ".is-removed") == ["carrier"]
    assert columns(card(page, "int_order_items"), ".is-added") == ["net_revenue"]
    assert columns(card(page, "carriers"), ".is-broken") == ["carrier"]


def test_a_finding_leads_to_its_element_and_what_breaks_to_the_finding(shown: Opened, reviewed: Path) -> None:
    page = shown(reviewed)
    page.locator("#changes button.item", has_text="int_shipments").click()
    expect(page.locator("#panel h2")).to_have_text("carrier")
    expect(page.locator("#changes")).to_contain_text("removed, breaking")
    page.locator("#panel [title='s3://reports/carriers#carrier']").click()
    expect(page.locator("#changes h3").last).to_have_text("Because of1")
    page.go_back()
    page.go_back()
    expect(page.locator("#panel h2")).to_have_text("Findings")
    page.locator("#changes button.item", has_text="rpt_shipments").click()
    expect(page.locator("#panel h2")).to_have_text("rpt_shipments")


def test_what_a_change_affects_has_the_facts_of_the_graph(shown: Opened, reviewed: Path) -> None:
    page = shown(reviewed, VIEWS["dataset"])
    expect(page.locator("#panel .fresh")).to_have_text("stale: older than 1 d · last update 2 d ago")
    expect(page.locator("#panel .test summary")).to_contain_text("failed: 3 rows")
    assert page.locator("#panel [data-owner]").all_text_contents() == ["ops@example.comdataset"]
    expect(card(page, "carriers").locator(".dot")).to_have_attribute("aria-label", "succeeded, 1 test failed")
    # What is new was not written yet.
    shown(reviewed, f"#dataset={quote(f'{SHOP}rpt_shipments')}")
    expect(page.locator("#panel h2")).to_have_text("rpt_shipments")
    assert page.locator("#panel .fresh").count() == 0


def test_lines_that_only_the_change_has_are_marked(shown: Opened, reviewed: Path) -> None:
    page = shown(reviewed)
    added = page.locator(".line.is-added title").all_text_contents()
    assert [text.partition(":")[0] for text in added] == ["added"]
    shown(reviewed, VIEWS["column"])
    assert page.locator(".line.is-removed").count() == 3  # into int_shipments, and to both of its models


def test_views_are_limited_to_what_changes_or_breaks(shown: Opened, reviewed: Path) -> None:
    page = shown(reviewed)
    everything = set(cards(page))
    page.locator("[data-changed='near']").click()
    near = set(cards(page))
    page.locator("[data-changed='only']").click()
    only = set(cards(page))
    assert only < near <= everything
    assert {"carriers", "rpt_shipments", "int_shipments"} <= only
    assert "rpt_shipping" in near - only
    assert "changed=only" in page.url


def test_the_keyboard_reaches_findings_and_is_answered(opened: Opened, reviewed: Path) -> None:
    page = opened(reviewed)
    page.locator("#findings").focus()
    page.keyboard.press("Enter")
    expect(page.locator("#said")).to_have_text("findings hidden")
    assert page.locator("#panel").is_hidden()
    assert focused(page) == "findings"
    page.keyboard.press("Enter")
    page.locator("#changes button.item").first.focus()
    page.keyboard.press("Enter")
    expect(page.locator("#panel h2")).to_have_text("fct_orders")
    page.keyboard.press("Escape")
    page.keyboard.press("Escape")
    labels = [each.get_attribute("aria-label") or "" for each in page.locator(".card").all()]
    assert [label for label in labels if label.endswith("✕ breaks")] != []


@pytest.mark.parametrize("view", VIEWS)
def test_axe_finds_nothing_and_texts_have_contrast(shown: Opened, reviewed: Path, view: str) -> None:
    page = shown(reviewed, VIEWS[view])
    check_both_themes(page)
    assert axe_findings(page) == []


def test_a_print_has_the_findings_and_no_controls(shown: Opened, reviewed: Path) -> None:
    page = shown(reviewed)
    page.emulate_media(media="print")
    assert page.locator("#moments").is_hidden()
    expect(page.locator("#changes")).to_contain_text("renamed to net_revenue")
    assert page.evaluate("getComputedStyle(document.querySelector('#panel')).overflowY") == "visible"


def test_a_phone_lists_what_is_affected(phone: OpenedOnPhone, reviewed: Path) -> None:
    page = phone(reviewed)
    assert "rpt_shipments" in entries(page)
    page.locator("#findings").tap()
    expect(page.locator("#panel h2")).to_have_text("Findings")
    assert check(page, "targets") == []
    assert axe_findings(page) == []


def test_findings_outside_of_the_graph_are_listed(opened: Opened, tmp_path: Path) -> None:
    note = "no graph: only files are known"
    outside = Finding("invalid statement", "etl/a.sql", "etl/a.sql", "line 3: <b>", Severity.BREAKING)
    page = opened(review_page.save(tmp_path, ReviewResult((Assessed(outside),), (note,))))
    expect(page.locator("#changes li").first).to_contain_text("line 3: <b>")
    expect(page.locator("#changes li").last).to_have_text(note)
    assert page.locator("#changes button").count() == 0
