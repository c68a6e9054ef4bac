"""What long work says of itself: lines for whoever watches."""

from collections.abc import Callable

Say = Callable[[str], None]


def silent(_line: str) -> None:
    """The progress of one who wants to hear none."""
