"""What long work says of itself: lines for whoever watches."""

from collections.abc import Callable

ProgressCallback = Callable[[str], None]


def no_progress(_line: str) -> None:
    """The progress of one who wants to hear none."""
