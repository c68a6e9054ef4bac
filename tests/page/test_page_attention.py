"""The index lists failed runs, stale data, datasets with two names, near misses, and unread files."""

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

from playwright.sync_api import expect

from lineage_merge.exporters.page import Options, render
from lineage_merge.graph_format.elements import Subgraph
from lineage_merge.merge.report import Dismissed, NearMiss
from tests.page import shop_page
from tests.page.page_graphs import WAREHOUSE, PageGraph
from tests.page.page_reading import Opened, card, choose_filter, entries, selected, show

HOUR = 3_600_000
NOW = 1_700_000_000_000
MADE_AT = "2023-11-14 22:13 UTC"


def graph() -> Subgraph:
    made = PageGraph()
    raw = made.dataset("s3://raw", "orders", label="file")
    for name, hours in (("recent", 2), ("old", 90), ("broken", 3)):
        made.feeds(raw, target := made.dataset(WAREHOUSE, f"dev.public.{name}"), name)
        status = "failed" if name == "broken" else "succeeded"
        run: dict[str, Any] = {"last_run_at": NOW - hours * HOUR, "duration_ms": 2400, "rows_written": 5}
        made.job(name, target, status=status, **run)
    # Written under one name, read under the other.
    made.feeds(raw, made.dataset("s3://lake", "customers", label="file"), "recent")
    made.feeds(
        made.dataset(WAREHOUSE, "dev.public.customers", aliases=("s3://tmp|copy (a rule)",)),
        made.dataset(WAREHOUSE, "dev.public.report"),
        "recent",
    )
    made.feeds(raw, made.dataset("s3://tmp", "copy", label="file"), "recent")
    return made.graph()


CUSTOMERS = ("dev|s3://lake|customers", f"dev|{WAREHOUSE}|dev.public.customers")
NEAR_MISS = NearMiss(*CUSTOMERS, 80, ("same name",), "merge.rules", "merge:\n  rules: []\n")


def written(
    file: Path,
    what: Subgraph,
    hours: int | None = None,
    near_misses: tuple[NearMiss | Dismissed, ...] = (NEAR_MISS,),
) -> Path:
    freshness = shop_page.assessed(what, NOW, None if hours is None else hours * HOUR)
    page = render(what, Options(title="x", made_at=MADE_AT), freshness, near_misses=near_misses)
    file.write_text(page, encoding="utf-8")
    return file


def test_what_is_worth_a_look(opened: Opened, tmp_path: Path) -> None:
    page = opened(written(tmp_path / "attention.html", graph()))
    looks = page.locator("#sidebar .row:has(.warn) bdi").all_text_contents()
    assert looks == [
        "broken failed",
        "customers has two names",
        "customers is written and read under two names",
        "customers is not read",
        "copy is not read",
    ]
    near_miss = page.locator("#sidebar .row", has_text="two names").last
    expect(near_miss).to_contain_text("score 80: same name; Fix: merge.rules")
    expect(near_miss).to_have_attribute("title", re.compile("merge:\n  rules:"))
    page.locator("#sidebar .row", has_text="broken failed").click()
    assert selected(page) == ["broken"]
    expect(card(page, "broken").locator(".dot")).to_have_attribute("aria-label", "failed")
    expect(card(page, "broken")).to_contain_text("failed 3 h ago")
    # Nothing is expected of data, however old it is.
    expect(card(page, "old").locator(".dot")).to_have_attribute("aria-label", "succeeded")
    expect(card(page, "recent").locator(".dot")).to_have_attribute("aria-label", "succeeded")
    row = page.locator("#table tr", has_text="broken").locator("td").all_text_contents()
    assert row[2:6] == [" failed", "2023-11-14 19:13:20", "2.4 s", "5"]
    show(page, "list")
    choose_filter(page, "status", "failed")
    assert entries(page) == ["broken"]


def test_dismissed_near_misses_are_one_entry(opened: Opened, tmp_path: Path) -> None:
    dismissed = Dismissed(*CUSTOMERS, 80, ("same name",), "anna", "another shop", "2999-01-31")
    elsewhere = Dismissed("dev|s3://a|x", "dev|s3://b|x", 80, (), "eve", "not on this page")
    page = opened(written(tmp_path / "dismissed.html", graph(), near_misses=(dismissed, elsewhere)))
    row = page.locator("#sidebar .row", has_text="dismissed near misses: 1")
    expect(row).to_contain_text("customers by anna until 2999-01-31: another shop")
    expect(page.locator("#sidebar .row", has_text="under two names")).to_have_count(0)


def test_with_a_maximum_age_older_data_is_stale(opened: Opened, tmp_path: Path) -> None:
    page = opened(written(tmp_path / "stale.html", graph(), 36))
    row = page.locator("#sidebar .row", has_text="old is stale")
    expect(row).to_contain_text("last update 4 d ago, older than 1 d 12 h")
    row.click()
    expect(card(page, "old")).to_contain_text("stale: 4 d old")
    expect(card(page, "old").locator(".dot")).to_have_attribute("aria-label", "succeeded, stale: 4 d old")
    expect(card(page, "old").locator(".dot")).to_have_class("dot is-warned")
    expect(page.locator("#panel .fresh")).to_have_text("stale: older than 1 d 12 h · last update 4 d ago")
    show(page, "list")
    for status, names in (("stale", ["old"]), ("fresh", ["recent"])):
        choose_filter(page, "status", status)
        assert entries(page) == names


def test_a_time_that_is_no_date_does_not_break_the_page(opened: Opened, tmp_path: Path) -> None:
    found = graph()
    # Nanoseconds, taken for milliseconds.
    job = found.vertices["dev|daily|spark|broken"]
    properties = {**job.properties, "last_run_at": NOW * 1_000_000}
    found = Subgraph({**found.vertices, job.id: replace(job, properties=properties)}, found.edges)
    page = opened(written(tmp_path / "times.html", found))
    page.locator("#sidebar .row", has_text="broken failed").click()
    expect(page.locator("#panel")).to_contain_text(f"{NOW * 1_000_000} ms")
