"""A real Chromium, offline; pages must neither log errors nor send requests."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, Request, ViewportSize, sync_playwright
from playwright.sync_api import Error as PlaywrightError

from lineage_merge.exporters.page import Options, render
from lineage_merge.exporters.page.document import document
from lineage_merge.graph_format.elements import Subgraph
from tests.page import chromium
from tests.page.page_graphs import large
from tests.page.page_reading import Opened, OpenedOnPhone

# The page's data of a merge of all captures: TICKIT in two environments, TPC-H, Hive tables.
CAPTURES = Path(__file__).parents[1] / "data" / "page_captures.json"
WIDE: ViewportSize = {"width": 1440, "height": 900}
PHONE: ViewportSize = {"width": 390, "height": 844}


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


@pytest.fixture(scope="module")
def profile(browser: Browser) -> Iterator[BrowserContext]:
    """Create a profile without network access, for the tests of a module."""
    made = browser.new_context(viewport=WIDE, offline=True, reduced_motion="reduce")
    made.set_default_timeout(10_000)
    yield made
    made.close()


@pytest.fixture
def context(profile: BrowserContext) -> Iterator[BrowserContext]:
    """Return the profile as new. To create one, and a tab, takes three times as long as to load a page."""
    yield profile
    profile.clear_permissions()
    for page in profile.pages:
        try:
            _reset(page)
        except PlaywrightError:  # such as a page that hangs: the next test gets another one
            page.close()


def _reset(page: Page) -> None:
    page.evaluate("location.protocol === 'file:' && localStorage.clear()")
    page.goto("about:blank")
    page.emulate_media(reduced_motion="reduce", color_scheme="light")
    if page.viewport_size != WIDE:
        page.set_viewport_size(WIDE)
    page.mouse.move(0, 0)


@pytest.fixture
def phone(browser: Browser) -> Iterator[OpenedOnPhone]:
    """Open a file on a phone."""
    context = browser.new_context(viewport=PHONE, has_touch=True, reduced_motion="reduce")

    def open_page(file: Path, link: str = "") -> Page:
        page = context.new_page()
        page.goto(f"{file.as_uri()}{link}")
        page.wait_for_selector("html[data-ready]", state="attached")
        return page

    yield open_page
    context.close()


@pytest.fixture
def opened(context: BrowserContext, tmp_path: Path) -> Iterator[Opened]:
    """Open a graph or a file as a page; fail on console messages, errors and requests."""
    complaints: list[str] = []
    asked: list[str] = []
    free = list(context.pages)
    used: list[Page] = []

    def complain(message: object) -> None:
        complaints.append(getattr(message, "text", str(message)))

    def ask(request: Request) -> None:
        asked.append(request.url.partition("#")[0])

    def open_page(what: Subgraph | Path, link: str = "", focus: str = "") -> Page:
        file = what
        if isinstance(what, Subgraph):
            file = tmp_path / "lineage.html"
            file.write_text(render(what, Options(title="PageGraph", focus=focus)), encoding="utf-8")
        assert isinstance(file, Path)
        page = free.pop(0) if free else context.new_page()
        used.append(page)
        page.bring_to_front()
        page.on("console", complain)
        page.on("pageerror", complain)
        page.on("request", ask)
        page.goto(f"{file.as_uri()}{link}")
        page.wait_for_selector("html[data-ready]", state="attached")
        return page

    yield open_page
    for page in used:
        page.remove_listener("console", complain)
        page.remove_listener("pageerror", complain)
        page.remove_listener("request", ask)
    assert complaints == []
    assert [url for url in asked if not url.startswith("file:")] == []
    assert len(asked) == len(used)  # the file itself, once for each page


@pytest.fixture(scope="session")
def large_page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the page of 3,001 datasets."""
    file = tmp_path_factory.mktemp("large") / "lineage.html"
    file.write_text(render(large(), Options(title="Large")), encoding="utf-8")
    return file


@pytest.fixture(scope="session")
def captures(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the page of all captures, 74 datasets."""
    file = tmp_path_factory.mktemp("captures") / "lineage.html"
    file.write_text(document(json.loads(CAPTURES.read_text(encoding="utf-8"))), encoding="utf-8")
    return file
