"""A real Chromium, offline; pages must neither log errors nor send requests."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, Request, ViewportSize, expect, sync_playwright
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
# Generous: only a page that hangs fails on a slow and busy machine.
TIMEOUT_MS = 30_000
expect.set_options(timeout=TIMEOUT_MS)


@pytest.fixture(scope="package")
def browser() -> Iterator[Browser]:
    """Start the installed Chromium (`CHROMIUM` names one that is not on PATH).

    Not for the whole session, because its thread counts as an event loop, which breaks servers that other
    tests start.
    """
    program = chromium.program()
    if program is None:
        pytest.skip("no Chromium on PATH (apt-get install chromium), and CHROMIUM names none")
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=program)
        yield started
        started.close()


def _profile(browser: Browser) -> BrowserContext:
    """Create a profile without network access and animations."""
    made = browser.new_context(viewport=WIDE, offline=True, reduced_motion="reduce")
    made.set_default_timeout(TIMEOUT_MS)
    return made


@pytest.fixture(scope="package")
def profile(browser: Browser) -> Iterator[BrowserContext]:
    """Create the profile of `context`."""
    made = _profile(browser)
    yield made
    made.close()


@pytest.fixture
def context(profile: BrowserContext) -> Iterator[BrowserContext]:
    """Return the profile as new. To create one, and a tab, takes three times as long as to load a page."""
    yield profile
    profile.clear_permissions()
    for page in profile.pages:
        try:
            page.evaluate("location.protocol === 'file:' && localStorage.clear()")
            page.goto("about:blank")
            _reset_window(page)
        except PlaywrightError:  # such as a page that hangs: the next test gets another one
            page.close()


def _reset_window(page: Page) -> None:
    page.emulate_media(media="null", reduced_motion="reduce", color_scheme="light")
    if page.viewport_size != WIDE:
        page.set_viewport_size(WIDE)
    page.mouse.move(0, 0)


@pytest.fixture(scope="package")
def phone_profile(browser: Browser) -> Iterator[BrowserContext]:
    """Create the profile of `phone`."""
    made = browser.new_context(viewport=PHONE, has_touch=True, offline=True, reduced_motion="reduce")
    made.set_default_timeout(TIMEOUT_MS)
    yield made
    made.close()


@pytest.fixture
def phone(phone_profile: BrowserContext) -> Iterator[OpenedOnPhone]:
    """Open a file on a phone."""

    def open_page(file: Path, link: str = "") -> Page:
        page = phone_profile.new_page()
        _load(page, file, link)
        return page

    yield open_page
    for page in phone_profile.pages:
        page.close()


def _load(page: Page, file: Path, link: str) -> None:
    page.goto(f"{file.as_uri()}{link}")
    page.wait_for_selector("html[data-ready]", state="attached")


class Watch:
    """Collects what pages write to the console, their errors and their requests."""

    def __init__(self) -> None:
        self.messages: list[str] = []
        self.requested: list[str] = []
        self.loaded: list[str] = []
        self._pages: list[Page] = []

    def page(self, page: Page) -> None:
        """Listen to a page from now on."""
        if page not in self._pages:
            self._pages.append(page)
            page.on("console", self._write)
            page.on("pageerror", self._write)
            page.on("request", self._request)

    def load(self, page: Page, file: Path, link: str) -> None:
        """Load a file, of which the request is expected."""
        self.page(page)
        self.loaded.append(file.as_uri())
        _load(page, file, link)

    def _write(self, message: object) -> None:
        self.messages.append(getattr(message, "text", str(message)))

    def _request(self, request: Request) -> None:
        self.requested.append(request.url.partition("#")[0])

    def end(self) -> None:
        """Stop to listen."""
        for page in self._pages:
            page.remove_listener("console", self._write)
            page.remove_listener("pageerror", self._write)
            page.remove_listener("request", self._request)


@pytest.fixture
def watch() -> Iterator[Watch]:
    """Fail on console messages, errors, and requests for anything but the loaded files."""
    watching = Watch()
    yield watching
    watching.end()
    assert watching.messages == []
    assert watching.requested == watching.loaded


@pytest.fixture
def opened(context: BrowserContext, watch: Watch, tmp_path: Path) -> Opened:
    """Open a graph or a file as a page."""
    free = list(context.pages)

    def open_page(what: Subgraph | Path, link: str = "", focus: str = "") -> Page:
        file = what
        if isinstance(what, Subgraph):
            file = tmp_path / "lineage.html"
            file.write_text(render(what, Options(title="PageGraph", focus=focus)), encoding="utf-8")
        assert isinstance(file, Path)
        page = free.pop(0) if free else context.new_page()
        page.bring_to_front()
        watch.load(page, file, link)
        return page

    return open_page


@dataclass
class Tab:
    """A tab that retains its file from test to test."""

    page: Page
    file: Path | None = None


@pytest.fixture(scope="package")
def tab(browser: Browser) -> Iterator[Tab]:
    """Create the tab of `shown`."""
    made = _profile(browser)
    yield Tab(made.new_page())
    made.close()


# As if the link had been opened: it holds the state, but not what is open, typed, focused and scrolled.
_FOLLOW = """
(link) => {
  document.activeElement.blur();
  document.body.dispatchEvent(new PointerEvent("pointerdown", { bubbles: true }));
  document.body.click();
  const search = document.getElementById("search");
  if (search.value) {
    search.value = "";
    search.dispatchEvent(new Event("input"));
  }
  history.pushState(null, "", link || "#");
  dispatchEvent(new PopStateEvent("popstate"));
  for (const each of document.querySelectorAll("#overview, #sidebar, #panel, #listing")) each.scrollTo(0, 0);
}
"""
_HAS_SETTINGS = "() => localStorage.length > 0 || document.querySelector('dialog[open]') !== null"


@pytest.fixture
def shown(tab: Tab, watch: Watch, request: pytest.FixtureRequest) -> Iterator[Opened]:
    """Show a link of a file in a tab that has it already, in a quarter of the time of loading it.

    For tests that change nothing but what a link holds: not the summary of a comparison or review.
    """
    failed = request.session.testsfailed
    page = tab.page

    def show(file: Path, link: str = "") -> Page:
        page.bring_to_front()
        watch.page(page)
        if tab.file == file:
            page.evaluate(_FOLLOW, link)
        else:
            watch.load(page, file, link)
            tab.file = file
        return page

    yield show
    if request.session.testsfailed > failed or page.evaluate(_HAS_SETTINGS):
        page.evaluate("location.protocol === 'file:' && localStorage.clear()")
        page.goto("about:blank")
        tab.file = None
    _reset_window(page)


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
