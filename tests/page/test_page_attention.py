"""The index lists failed and old runs, datasets with two names, near misses, and files that are not read."""

from dataclasses import replace
from pathlib import Path

from playwright.sync_api import expect

from lineage_merge.exporters.page import Options, render
from lineage_merge.query.elements import Subgraph, Vertex
from tests.page.page_graphs import WAREHOUSE, PageGraph
from tests.page.page_reading import Opened, card, choose_filter, entries, selected, show

HOUR = 3_600_000
NOW = 1_700_000_000_000
MADE_AT = "2023-11-14 22:13 UTC"


def job(name: str, hours: int, status: str = "succeeded") -> Vertex:
    properties = {"environment": "dev", "dag_name": ("daily",), "name": name, "job_type": "spark"}
    run = {"status": status, "last_run_at": NOW - hours * HOUR, "duration_ms": 2400, "rows_written": 5}
    return Vertex(f"dev|daily|spark|{name}", "job", {**properties, **run})


def graph() -> Subgraph:
    made = PageGraph()
    raw = made.dataset("s3://raw", "orders", label="file")
    for name in ("fresh", "old", "broken"):
        made.feeds(raw, made.dataset(WAREHOUSE, f"dev.public.{name}"), name)
    # Written under one name, read under the other.
    made.feeds(raw, made.dataset("s3://lake", "customers", label="file"), "fresh")
    made.feeds(
        made.dataset(WAREHOUSE, "dev.public.customers", aliases=("s3://tmp|copy (a rule)",)),
        made.dataset(WAREHOUSE, "dev.public.report"),
        "fresh",
    )
    made.feeds(raw, made.dataset("s3://tmp", "copy", label="file"), "fresh")
    built = made.graph()
    jobs = [job("fresh", 2), job("old", 90), job("broken", 3, "failed")]
    return Subgraph({**built.vertices, **{each.id: each for each in jobs}}, built.edges)


def test_what_is_worth_a_look(opened: Opened, tmp_path: Path) -> None:
    file = tmp_path / "attention.html"
    file.write_text(render(graph(), Options(title="x", made_at=MADE_AT)), encoding="utf-8")
    page = opened(file)
    looks = page.locator("#sidebar .row:has(.warn) bdi").all_text_contents()
    assert looks == [
        "broken failed",
        "old: last run 4 d ago",
        "customers has two names",
        "customers is written and read under two names",
        "customers is not read",
        "copy is not read",
    ]
    page.locator("#sidebar .row", has_text="broken failed").click()
    assert selected(page) == ["broken"]
    expect(card(page, "broken").locator(".dot")).to_have_attribute("aria-label", "failed")
    expect(card(page, "broken")).to_contain_text("failed 3 h ago")
    expect(card(page, "old").locator(".dot")).to_have_attribute("aria-label", "older than 36 h")
    expect(card(page, "fresh").locator(".dot")).to_have_attribute("aria-label", "succeeded")
    row = page.locator("#table tr", has_text="broken").locator("td").all_text_contents()
    assert row[2:6] == [" failed", "2023-11-14 19:13:20", "2.4 s", "5"]
    show(page, "list")
    choose_filter(page, "status", "failed")
    assert entries(page) == ["broken"]


def test_a_time_that_is_no_date_does_not_break_the_page(opened: Opened, tmp_path: Path) -> None:
    found = graph()
    # Nanoseconds, taken for milliseconds.
    job = found.vertices["dev|daily|spark|broken"]
    properties = {**job.properties, "last_run_at": NOW * 1_000_000}
    found = Subgraph({**found.vertices, job.id: replace(job, properties=properties)}, found.edges)
    file = tmp_path / "times.html"
    file.write_text(render(found, Options(title="x", made_at=MADE_AT)), encoding="utf-8")
    page = opened(file)
    page.locator("#sidebar .row", has_text="broken failed").click()
    expect(page.locator("#panel")).to_contain_text(f"{NOW * 1_000_000} ms")
