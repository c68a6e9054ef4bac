"""Reads the content of a page as sets and lists of names."""

from collections.abc import Callable

from playwright.sync_api import Locator, Page

# Type of the fixture `opened`: opens a graph or a file, optionally with a link, as a page.
Opened = Callable[..., Page]
# Type of the fixture `phone`: opens a file, optionally with a link.
OpenedOnPhone = Callable[..., Page]


def follow(page: Page, link: str) -> None:
    """Follow a link within the page, until it is drawn."""
    page.evaluate(
        """link => new Promise((done) => {
          const drawn = () => requestAnimationFrame(() => requestAnimationFrame(done));
          addEventListener("popstate", drawn, { once: true });
          location.hash = link;
        })""",
        link,
    )


def eventually(page: Page, holds: Callable[[], bool]) -> None:
    """Wait for what the page does after an event.

    Playwright's `wait_for_function` cannot: the page's policy forbids to evaluate text, but at the first try.
    """
    for _ in range(600):
        if holds():
            return
        page.wait_for_timeout(50)
    assert holds()


def show(page: Page, view: str) -> None:
    """Go to a view: overview, pipeline, column, list."""
    page.locator(f"#views [data-view='{view}']").click()


def choose_filter(page: Page, what: str, value: str) -> None:
    """Set one of the filters behind the button."""
    if page.locator("#filters").is_hidden():
        page.locator("#filters-button").click()
    field = page.locator(f"#filter-{what}")
    if what == "job":
        field.fill(value)
        field.press("Enter")
    else:
        field.select_option(value)


def click_in_graph(card: Locator) -> None:
    """Click a card or a part of it that may be outside the window.

    Playwright's pointer scrolls to such a card. The page undoes that, because it moves its graph itself: on a
    busy machine the card moves between the events of the click.
    """
    card.dispatch_event("click")


def find(page: Page, text: str) -> None:
    """Search, and go to the first result."""
    page.locator("#search").fill(text)
    page.locator("#search").press("Enter")


def cards(page: Page, which: str = "") -> list[str]:
    """Return the names of the cards, optionally of a CSS class, sorted."""
    return sorted(page.locator(f".card{which} > .head .name").all_text_contents())


def card(page: Page, name: str, place: str = "") -> Locator:
    """Return the card with exactly this name whose text contains `place`."""
    exact = page.locator(".head .name").get_by_text(name, exact=True)
    return page.locator(".card").filter(has=exact).filter(has_text=place)


def columns(box: Locator, which: str = "") -> list[str]:
    """Return the visible columns of a card, from top to bottom."""
    return box.locator(f".column{which} .name").all_text_contents()


def selected(page: Page) -> list[str]:
    """Return the name of the selected card."""
    return cards(page, ".is-selected")


def focused(page: Page) -> str:
    """Return the name of the focused card or column."""
    name: str = page.evaluate(
        "document.activeElement.querySelector('.name')?.textContent ?? document.activeElement.id"
    )
    return name


def left(box: Locator) -> float:
    """Return the left edge of a box."""
    found = box.bounding_box()
    assert found is not None
    return found["x"]


def entries(page: Page) -> list[str]:
    """Return the names in the list view."""
    return page.locator("#listing .entry .two bdi").all_text_contents()
