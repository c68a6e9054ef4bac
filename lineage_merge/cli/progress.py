"""Progress on standard error: a spinner at a terminal, plain lines elsewhere."""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console

Say = Callable[[str], None]


@contextmanager
def progress(*, quiet: bool = False) -> Iterator[Say]:
    """A function that shows what is being done now, with the seconds since the start."""
    if quiet:
        yield lambda _line: None
        return
    console = Console(stderr=True, highlight=False)
    started = time.monotonic()
    if not console.is_terminal:
        yield _plain(started)
        return
    with console.status("starting") as status:

        def say(line: str) -> None:
            console.print(f"[dim]{time.monotonic() - started:5.1f} s[/dim]  {_escaped(line)}")
            status.update(_escaped(line))

        yield say


def _plain(started: float) -> Say:
    last = ""

    def say(line: str) -> None:
        nonlocal last
        if line != last:
            print(f"{time.monotonic() - started:5.1f} s  {line}", file=sys.stderr, flush=True)  # noqa: T201
            last = line

    return say


def _escaped(line: str) -> str:
    return line.replace("[", "\\[")
