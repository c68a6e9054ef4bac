"""Formatting of the findings of `doctor`."""

from collections.abc import Iterator, Sequence
from itertools import groupby, zip_longest
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lineage_merge.sources.diagnosis import Diagnosis

colours = {"ok": "green", "warning": "yellow", "failed": "bold red", "skipped": "dim"}
_MARKS = {"ok": "✓", "warning": "!", "failed": "✗", "skipped": "-"}
_PLAIN_MARKS = {"ok": "+", "warning": "!", "failed": "x", "skipped": "-"}


def as_lines(findings: Sequence["Diagnosis"], encoding: str) -> Iterator[tuple[str, str]]:
    """``✗ failed   ArangoDB login: problem. Fix: command``, and the state.

    States are words, too, for output without colours; marks are ASCII if `encoding` is not UTF.
    """
    marks = _MARKS if encoding.lower().startswith("utf") else _PLAIN_MARKS
    width = max(len(state) for state in _MARKS)
    # Those that were skipped for one reason are one line.
    groups = [[*alike] for _, alike in groupby(findings, lambda each: (each.state, each.message, each.fix))]
    for alike, following in zip_longest(groups, groups[1:]):
        state, message, fix = alike[0].state, alike[0].message, alike[0].fix
        checks = ", ".join(each.check for each in alike)
        # The fix of several problems of one check follows the last one.
        if following and (following[0].check, following[0].fix) == (alike[-1].check, fix):
            fix = ""
        remedy = f"{'' if message.endswith('?') else '.'} Fix: {fix}" if fix else ""
        yield f"{marks[state]} {state:<{width}}  {checks}: {message}{remedy}", state
