"""What a new reader sees first: the top of a pipeline, columns to start from, traces without crossings."""

from itertools import pairwise
from pathlib import Path

import pytest
from playwright.sync_api import expect

from lineage_merge.exporters.page import Options, render
from tests.page.page_graphs import PageGraph
from tests.page.page_reading import Opened, card, columns, show

TOTAL = "#dataset=dev%7Cs3%3A%2F%2Fb%7Cend&column=total"


def made() -> PageGraph:
    """``raw(a, b, c) -> turned(z, y, x) -> end.total``; ``before.p -> step0.v``, then unchanged to step3."""
    graph = PageGraph()
    raw = graph.dataset("s3://b", "raw", ("a", "b", "c"), "file")
    turned = graph.dataset("s3://b", "turned", ("z", "y", "x"), "file")
    end = graph.dataset("s3://b", "end", ("total",), "file")
    graph.feeds(raw, turned)
    graph.feeds(turned, end)
    for source, target in (("a", "x"), ("b", "y"), ("c", "z")):
        graph.column_feeds((raw, source), (turned, target))
        graph.column_feeds((turned, target), (end, "total"), "AGGREGATION", "sum(x + y + z)")
    before = graph.dataset("s3://b", "before", ("p",), "file")
    chain = [graph.dataset("s3://b", f"step{number}", ("v",), "file") for number in range(4)]
    graph.feeds(before, chain[0])
    graph.column_feeds((before, "p"), (chain[0], "v"), "TRANSFORMATION", "trim(p)")
    for source_id, target_id in pairwise(chain):
        graph.feeds(source_id, target_id)
        graph.column_feeds((source_id, "v"), (target_id, "v"))
    return graph


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    written = tmp_path_factory.mktemp("first_look") / "lineage.html"
    written.write_text(render(made().graph(), Options()), encoding="utf-8")
    return written


def test_a_pipeline_opens_at_its_top_with_folded_jobs_and_without_scrollbars(
    shown: Opened, file: Path
) -> None:
    page = shown(file)
    page.set_viewport_size({"width": 1400, "height": 420})
    show(page, "pipeline")
    stage = page.locator("#stage").bounding_box()
    boxes = [each.bounding_box() for each in page.locator("#world .card").all()]
    assert stage
    assert min(box["y"] for box in boxes if box) >= stage["y"]
    expect(page.locator("#table summary")).to_be_visible()
    expect(page.locator("#table table")).to_be_hidden()
    assert page.evaluate(
        "(() => { const each = document.scrollingElement; return each.scrollWidth <= each.clientWidth; })()"
    )


def test_a_trace_without_a_selection_offers_columns(shown: Opened, file: Path) -> None:
    page = shown(file)
    show(page, "column")
    expect(page.locator("#panel h2")).to_have_text("Column trace")
    page.locator("#panel").get_by_text("total").click()
    expect(page.locator("#crumb h2")).to_have_text("end.total")


def test_rows_are_in_the_order_of_those_they_come_from(shown: Opened, file: Path) -> None:
    page = shown(file, TOTAL)
    assert [columns(card(page, name)) for name in ("raw", "turned")] in (
        [["a", "b", "c"], ["x", "y", "z"]],
        [["c", "b", "a"], ["z", "y", "x"]],
    )


def test_the_first_card_of_a_chain_shows_how_it_is_made(shown: Opened, file: Path) -> None:
    page = shown(file, "#dataset=dev%7Cs3%3A%2F%2Fb%7Cbefore&column=p")
    chain = page.locator(".card.chain")
    expect(chain.locator(".column")).to_have_count(4)
    assert "trim(p)" in (chain.locator(".column").first.text_content() or "")
