"""A real Chromium, offline; pages must neither log errors nor send requests."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, ViewportSize, sync_playwright

from lineage_merge.exporters.page import Options, render
from lineage_merge.exporters.page.document import document
from lineage_merge.graph_format.elements import Subgraph
from tests.page import chromium
from tests.page.page_reading import Opened

# The page's data of a merge of all captures: TICKIT in two environments, TPC-H, Hive tables.
CAPTURES = Path(__file__).parents[1] / "data" / "page_captures.json"
WIDE: ViewportSize = {"width": 1440, "height": 900}


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Start the installed Chromium (`CHROMIUM` names one that is not on PATH).

    Module scope, because its thread counts as an event loop, which breaks servers that other tests start.
    """
    program = chromium.program()
    if program is None:
        pytest.skip("no Chromium on PATH (apt-get install chromium), and CHROMIUM names none")
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=program)
        yield started
        started.close()


@pytest.fixture
def context(browser: Browser) -> Iterator[BrowserContext]:
    """Create a new profile without network access."""
    made = browser.new_context(viewport=WIDE, offline=True, reduced_motion="reduce")
    made.set_default_timeout(10_000)
    yield made
    made.close()


@pytest.fixture
def opened(context: BrowserContext, tmp_path: Path) -> Iterator[Opened]:
    """Open a graph or a file as a page; fail on console messages, errors and requests."""
    complaints: list[str] = []
    asked: list[str] = []

    def open_page(what: Subgraph | Path, link: str = "", focus: str = "") -> Page:
        file = what
        if isinstance(what, Subgraph):
            file = tmp_path / "lineage.html"
            file.write_text(render(what, Options(title="PageGraph", focus=focus)), encoding="utf-8")
        assert isinstance(file, Path)
        page = context.new_page()
        page.on("console", lambda message: complaints.append(message.text))
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("request", lambda request: asked.append(request.url.partition("#")[0]))
        page.goto(f"{file.as_uri()}{link}")
        page.wait_for_selector("html[data-ready]", state="attached")
        return page

    yield open_page
    assert complaints == []
    assert [url for url in asked if not url.startswith("file:")] == []
    assert len(asked) == len(context.pages)  # the file itself, once for each page


@pytest.fixture(scope="session")
def captures(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the page of all captures, 74 datasets."""
    file = tmp_path_factory.mktemp("captures") / "lineage.html"
    file.write_text(document(json.loads(CAPTURES.read_text(encoding="utf-8"))), encoding="utf-8")
    return file
