"""Copies and downloads of what is seen."""

import csv
import io
import struct
from collections.abc import Callable
from pathlib import Path
from urllib.parse import quote
from xml.etree import ElementTree

import pytest
from playwright.sync_api import BrowserContext, Page, expect

from tests.page.page_graphs import PageGraph
from tests.page.page_reading import Opened, find

TICKIT = f"#view=pipeline&band={quote('dev|tickit_ol')}"
SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture
def saved(tmp_path: Path) -> Callable[[Page, str], bytes]:
    """Export the view in a format, and return the file."""

    def save(page: Page, kind: str) -> bytes:
        page.locator("#export-button").click()
        with page.expect_download() as waiting:
            page.locator(f"[data-export='{kind}']").click()
        file = tmp_path / f"view.{kind}"
        waiting.value.save_as(file)
        assert waiting.value.suggested_filename.endswith(f".{kind}")
        return file.read_bytes()

    return save


def test_svg_has_the_cards_and_lines(
    shown: Opened, captures: Path, saved: Callable[[Page, str], bytes]
) -> None:
    page = shown(captures, TICKIT)
    root = ElementTree.fromstring(saved(page, "svg"))  # the page's own file
    texts = {each.text for each in root.iter(f"{SVG}text")}
    assert {"stg_sales", "top_events_by_sales", "tickit_sales_ingest", "dbt · project tickit"} <= texts
    # Each line is a shape and an arrow; icons have paths too.
    assert len(list(root.iter(f"{SVG}path"))) >= 2 * page.locator("#lines .line").count()


def test_svg_of_hostile_names_is_well_formed(opened: Opened, saved: Callable[[Page, str], bytes]) -> None:
    made = PageGraph()
    made.dataset("s3://b", "x", label="file", name="</text><script>alert(1)</script> \x0b & \ud83d")
    root = ElementTree.fromstring(saved(opened(made.graph(), "#view=pipeline"), "svg"))
    assert list(root.iter(f"{SVG}script")) == []


def test_png_has_the_size_of_the_view(
    shown: Opened, captures: Path, saved: Callable[[Page, str], bytes]
) -> None:
    data = saved(shown(captures, TICKIT), "png")
    assert data[:8] == b"\x89PNG\r\n\x1a\n"
    width, height = struct.unpack(">II", data[16:24])
    assert width > 2000
    assert height > 800


def rows(data: bytes) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(data.decode())))


def test_csv_of_a_trace_is_its_path(
    shown: Opened, captures: Path, saved: Callable[[Page, str], bytes]
) -> None:
    page = shown(captures, TICKIT)
    find(page, "stg_sales#pricepaid")
    found = {(row["step"], row["dataset"], row["column"], row["how"]) for row in rows(saved(page, "csv"))}
    assert ("-4", "s3://tickit-raw/sales", "pricepaid", "source") in found
    assert ("1", "dev.tickit_marts.fct_sales", "net_amount", "calculated") in found


def test_csv_of_a_pipeline_has_its_feeds(
    shown: Opened, captures: Path, saved: Callable[[Page, str], bytes]
) -> None:
    page = shown(captures, TICKIT)
    drawn = page.evaluate("() => lineage.app.scene.edges.length")
    found = {(row["from"], row["to"]) for row in rows(saved(page, "csv"))}
    assert ("s3://tickit-lake/sales_dl", "dev.public.sales") in found
    assert len(found) == drawn


def test_csv_runs_no_formula(opened: Opened, saved: Callable[[Page, str], bytes]) -> None:
    made = PageGraph()
    one = made.dataset("s3://b", "one", label="file")
    made.feeds(one, made.dataset("s3://b", "two", label="file"), '=HYPERLINK("x")')
    (row,) = rows(saved(opened(made.graph(), "#view=pipeline"), "csv"))
    assert row["job"] == '\'=HYPERLINK("x")'


def test_names_and_links_are_copied(opened: Opened, captures: Path, context: BrowserContext) -> None:
    context.grant_permissions(["clipboard-read", "clipboard-write"])
    page = opened(captures, TICKIT)
    find(page, "stg_sales#pricepaid")
    page.get_by_role("button", name="Copy name").click()
    expect(page.locator("#said")).to_have_text("name copied")
    pasted = "navigator.clipboard.readText()"
    assert page.evaluate(pasted).endswith("tickit_staging.stg_sales#pricepaid")
    page.get_by_role("button", name="Copy link").click()
    expect(page.locator("#said")).to_have_text("link copied")
    link = page.evaluate(pasted)
    assert "column=pricepaid" in link
    again = opened(captures, f"#{link.partition('#')[2]}")
    assert again.locator("#crumb h2").text_content() == "stg_sales.pricepaid"


def test_each_view_can_be_exported(
    shown: Opened, captures: Path, saved: Callable[[Page, str], bytes]
) -> None:
    for view, text in [("overview", "tickit_staging"), ("list", "sales_dashboard")]:
        page = shown(captures, f"#view={view}")
        root = ElementTree.fromstring(saved(page, "svg"))
        assert text in {each.text for each in root.iter(f"{SVG}text")}
        assert len(rows(saved(page, "csv"))) == 74
