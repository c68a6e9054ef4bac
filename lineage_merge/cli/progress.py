"""Progress on standard error: a spinner on terminals, plain lines elsewhere.

Lines that differ only in a count are of one kind (``jar 3 of 72: ...``). Terminals print the first of
consecutive lines of a kind and show the others in the spinner; logs get one every few seconds, and the last.
"""

import re
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console

from lineage_merge.infra.progress import ProgressCallback

Clock = Callable[[], float]

EVERY_SECONDS = 5.0

_NUMBER = re.compile(r"\d")


@contextmanager
def show_progress(*, quiet: bool = False, clock: Clock = time.monotonic) -> Iterator[ProgressCallback]:
    """Yield a callback that shows progress lines with the seconds since the start."""
    if quiet:
        yield lambda _line: None
        return
    console = Console(stderr=True, highlight=False)
    started = clock()
    if not console.is_terminal or console.is_dumb_terminal:
        log_lines = _LogLines(lambda: clock() - started)
        try:
            yield log_lines.on_progress
        finally:
            log_lines.end()
        return
    with console.status("starting") as status:
        kind = None

        def on_progress(line: str) -> None:
            nonlocal kind
            if kind != (kind := _kind(line)):
                console.print(f"[dim]{_seconds(clock() - started)}[/dim]  {_escaped(line)}")
            status.update(_escaped(line))

        yield on_progress


class _LogLines:
    """Progress lines for a log. `now` returns the seconds since the start."""

    def __init__(self, now: Clock) -> None:
        self._now = now
        self._last = ""
        self._written_at = 0.0
        self._pending = ""

    def on_progress(self, line: str) -> None:
        if line == self._last:
            return
        now = self._now()
        text = f"{_seconds(now)}  {line}"
        repeats = _kind(line) == _kind(self._last)
        self._last = line
        if repeats and now - self._written_at < EVERY_SECONDS:
            self._pending = text
            return
        if not repeats:
            self.end()
        self._pending = ""
        self._written_at = now
        _write(text)

    def end(self) -> None:
        """Write the pending line, if there is one."""
        if self._pending:
            _write(self._pending)
            self._pending = ""


def _kind(line: str) -> str:
    # The text after the count often differs, too: the name of a jar.
    return _NUMBER.split(line, maxsplit=1)[0] or line


def _seconds(passed: float) -> str:
    return f"{passed:5.1f} s"


def _write(text: str) -> None:
    print(text, file=sys.stderr, flush=True)  # noqa: T201


def _escaped(line: str) -> str:
    return line.replace("[", "\\[")
