"""Reads the content of a page as sets and lists of names."""

from collections.abc import Callable

from playwright.sync_api import Locator, Page

# Type of the fixture `opened`: opens a graph or a file, optionally with a link, as a page.
Opened = Callable[..., Page]


def cards(page: Page, which: str = "") -> list[str]:
    """Return the names of the boxes, optionally of a CSS class, sorted."""
    return sorted(page.locator(f".card{which} > .head .name").all_text_contents())


def card(page: Page, name: str, place: str = "") -> Locator:
    """Return the box with exactly this name whose text contains `place`."""
    exact = page.locator(".head .name").get_by_text(name, exact=True)
    return page.locator(".card").filter(has=exact).filter(has_text=place)


def columns(box: Locator, which: str = "") -> list[str]:
    """Return the visible columns of a box, from top to bottom."""
    return box.locator(f".column{which} .name").all_text_contents()


def selected(page: Page) -> list[str]:
    """Return the name of the selected box."""
    return cards(page, ".is-selected")


def focused(page: Page) -> str:
    """Return the name of the focused box or column."""
    return page.evaluate(
        "document.activeElement.querySelector('.name')?.textContent ?? document.activeElement.id"
    )


def left(box: Locator) -> float:
    """Return the left edge of a box."""
    found = box.bounding_box()
    assert found is not None
    return found["x"]
