"""Usage by statements of a query log on the page."""

import json
import re
from pathlib import Path
from urllib.parse import quote

import pytest
from playwright.sync_api import expect

from tests.command_line import in_process
from tests.lineage_made import MadeLineage, at, col
from tests.page.page_reading import Opened

DAY = 24 * 3_600_000
# 2026-11-26.
UNTIL = 20_783 * DAY


@pytest.fixture
def file(tmp_path: Path) -> Path:
    made = MadeLineage().flow("s3://raw|in > orders > seen").observed(UNTIL - 117 * DAY, UNTIL)
    made.columns("s3://raw|in.id > orders.id").columns("s3://raw|in.note > orders.note")
    made.columns("orders.id > seen.id").nodes[at("seen")]["label"] = "view"
    made.read(at("orders"), 1204, UNTIL - 6 * DAY).read(col("seen", "id"), 5, UNTIL - 2 * DAY)
    page = tmp_path / "lineage.html"
    outcome = in_process("html", "--out", str(page), "--folder", made.folder(tmp_path / "lineage"))
    assert outcome.code == 0, outcome.err
    return page


def test_only_what_a_query_log_covers_has_usage(file: Path) -> None:
    data = json.loads(re.findall(r'<script[^>]*id="data">(.*?)</script>', file.read_text(), re.DOTALL)[0])
    datasets = {
        each["name"]: (dict(each["facts"]).get("usage"), {row[0]: row[3:] for row in each["columns"]})
        for each in data["datasets"]
    }

    assert datasets == {
        "in": (None, {"id": [], "note": []}),
        "orders": (
            "Read 1,204 times, last on 2026-11-20",
            {
                "id": [[["usage", "Read through seen#id, last on 2026-11-24"]]],
                "note": [[["usage", "Not read since 2026-08-01 (observed)"]]],
            },
        ),
        "seen": (
            "Not read since 2026-08-01 (observed)",
            {"id": [[["usage", "Read 5 times, last on 2026-11-24"]]]},
        ),
    }


def test_the_panel_shows_the_usage_of_a_dataset_and_of_a_column(opened: Opened, file: Path) -> None:
    page = opened(file, f"#dataset={quote(at('orders'))}")
    facts = page.locator("#panel .facts > div")

    assert facts.all_text_contents()[-2:] == ["Columns2", "UsageRead 1,204 times, last on 2026-11-20"]
    page.locator("#panel .item", has_text="note").click()
    expect(facts.last).to_have_text("UsageNot read since 2026-08-01 (observed)")
    expect(page.locator("#panel section", has_text="More")).to_have_count(0)
