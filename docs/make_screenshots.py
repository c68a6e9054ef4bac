"""Takes the pictures of the page: ``python docs/make_screenshots.py``, in a checkout with the extra `test`.

Of the sample pipeline as `lineage-merge build` and `html` make it, and of 3,000 made-up datasets.
"""

import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from playwright.sync_api import Browser, Page, sync_playwright

REPOSITORY = Path(__file__).parents[1]
sys.path.insert(0, str(REPOSITORY))

from lineage_merge.exporters.page import Options, render  # noqa: E402
from tests.page import chromium  # noqa: E402
from tests.page.page_graphs import large  # noqa: E402

PICTURES = REPOSITORY / "docs" / "images"
SIZE = {"width": 1280, "height": 560}
MOST_BYTES = 300_000


def columns(page: Page) -> None:
    """A column in the middle of the pipeline: where it comes from, and what is made of it."""
    search(page, "stg_sales")
    page.get_by_role("button", name="Focus on its lineage").click()
    page.locator("#depth").select_option("2")
    search(page, "stg_sales#pricepaid")
    page.locator("#fit").click()


def dataset(page: Page) -> None:
    """A dataset, and what it comes from and goes to."""
    search(page, "sales_dl")
    page.locator("#fit").click()


def group(page: Page) -> None:
    """3,000 datasets, one group of them opened."""
    page.locator(".card", has_text="staging…").click()


def search(page: Page, text: str) -> None:
    """Go to the first that is found."""
    page.locator("#search").fill(text)
    page.keyboard.press("Enter")


def main() -> None:
    """Write all pictures."""
    program = chromium.program()
    if program is None:
        raise SystemExit("no Chromium on PATH, and CHROMIUM names none")
    PICTURES.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as name, sync_playwright() as playwright:
        folder = Path(name)
        tickit = folder / "tickit.html"
        made = folder / "large.html"
        merge = [sys.executable, "-c", "from lineage_merge.cli import main; main()"]
        sample = REPOSITORY / "sample_data" / "lineage_merge.yml"
        built = folder / "lineage"
        build = ["build", "-q", "-c", sample, "--format", "jsonl", "--out", built]
        html = ["html", "--folder", built, "--title", "TICKIT", "--out", tickit]
        for command in (build, html):
            subprocess.run([*merge, *command], check=True, stdout=subprocess.DEVNULL)  # noqa: S603
        made.write_text(render(large(), Options(title="3,000 datasets")), encoding="utf-8")
        browser = playwright.chromium.launch(executable_path=program)
        take(browser, tickit, "page_columns.png", columns)
        take(browser, tickit, "page_dark.png", dataset, dark=True)
        take(browser, made, "page_groups.png", group)
        browser.close()


def take(
    browser: Browser, file: Path, picture: str, steps: Callable[[Page], None], *, dark: bool = False
) -> None:
    """One picture, after these steps. Raises `SystemExit` where it would be too large for a repository."""
    page = browser.new_page(viewport=SIZE, color_scheme="dark" if dark else "light", reduced_motion="reduce")
    page.goto(file.as_uri())
    page.wait_for_selector("html[data-ready]", state="attached")
    steps(page)
    page.mouse.move(SIZE["width"] / 2, SIZE["height"] - 5)
    data = page.screenshot(path=PICTURES / picture)
    page.close()
    if len(data) > MOST_BYTES:
        raise SystemExit(f"{picture} has {len(data):,} bytes")
    sys.stdout.write(f"{PICTURES / picture}: {len(data):,} bytes\n")


if __name__ == "__main__":
    main()
