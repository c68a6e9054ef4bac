"""Times of the HTML page in Chromium: opening, and selecting a column found by search.

    python -m benchmarks.page                          # 20, 300, 3,000 and 20,000 datasets
    python -m benchmarks.page --files old.html new.html  # pages of the same data, in turn

Prints the smallest and the median time of each page, in seconds. Pages are measured in turn, so that other
work on the machine affects all of them.
"""

import argparse
import statistics
import sys
import tempfile
import time
from pathlib import Path

from playwright.sync_api import Browser, sync_playwright

from lineage_merge.exporters.page import Options, render
from tests.page import chromium
from tests.page.page_graphs import large

SIZES = (20, 300, 3_000, 20_000)
WINDOW = {"width": 1440, "height": 900}
_PAINTED = "new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))"


def measure(browser: Browser, file: Path) -> tuple[float, float]:
    """Return the seconds to open a page, and to show the lineage of a column that a search finds."""
    page = browser.new_page(viewport=WINDOW, reduced_motion="reduce")
    started = time.monotonic()
    page.goto(file.as_uri())
    page.wait_for_selector("html[data-ready]", state="attached")
    page.evaluate(_PAINTED)
    opened = time.monotonic() - started
    page.locator("#search").fill("mart_0001#c0")
    started = time.monotonic()
    page.keyboard.press("Enter")
    page.evaluate(_PAINTED)
    selected = time.monotonic() - started
    page.close()
    return opened, selected


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--files", type=Path, nargs="+", help="pages  [default: generated ones]")
    arguments = parser.parse_args()
    program = chromium.program()
    if program is None:
        raise SystemExit("no Chromium on PATH, and CHROMIUM names none")
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        files = [file.absolute() for file in arguments.files or _generated(Path(folder))]
        browser = playwright.chromium.launch(executable_path=program)
        times: dict[Path, list[tuple[float, float]]] = {file: [] for file in files}
        for _ in range(arguments.rounds):
            for file in files:
                times[file].append(measure(browser, file))
        browser.close()
        sys.stdout.write(
            f"{'page':<24} {'bytes':>12} {'open':>7} {'median':>7} {'select':>7} {'median':>7}\n"
        )
        for file, found in times.items():
            opened, selected = zip(*found, strict=True)
            numbers = [min(opened), statistics.median(opened), min(selected), statistics.median(selected)]
            seconds = " ".join(f"{number:7.2f}" for number in numbers)
            sys.stdout.write(f"{file.name:<24} {file.stat().st_size:>12,} {seconds}\n")


def _generated(folder: Path) -> list[Path]:
    files = []
    for size in SIZES:
        file = folder / f"{size}_datasets.html"
        file.write_text(render(large(size), Options(title=f"{size} datasets")), encoding="utf-8")
        files.append(file)
    return files


if __name__ == "__main__":
    main()
