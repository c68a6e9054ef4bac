"""Times of the HTML page in Chromium: opening it, and selecting a column found by search.

    python benchmarks/page.py                            # 20, 300, 3,000 and 20,000 datasets
    python benchmarks/page.py --files old.html new.html  # pages of the same data, in turn

Pages are measured in turn, so that other work on the machine affects all of them. Figures are medians; the
table has the smallest time of each page too.
"""

import argparse
import statistics
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from playwright.sync_api import Browser, ViewportSize, sync_playwright

from benchmarks import options, results
from benchmarks.results import Figure
from lineage_merge.exporters.page import Options, render
from tests.page import chromium
from tests.page.page_graphs import large

MOST_SECONDS_TO_OPEN = 3.0
MOST_SECONDS_TO_SELECT = 0.5
WINDOW: ViewportSize = {"width": 1440, "height": 900}
_PAINTED = "new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))"

# Seconds to open a page, and to select a column, in each round.
Rounds = list[tuple[float, float]]


def measure(browser: Browser, file: Path) -> tuple[float, float]:
    """Return the seconds to open a page, and to show the lineage of a column that a search finds."""
    page = browser.new_page(viewport=WINDOW, reduced_motion="reduce")
    started = time.perf_counter()
    page.goto(file.as_uri())
    page.wait_for_selector("html[data-ready]", state="attached")
    page.evaluate(_PAINTED)
    opened = time.perf_counter() - started
    page.locator("#search").fill("mart_0001#c0")
    started = time.perf_counter()
    page.keyboard.press("Enter")
    page.evaluate(_PAINTED)
    selected = time.perf_counter() - started
    page.close()
    return opened, selected


def measure_all(program: str, pages: Mapping[str, Path], rounds: int) -> dict[str, Rounds]:
    """Measure pages in turn."""
    taken: dict[str, Rounds] = {name: [] for name in pages}
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program)
        for _ in range(rounds):
            for name, file in pages.items():
                taken[name].append(measure(browser, file))
        browser.close()
    return taken


def generate(folder: Path, sizes: Sequence[int]) -> Iterator[tuple[str, Path]]:
    """Write pages of so many datasets; yield their names and files."""
    for size in sizes:
        file = folder / f"{size}.html"
        file.write_text(render(large(size), Options(title=f"{size} datasets")), encoding="utf-8")
        yield f"{size:,} datasets", file


def figures(pages: Mapping[str, Path], taken: Mapping[str, Rounds]) -> Iterator[Figure]:
    """Print a table; yield the figures."""
    print(f"{'page':<24} {'bytes':>12} {'open':>7} {'median':>7} {'select':>7} {'median':>7}")
    for name, rounds in taken.items():
        opened, selected = zip(*rounds, strict=True)
        to_open, to_select = statistics.median(opened), statistics.median(selected)
        seconds = " ".join(f"{each:7.2f}" for each in (min(opened), to_open, min(selected), to_select))
        size = pages[name].stat().st_size
        print(f"{name:<24} {size:>12,} {seconds}")
        yield Figure(name, "open", round(to_open, 3), "s", at_most=MOST_SECONDS_TO_OPEN)
        yield Figure(name, "select a column", round(to_select, 3), "s", at_most=MOST_SECONDS_TO_SELECT)
        yield Figure(name, "file", round(size / 1e6, 2), "MB")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--datasets", type=int, nargs="+", default=[20, 300, 3_000, 20_000])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--files", type=Path, nargs="+", help="pages (default: generated ones)")
    options.add_to(parser, smallest={"datasets": [20], "rounds": 1})
    arguments = parser.parse_args()
    program = chromium.program()
    if program is None:
        print("no Chromium on PATH, and CHROMIUM names none")
        raise SystemExit(options.SKIPPED)
    with tempfile.TemporaryDirectory() as folder:
        if arguments.files:
            pages = {str(file): file.absolute() for file in arguments.files}
        else:
            pages = dict(generate(Path(folder), arguments.datasets))
        found = [*figures(pages, measure_all(program, pages, arguments.rounds))]
    results.append(arguments.results, "page", found)


if __name__ == "__main__":
    main()
