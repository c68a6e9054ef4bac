"""Statements that cannot be interpreted: by fingerprint, with the number of their runs. Pure."""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from lineage_merge.model.elements import Problem

# Statements that are reported, the most frequent first.
_REPORTED = 10
_SHOWN = 120


class UnreadStatement(NamedTuple):
    """A statement that cannot be interpreted, and how often it ran; 0 times: the definition of a view."""

    fingerprint: str
    text: str
    why: str
    number: int


def add_unread(one: UnreadStatement, other: UnreadStatement) -> UnreadStatement:
    """Return a statement with both numbers."""
    return min(one, other)._replace(number=one.number + other.number)


def unread_problems(statements: Iterable[UnreadStatement], log: str) -> Iterator[Problem]:
    """Yield the findings for the report, the most frequent statements first."""
    ordered = sorted(statements, key=lambda each: (-each.number, each.fingerprint))
    for each in ordered[:_REPORTED]:
        text = each.text if len(each.text) <= _SHOWN else f"{each.text[:_SHOWN]}..."
        how_often = f"ran {each.number:,} times" if each.number else "definition of a view"
        yield Problem("skipped", log, f"statement {each.fingerprint}", f"{each.why}; {how_often}: {text}")
    rest = ordered[_REPORTED:]
    if rest:
        runs = sum(each.number for each in rest)
        what = f"{len(rest):,} other statements cannot be read, which ran {runs:,} times"
        yield Problem("skipped", log, "", what)
