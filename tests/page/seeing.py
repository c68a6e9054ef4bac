"""What somebody sees of a page, as sets and lists of names."""

from collections.abc import Callable

from playwright.sync_api import Locator, Page

# The fixture `opened`: a graph or a file, and the link behind it, as a page.
Opened = Callable[..., Page]


def cards(page: Page, which: str = "") -> list[str]:
    """The names on the boxes, of a class if one is given, in order."""
    return sorted(page.locator(f".card{which} > .head .name").all_text_contents())


def card(page: Page, name: str, place: str = "") -> Locator:
    """The box with exactly this name, whose second line holds `place`."""
    exact = page.locator(".head .name").get_by_text(name, exact=True)
    return page.locator(".card").filter(has=exact).filter(has_text=place)


def columns(box: Locator, which: str = "") -> list[str]:
    """The columns that a box shows, from above."""
    return box.locator(f".column{which} .name").all_text_contents()


def selected(page: Page) -> list[str]:
    """The name of the box that is selected."""
    return cards(page, ".is-selected")


def focused(page: Page) -> str:
    """The name of the box or column that has the keyboard."""
    return page.evaluate(
        "document.activeElement.querySelector('.name')?.textContent ?? document.activeElement.id"
    )


def left(box: Locator) -> float:
    """Where a box begins."""
    found = box.bounding_box()
    assert found is not None
    return found["x"]
