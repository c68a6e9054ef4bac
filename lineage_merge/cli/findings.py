"""What `doctor` found, a line each."""

from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lineage_merge.orchestration.doctor import Finding

colours = {"ok": "green", "warning": "yellow", "failed": "bold red", "skipped": "dim"}
_MARKS = {"ok": "✓", "warning": "!", "failed": "✗", "skipped": "-"}
_PLAIN_MARKS = {"ok": "+", "warning": "!", "failed": "x", "skipped": "-"}


def as_lines(findings: Sequence["Finding"], encoding: str) -> Iterator[tuple[str, str]]:
    """``✗ failed   ArangoDB login: what is wrong. Mend: what to do``, and the state.

    A state is a word too, for those who see no colours, and an ASCII mark where `encoding` has no other.
    """
    marks = _MARKS if encoding.lower().startswith("utf") else _PLAIN_MARKS
    width = max(len(state) for state in _MARKS)
    # Those that were skipped for one reason are one line.
    for (state, told, mend), alike in groupby(findings, lambda each: (each.state, each.told, each.mend)):
        checks = ", ".join(each.check for each in alike)
        yield f"{marks[state]} {state:<{width}}  {checks}: {told}{f'. Mend: {mend}' if mend else ''}", state
