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
    ordered = sorted(statements, key=lambda unread: (-unread.number, unread.fingerprint))
    for statement in ordered[:_REPORTED]:
        text = statement.text if len(statement.text) <= _SHOWN else f"{statement.text[:_SHOWN]}..."
        how_often = f"ran {statement.number:,} times" if statement.number else "definition of a view"
        what = f"{statement.why}; {how_often}: {text}"
        yield Problem("skipped", log, f"statement {statement.fingerprint}", what)
    rest = ordered[_REPORTED:]
    if rest:
        runs = sum(unread.number for unread in rest)
        what = f"{len(rest):,} other statements cannot be read, which ran {runs:,} times"
        yield Problem("skipped", log, "", what)
