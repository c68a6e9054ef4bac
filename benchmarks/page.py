"""Times of the HTML page in Chromium: opening it, and selecting a column found by search.

    python benchmarks/page.py                            # 20, 300, 3,000 and 20,000 datasets; 2 M elements
    python benchmarks/page.py --files old.html new.html  # pages of the same data, in turn
    python benchmarks/page.py --tables 19500 38500       # only folders of 1 and 2 M elements

Pages are measured in turn, so that other work on the machine affects all of them. Figures are medians; the
table has the smallest time of each page too. Folders are written by the command in a process of its own; of
them the first trace after opening is measured, a second one, and the memory of Chromium after both.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from playwright.sync_api import Browser, Page, ViewportSize, sync_playwright

from benchmarks import made_company, options, results
from benchmarks.build import memory_mb
from benchmarks.results import Figure
from lineage_merge.exporters.page import Options, render
from tests.page import chromium
from tests.page.page_graphs import large

MOST_SECONDS_TO_OPEN = 3.0
MOST_SECONDS_TO_SELECT = 0.5
# Of a folder, whatever its size: with the shards that are loaded.
MOST_SECONDS_TO_TRACE = 0.2
MOST_CHROMIUM_MB = 500.0
WINDOW: ViewportSize = {"width": 1440, "height": 900}
_PAINTED = "new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))"

# Milliseconds from the Enter key until the trace of a column is drawn, whose shards are loaded meanwhile.
_TRACE = """(title) => new Promise((done) => {
  const started = performance.now();
  const end = () => done(performance.now() - started);
  const painted = () => requestAnimationFrame(() => requestAnimationFrame(end));
  new MutationObserver((_, observer) => {
    if (document.querySelector("#crumb h2")?.textContent !== title) return;
    observer.disconnect();
    painted();
  }).observe(document.getElementById("crumb"), { childList: true, subtree: true });
  const enter = new KeyboardEvent("keydown", { key: "Enter", bubbles: true });
  document.getElementById("search").dispatchEvent(enter);
})"""

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


@dataclass(frozen=True)
class WrittenFolder:
    """A page with shards: its elements, and what writing it took."""

    name: str
    index: Path
    tables: int
    seconds: float
    memory_mb: float
    megabytes: float


def write_folders(folder: Path, sizes: Sequence[int]) -> Iterator[WrittenFolder]:
    """Write pages of companies of so many tables by the command; yield them."""
    for tables in sizes:
        graph, out = folder / f"graph-{tables}", folder / f"page-{tables}"
        elements = made_company.write_large_folder(graph, tables)
        command = [sys.executable, "-m", "lineage_merge", "html", "--out", f"{out}/", "--folder", str(graph)]
        started = time.perf_counter()
        with subprocess.Popen(
            [*command, "--json"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        ) as process:
            assert process.stdout
            written = json.loads(process.stdout.read())
            _, status, usage = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
        seconds = time.perf_counter() - started
        name, memory_mb, megabytes = f"{elements:,} elements", usage.ru_maxrss / 1e3, written["bytes"] / 1e6
        yield WrittenFolder(name, out / "index.html", tables, seconds, memory_mb, megabytes)


def measure_folder(program: str, written: WrittenFolder) -> tuple[float, float, float, float]:
    """Return the seconds to open a folder, of a first and a second trace, and then the MB of Chromium."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program)
        page = browser.new_page(viewport=WINDOW, reduced_motion="reduce")
        started = time.perf_counter()
        page.goto(written.index.as_uri())
        page.wait_for_selector(".window-row .band")
        page.evaluate(_PAINTED)
        opened = time.perf_counter() - started
        first, second = (_trace(page, int(written.tables * share)) for share in (0.3, 0.7))
        memory = memory_mb("chrom")
        browser.close()
    return opened, first, second, memory


def _trace(page: Page, table: int) -> float:
    name = made_company.table_name(table)
    page.locator("#search").fill(f"{name}#column_3")
    page.locator("#results .found").wait_for()
    return float(page.evaluate(_TRACE, f"{name}.column_3")) / 1e3


def figures_of_folders(program: str, folders: Sequence[WrittenFolder], rounds: int) -> Iterator[Figure]:
    """Print a table; yield the figures."""
    heads = f"{'folder':<24} {'open':>7} {'first':>7} {'trace':>7} {'MB':>7}"
    print(f"\n{heads}  {'written in':>10} {'MB':>7} {'files, MB':>10}")
    for written in folders:
        columns = [*zip(*(measure_folder(program, written) for _ in range(rounds)), strict=True)]
        opened, first, second, memory = map(statistics.median, columns)
        name = written.name
        least = " ".join(f"{min(column):7.2f}" for column in columns[:3])
        print(f"{name + ', smallest':<24} {least} {min(columns[3]):7.0f}")
        print(
            f"{name:<24} {opened:7.2f} {first:7.2f} {second:7.2f} {memory:7.0f}  "
            f"{written.seconds:10.1f} {written.memory_mb:7.0f} {written.megabytes:10.1f}"
        )
        yield Figure(name, "folder: open", round(opened, 3), "s", at_most=MOST_SECONDS_TO_OPEN)
        yield Figure(name, "folder: first trace", round(first, 3), "s", at_most=MOST_SECONDS_TO_SELECT)
        yield Figure(name, "folder: trace", round(second, 3), "s", at_most=MOST_SECONDS_TO_TRACE)
        yield Figure(name, "folder: Chromium", round(memory), "MB", at_most=MOST_CHROMIUM_MB)
        yield Figure(name, "folder: writing", round(written.seconds, 1), "s")
        yield Figure(name, "folder: writing, memory", round(written.memory_mb), "MB")
        yield Figure(name, "folder: files", round(written.megabytes, 1), "MB")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--datasets", type=int, nargs="+", help="default: 20, 300, 3,000 and 20,000")
    parser.add_argument("--tables", type=int, nargs="+", help="of folders  (default: 38,500)")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--files", type=Path, nargs="+", help="pages (default: generated ones)")
    options.add_to(parser, smallest={"datasets": [20], "tables": [60], "rounds": 1})
    arguments = parser.parse_args()
    program = chromium.program()
    if program is None:
        print("no Chromium on PATH, and CHROMIUM names none")
        raise SystemExit(options.SKIPPED)
    with tempfile.TemporaryDirectory() as folder:
        sizes, tables = arguments.datasets or [], arguments.tables or []
        if not (arguments.files or sizes or tables):
            sizes, tables = [20, 300, 3_000, 20_000], [38_500]
        if arguments.files:
            pages = {str(file): file.absolute() for file in arguments.files}
        else:
            pages = dict(generate(Path(folder), sizes))
        found = [*figures(pages, measure_all(program, pages, arguments.rounds))] if pages else []
        if tables:
            folders = [*write_folders(Path(folder), tables)]
            found += figures_of_folders(program, folders, arguments.rounds)
    results.append(arguments.results, "page", found)


if __name__ == "__main__":
    main()
