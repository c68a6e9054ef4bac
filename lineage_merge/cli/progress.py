"""Progress on standard error: a spinner on terminals, plain lines elsewhere.

Lines that differ only in a count are of one kind (``jar 3 of 72: ...``). Terminals print the first of
consecutive lines of a kind and show the others in the spinner; logs get one every few seconds, and the last.
A count of long work gets an estimate: ``writing edges (120 of 400 partitions), about 40 s left``.
"""

import re
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from lineage_merge.infra.progress import ProgressCallback

Clock = Callable[[], float]

EVERY_SECONDS = 5.0

_NUMBER = re.compile(r"\d")
_COUNT = re.compile(r"(\d[\d,]*(?:\.\d+)?) of (\d[\d,]*(?:\.\d+)?)")

# Work that takes longer in total gets an estimate, after some seconds that it can be based on.
_LONG_SECONDS = 10.0
_FIRST_ESTIMATE_SECONDS = 3.0


@contextmanager
def show_progress(*, quiet: bool = False, clock: Clock = time.monotonic) -> Iterator[ProgressCallback]:
    """Yield a callback that shows progress lines with the seconds since the start."""
    if quiet:
        yield lambda _line: None
        return
    from rich.console import Console  # not for questions, which are quiet

    console = Console(stderr=True, highlight=False)
    started = clock()
    if not console.is_terminal or console.is_dumb_terminal:
        log_lines = _LogLines(lambda: clock() - started)
        estimate = _Estimate(clock)
        try:
            yield lambda line: log_lines.on_progress(line, estimate.describe_rest(line))
        finally:
            log_lines.end()
        return
    with console.status("starting") as status:
        kind = None
        estimate = _Estimate(clock)

        def on_progress(line: str) -> None:
            nonlocal kind
            if kind != (kind := _kind(line)):
                console.print(f"[dim]{_seconds(clock() - started)}[/dim]  {_escape(line)}")
            status.update(_escape(line + estimate.describe_rest(line)))

        yield on_progress


class _Estimate:
    """The time that is left of counted work, by the speed since its first line."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._work = ("", 0.0)
        self._first = 0.0
        self._last = 0.0
        self._started = 0.0

    def describe_rest(self, line: str) -> str:
        """Return ``, about 40 s left``; "" for short work, or without a count."""
        count = _COUNT.search(line)
        if not count:
            self._work = ("", 0.0)
            return ""
        done, total = (float(group.replace(",", "")) for group in count.groups())
        work = (_kind(line), total)
        if work != self._work or done < self._last:
            self._work, self._first, self._started = work, done, self._clock()
        self._last = done
        passed, advanced = self._clock() - self._started, done - self._first
        if passed < _FIRST_ESTIMATE_SECONDS or advanced <= 0 or done >= total:
            return ""
        left = passed * (total - done) / advanced
        return f", about {_round(left)} left" if passed + left > _LONG_SECONDS else ""


class _LogLines:
    """Progress lines for a log. `now` returns the seconds since the start."""

    def __init__(self, now: Clock) -> None:
        self._now = now
        self._last = ""
        self._written_at = 0.0
        self._pending = ""

    def on_progress(self, line: str, estimate: str) -> None:
        if line == self._last:
            return
        now = self._now()
        text = f"{_seconds(now)}  {line}{estimate}"
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


def _round(seconds: float) -> str:
    if seconds < 10:
        return f"{max(1, round(seconds))} s"
    if seconds <= 90:
        return f"{round(seconds, -1):.0f} s"
    if seconds < 90 * 60:
        return f"{round(seconds / 60)} min"
    return f"{seconds / 3600:.1f} h"


def _seconds(passed: float) -> str:
    return f"{passed:5.1f} s"


def _write(text: str) -> None:
    print(text, file=sys.stderr, flush=True)  # noqa: T201


def _escape(line: str) -> str:
    return line.replace("[", "\\[")
