"""The first view: numbers that lead to their datasets; layers of owners and tags; links that restore them."""

import re
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from lineage_merge.exporters.page import Options, Topic, render
from tests.page import compared_page
from tests.page.page_graphs import WAREHOUSE, PageGraph
from tests.page.page_reading import Opened, card, entries, find

LEAK = "dev.mart.mails#mail carries pii of s3://raw/customers#mail"
FIX = "policy no-pii: mask the column"


@pytest.fixture(scope="module")
def story(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a page with a violated policy, a failed test, owners and tags."""
    made = PageGraph()
    raw = made.dataset("s3://raw", "customers", ("mail",), "file", tags=("pii",))
    staging = made.dataset(WAREHOUSE, "dev.staging.mails", ("mail",), owners=("anna",))
    mart = made.dataset(WAREHOUSE, "dev.mart.mails", ("mail",), owners=("ben",), tags=("daily",))
    for source, target, expression in ((raw, staging, "lower(mail)"), (staging, mart, "trim(mail)")):
        made.feeds(source, target)
        made.column_feeds((source, "mail"), (target, "mail"), "TRANSFORMATION", expression)
    made.check("mails_are_unique", mart, status="failed")
    topics = [
        Topic("policy-failed", "violate a policy", "failed", (mart,), ((mart, LEAK, FIX),)),
        Topic("carries-pii", "carry pii", "note", (raw, staging, mart)),
    ]
    file = tmp_path_factory.mktemp("story") / "story.html"
    file.write_text(render(made.graph(), Options(title="story"), topics=topics), encoding="utf-8")
    return file


def tiles(page: Page) -> list[str]:
    """Return the numbers of the first view."""
    return page.locator("#story .tile").all_inner_texts()


def test_numbers_come_first_what_failed_before_the_rest(shown: Opened, story: Path) -> None:
    found = [" ".join(text.split()) for text in tiles(shown(story))]
    assert found == ["1 violate a policy", "1 with failed tests", "3 carry pii"]


def test_a_number_leads_to_its_datasets(shown: Opened, story: Path) -> None:
    page = shown(story)
    page.locator("#story .tile", has_text="violate a policy").click()
    assert entries(page) == ["mails"]
    page.locator(".entry").click()
    expect(page.locator("#panel .notice")).to_contain_text(f"{LEAK}{FIX}")
    assert "status=policy-failed" in page.url


def test_a_graph_without_problems_says_so(opened: Opened) -> None:
    made = PageGraph()
    made.dataset(WAREHOUSE, "dev.mart.mails")
    assert tiles(opened(made.graph())) == ["nothing failed, nothing is stale"]


def test_changes_of_a_week_lead_to_the_comparison(opened: Opened, tmp_path: Path) -> None:
    page = opened(compared_page.save(tmp_path))
    # Of all pipelines, also after one was opened.
    page.locator(".band .open").first.click()
    page.locator("[data-view='overview']").click()
    page.locator("#story .tile", has_text="changes in").click()
    expect(page.locator("#panel h2")).to_have_text("What changed")
    assert "compare=2026-01-01" in page.url
    assert "band=" not in page.url


def test_the_slider_selects_a_moment(opened: Opened, tmp_path: Path) -> None:
    page = opened(compared_page.save(tmp_path))
    page.locator("#moment-slider").fill("0")
    expect(page.locator("#moment")).to_have_value("0")
    assert "moment=2026-01-01" in page.url


@pytest.mark.parametrize(
    ("typed", "found", "heading"),
    [
        ("trim(", "trim(mail)", "mail"),
        ("are_unique", "mails_are_unique", "mails"),
        ("anna", "anna", None),
    ],
)
def test_search_finds_expressions_tests_and_owners(
    shown: Opened, story: Path, typed: str, found: str, heading: str | None
) -> None:
    page = shown(story)
    page.locator("#search").fill(typed)
    assert page.locator("#results .found").first.inner_text() == found
    find(page, typed)
    if heading:
        expect(page.locator("#panel h2")).to_have_text(heading)


def test_a_layer_writes_owners_on_cards(shown: Opened, story: Path) -> None:
    page = shown(story, "#view=pipeline&band=dev%7Cdaily")
    page.locator("[data-layer='owner']:visible").click()
    assert card(page, "customers").locator(".where").inner_text() == "no owner"
    labels = [each.get_attribute("aria-label") or "" for each in page.locator(".card").all()]
    assert sorted(re.findall("anna|ben|no owner", " ".join(labels))) == ["anna", "ben", "no owner"]
    hues = page.locator(".card .layer").evaluate_all("all => all.map((each) => getComputedStyle(each).color)")
    assert len(set(hues)) == 2


def test_tags_that_are_inherited_are_a_layer_too(shown: Opened, story: Path) -> None:
    page = shown(story, "#view=pipeline&band=dev%7Cdaily&layer=tag")
    texts = page.locator(".card .where").all_inner_texts()
    assert sorted(re.sub(r"^[A-Z]+\s*", "", text) for text in texts) == [
        "carries pii",
        "daily, carries pii",
        "pii",
    ]


def test_a_link_restores_the_view(opened: Opened, story: Path) -> None:
    link = (
        "view=pipeline&band=dev%7Cdaily&dataset=dev%7Cs3%3A%2F%2Fraw%7Ccustomers&layer=owner&theme=dark"
        "&environment=dev&window=11%2C22%2C0.5"
    )
    page = opened(story, f"#{link}")
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.locator("#export-button").click()
    page.locator("#export [data-action='copy-link']").click()
    expect(page.locator("#said")).to_have_text("link copied")
    copied = page.evaluate("navigator.clipboard.readText()").partition("#")[2]
    assert sorted(copied.split("&")) == sorted(link.split("&"))
    assert page.locator("html").get_attribute("data-theme") == "dark"


def test_a_print_has_the_content_and_no_controls(shown: Opened, story: Path) -> None:
    page = shown(story, "#view=list")
    page.emulate_media(media="print")
    assert page.locator("header.bar").is_hidden()
    assert page.locator(".entry").count() == 3
    assert page.evaluate("getComputedStyle(document.querySelector('#listing')).overflowY") == "visible"


def test_the_table_of_a_trace_fits_beside_the_panel(shown: Opened, story: Path) -> None:
    page = shown(story, "#dataset=dev%7Credshift%3A%2F%2Fwh%3A5439%7Cdev.mart.mails&column=mail")
    page.set_viewport_size({"width": 900, "height": 900})
    expect(page.locator("#table th").last).to_be_in_viewport()
    assert page.evaluate(
        "document.getElementById('table').scrollWidth <= document.getElementById('table').clientWidth"
    )
    expect(page.locator("#table td", has_text="trim(mail)")).to_be_in_viewport()
