"""Take the screenshots of the page: ``python docs/make_screenshots.py``, in a checkout with the extra `test`.

Of a merge of all captures (`tests/data/page_captures.json`), of a dbt project with tests, of a history, of a
review, and of 3,000 generated datasets. Arguments are names of pictures, such as `page_tests.png`  [default:
all].
"""

import json
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from playwright.sync_api import Browser, Page, ViewportSize, sync_playwright

REPOSITORY = Path(__file__).parents[1]
sys.path.insert(0, str(REPOSITORY))

from lineage_merge.exporters.page import Options, render  # noqa: E402
from lineage_merge.exporters.page.document import document  # noqa: E402
from tests.page import chromium, compared_page, review_page, shop_page  # noqa: E402
from tests.page.page_graphs import large  # noqa: E402

PICTURES = REPOSITORY / "docs" / "images"
CAPTURES = REPOSITORY / "tests" / "data" / "page_captures.json"
SIZE: ViewportSize = {"width": 1440, "height": 900}
PHONE: ViewportSize = {"width": 390, "height": 844}
MOST_BYTES = 300_000


def overview(page: Page) -> None:
    """Show all pipelines."""


def pipeline(page: Page) -> None:
    """Open one pipeline."""
    page.locator(".band", has_text="tickit_ol").locator(".open").click()


def dataset(page: Page) -> None:
    """Select a dataset of the pipeline."""
    pipeline(page)
    page.locator(".card", has_text="stg_sales").click()


def column(page: Page) -> None:
    """Trace a column in the middle of the pipeline."""
    pipeline(page)
    search(page, "stg_sales#pricepaid")


def listed(page: Page) -> None:
    """Show the list."""
    page.locator("#views [data-view='list']").click()


def details(page: Page) -> None:
    """Show the details of a dataset on a phone."""
    page.locator(".entry", has_text="fct_sales").first.click()


def found(page: Page) -> None:
    """Show search results of a mistyped text."""
    page.locator("#search").fill("sales dash")


def group(page: Page) -> None:
    """Open a pipeline of 3,000 datasets in groups."""
    page.locator(".band .open").first.click()


def tests(page: Page) -> None:
    """Select a dataset with failed tests."""
    page.locator(".band .open").first.click()
    page.locator(".card", has_text="stg_customers").click()
    page.locator("#panel .test summary").first.click()


def compare(page: Page) -> None:
    """Compare the newest moment with the oldest."""
    page.locator("#views [data-view='compare']").click()
    page.locator("#compare").select_option("0")


def review(page: Page) -> None:
    """Limit a review to what changes or breaks."""
    page.locator("#moments [data-changed='only']").click()


def search(page: Page, text: str) -> None:
    """Go to the first that is found."""
    page.locator("#search").fill(text)
    page.locator("#search").press("Enter")


@dataclass(frozen=True)
class Picture:
    """A file below docs/images, and what it shows."""

    name: str
    steps: Callable[[Page], None]
    dark: bool = False
    phone: bool = False
    data: str = "captures"


ALL = (
    Picture("page_overview.png", overview),
    Picture("page_overview_dark.png", overview, dark=True),
    Picture("page_pipeline.png", pipeline),
    Picture("page_dark.png", dataset, dark=True),
    Picture("page_dataset.png", dataset),
    Picture("page_tests.png", tests, data="shop"),
    Picture("page_columns.png", column),
    Picture("page_columns_dark.png", column, dark=True),
    Picture("page_compare.png", compare, data="compared"),
    Picture("page_review.png", review, data="review"),
    Picture("page_list.png", listed),
    Picture("page_search.png", found),
    Picture("page_phone.png", overview, phone=True),
    Picture("page_phone_details.png", details, phone=True),
    Picture("page_groups.png", group, data="large"),
)


def main() -> None:
    """Write all screenshots."""
    program = chromium.program()
    if program is None:
        raise SystemExit("no Chromium on PATH, and CHROMIUM names none")
    PICTURES.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as name, sync_playwright() as playwright:
        captures = json.loads(CAPTURES.read_text(encoding="utf-8"))
        pages = {
            "captures": document({**captures, "title": "Lineage"}),
            "shop": shop_page.page(),
            "compared": compared_page.page(),
            "review": review_page.save(Path(name)).read_text(encoding="utf-8"),
            "large": render(large(), Options(title="3,000 datasets")),
        }
        browser = playwright.chromium.launch(executable_path=program)
        for picture in ALL:
            if sys.argv[1:] and picture.name not in sys.argv[1:]:
                continue
            file = Path(name, f"{picture.data}.html")
            file.write_text(pages[picture.data], encoding="utf-8")
            take(browser, file, picture)
        browser.close()


def take(browser: Browser, file: Path, picture: Picture) -> None:
    """Take one screenshot. Raises `SystemExit` if it is too large for a repository."""
    page = browser.new_page(
        viewport=PHONE if picture.phone else SIZE,
        color_scheme="dark" if picture.dark else "light",
        reduced_motion="reduce",
    )
    page.goto(file.as_uri())
    page.wait_for_selector("html[data-ready]", state="attached")
    picture.steps(page)
    page.mouse.move(5, SIZE["height"] - 5)
    page.wait_for_timeout(200)
    data = page.screenshot(path=PICTURES / picture.name)
    page.close()
    if len(data) > MOST_BYTES:
        raise SystemExit(f"{picture.name} has {len(data):,} bytes")
    sys.stdout.write(f"{PICTURES / picture.name}: {len(data):,} bytes\n")


if __name__ == "__main__":
    main()
