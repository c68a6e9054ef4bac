"""Geometry of what a page draws, measured in the browser: returns what breaks a rule."""

from pathlib import Path
from typing import Any

from playwright.sync_api import Page

_FUNCTIONS = (Path(__file__).parent / "geometry.js").read_text(encoding="utf-8").partition("\n")[2]


def _call(page: Page, function: str, argument: str = "") -> Any:
    return page.evaluate(f"(argument) => {_FUNCTIONS.strip()}.{function}(argument)", argument)


def _measured(page: Page) -> dict[str, list[list[str]]]:
    root = "#overview" if page.locator("body").get_attribute("data-view") == "overview" else "#world"
    measured: dict[str, list[list[str]]] = _call(page, "measure", root)
    return measured


def problems(page: Page) -> list[str]:
    """Return the lines that enter cards or miss their ends, and the cards and labels that overlap."""
    return [str(each) for each in _measured(page)["problems"]]


def lines(page: Page) -> list[tuple[str, str]]:
    """Return the drawn lines as keys of their source and target."""
    return sorted((source, target) for source, target in _measured(page)["lines"])


def positions(page: Page) -> list[list[str]]:
    """Return the cards with their positions."""
    return _measured(page)["boxes"]


def small_type(page: Page) -> list[str]:
    """Return texts smaller than 11 pixels on the screen."""
    found: list[str] = _call(page, "smallType")
    return found


def frame_problems(page: Page) -> list[str]:
    """Return frames that hold a foreign card or overlap, and jobs without exactly one label."""
    found: list[str] = _call(page, "frames")
    return found
