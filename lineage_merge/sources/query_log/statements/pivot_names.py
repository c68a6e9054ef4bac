"""Values of a PIVOT that name its columns: they are schema, not data, if they are plain identifiers. Pure."""

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

_PLAIN = re.compile(r"""(['"])[A-Za-z_][A-Za-z0-9_]{0,126}\1\Z""")


class Token(NamedTuple):
    """A piece of a statement: its kind in `templates`, its text, its position."""

    kind: str
    text: str
    start: int


def naming_values(tokens: Iterable[Token]) -> frozenset[int]:
    """Return the positions of the strings that name columns of PIVOT.

    A list with another value that has no alias contributes none: what it contains may be personal data.
    """
    starts: set[int] = set()
    for values in _lists_of_values(tokens):
        unnamed = [value for value in values if value[-1].kind not in ("word", "quoted")]
        if all(len(value) == 1 and _PLAIN.match(value[0].text) for value in unnamed):
            starts.update(value[0].start for value in unnamed)
    return frozenset(starts)


def _lists_of_values(tokens: Iterable[Token]) -> Iterator[list[list[Token]]]:
    """Yield the values of ``PIVOT (... FOR column IN (...))`` as lists of tokens."""
    depth, pivot, values_depth = 0, 0, 0  # depths of the parentheses; 0: outside
    before = ""
    values: list[list[Token]] = [[]]
    for token in tokens:
        word = token.text.lower() if token.kind in ("word", "symbol") else token.kind
        if word == "(":
            depth += 1
            if before == "pivot":
                pivot = depth
            elif before == "in" and pivot and depth == pivot + 1:
                values_depth, values = depth, [[]]
                before = word
                continue
        elif word == ")":
            if depth == values_depth:
                yield [value for value in values if value]
                values_depth = 0
            if depth == pivot:
                pivot = 0
            depth -= 1
        if values_depth:
            if word == "," and depth == values_depth:
                values.append([])
            else:
                values[-1].append(token)
        before = word
