"""Progress callbacks of long-running operations."""

from collections.abc import Callable

ProgressCallback = Callable[[str], None]


def no_progress(_line: str) -> None:
    """Discard progress messages."""
