"""Cursors, loops over queries, and SELECT ... INTO of procedures, in words. Pure."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from lineage_merge.column_lineage.scripts.words import Edit, Word, closing, end_of_name, upper_at

_QUERIES = frozenset({"SELECT", "WITH"})
_INTO = frozenset({"INTO", "BULK COLLECT INTO"})


class Loop(NamedTuple):
    """``FOR variable IN ...``: the first and last position of its query, or the name of its cursor.

    `end`: where the statements of the loop, or an unknown expression, begin.
    """

    variable: str
    query: tuple[int, int] | None
    cursor: str
    end: int


def loop_of(words: Sequence[Word], at: int) -> Loop | None:
    """Return the loop whose FOR is at `at`; None for a FOR of another statement."""
    first = at + 3
    if upper_at(words, at + 2) != "IN" or first >= len(words):
        return None
    variable, depth = words[at + 1].text, words[at].depth
    end = next(
        (here for here in range(first, len(words)) if _is_loop(words[here]) and words[here].depth == depth),
        len(words),
    )
    if words[first].upper in _QUERIES:
        return Loop(variable, (first, end), "", end)
    if words[first].upper == "(" and upper_at(words, first + 1) in _QUERIES:
        return Loop(variable, (first + 1, closing(words, first)), "", end)
    after = end_of_name(words, first)
    is_cursor = after == end or (upper_at(words, after) == "(" and closing(words, after) + 1 == end)
    return Loop(variable, None, words[after - 1].text if is_cursor else "", end if is_cursor else first)


def _is_loop(word: Word) -> bool:
    return word.upper in ("LOOP", "DO")


def cursor_of(before: Sequence[Word]) -> str:
    """Return the cursor that a query belongs to, by the words before the query; "" for none."""
    uppers = [word.upper for word in before]
    if not uppers or uppers[-1] not in ("FOR", "IS"):
        return ""
    if "CURSOR" in uppers:  # Oracle: CURSOR c IS; elsewhere: c CURSOR FOR
        at = uppers.index("CURSOR")
        is_before = at > 0 and uppers[at - 1] not in ("AS", "DECLARE", "IS")
        return before[at - 1 if is_before else at + 1].text
    if "OPEN" in uppers:
        return before[uppers.index("OPEN") + 1].text
    return ""


def find_fetch(words: Sequence[Word]) -> tuple[str, str]:
    """Return the cursor and the record of ``FETCH cursor INTO record``; "" for several variables."""
    at = next((here for here, word in enumerate(words) if word.upper == "INTO"), 0)
    if words[0].upper != "FETCH" or at < 1 or at + 2 != len(words):
        return "", ""
    return words[at - 1].text, words[at + 1].text


def position_clauses(words: Sequence[Word]) -> Iterator[Edit]:
    """Yield the removal of ``WHERE CURRENT OF cursor``."""
    for at, word in enumerate(words):
        if word.upper == "WHERE" and [upper_at(words, at + 1), upper_at(words, at + 2)] == ["CURRENT", "OF"]:
            yield word.start, words[min(end_of_name(words, at + 3), len(words)) - 1].end, ""


def cut_variables(words: Sequence[Word]) -> tuple[list[Edit], list[str]]:
    """Return the edits that remove INTO with variables, and the variables."""
    edits: list[Edit] = []
    targets: list[str] = []
    is_query = words[0].upper in _QUERIES
    for at, word in enumerate(words):
        if word.depth > words[0].depth:
            continue
        if word.upper == "RETURNING":
            is_query = True
        is_target = upper_at(words, at - 1) in ("INSERT", "MERGE")
        if word.upper not in _INTO or not is_query or is_target:
            continue
        end = at + 1 + (upper_at(words, at + 1) == "STRICT")
        while end < len(words):
            name, end = words[end].text, _end_of_target(words, end)
            targets.append(name)
            if upper_at(words, end) != ",":
                break
            end += 1
        edits.append((word.start, words[min(end, len(words)) - 1].end, ""))
    return edits, targets


def _end_of_target(words: Sequence[Word], at: int) -> int:
    """Return the position after a variable, such as ``rows(i).name``."""
    end = end_of_name(words, at)
    while upper_at(words, end) == "(" and words[end].start == words[end - 1].end:
        end = closing(words, end) + 1
        if upper_at(words, end) == ".":
            end = end_of_name(words, end + 1)
    return end
