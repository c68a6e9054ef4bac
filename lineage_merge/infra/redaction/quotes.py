"""Quoted literals and comments in a text, to find the end of the one around an address."""

import re
from bisect import bisect_right

# JSON in a string of JSON has its quotes escaped. A comment does not start in a path: /*/.
_MARK = re.compile(r"\n|/\*(?!/)|\*/|(?P<delimiter>(?<!\\)\\{0,7}['\"`])(?P=delimiter)*")
_COMMENT = "/*"
_END_OF_COMMENT = "*/"


class Quotes:
    """The literals and comments that start and end on one line.

    If the quotes of a line are not balanced, none of its literals has a known end.
    """

    def __init__(self, text: str) -> None:
        self._text = text
        self._ends: list[int] = []
        # The positions at which the innermost literal changes, and the number of that literal.
        self._positions = [0]
        self._innermost = [-1]
        self._open: list[tuple[str, int]] = []
        self._is_balanced = True
        first = 0
        for mark in _MARK.finditer(text):
            if mark[0] == "\n":
                self._end_line(first, mark.end())
                first = len(self._ends)
            else:
                self._read(mark)
        self._end_line(first, len(text))

    def end_around(self, position: int) -> int:
        """Return the end of the innermost literal around a position, or -1 if there is none."""
        literal = self._innermost[bisect_right(self._positions, position) - 1]
        return self._ends[literal] if literal >= 0 else -1

    def _read(self, mark: re.Match[str]) -> None:
        delimiter = mark["delimiter"]
        is_before_word = _is_word(self._text[mark.end() : mark.end() + 1])
        if delimiter is None:
            self._toggle(
                _COMMENT,
                mark.start(),
                mark.end(),
                opens=mark[0] == _COMMENT,
                closes=mark[0] != _COMMENT and not is_before_word,
            )
        # Two quotes are an empty literal, or a quote inside of one.
        elif len(mark[0]) // len(delimiter) % 2:
            # Pairs of backslashes do not escape the quote.
            name = delimiter if len(delimiter) % 2 == 0 else delimiter[-1]
            # A word on both sides: an apostrophe.
            is_after_word = _is_word(self._text[mark.start() - 1 : mark.start()])
            self._toggle(
                name, mark.end() - len(name), mark.end(), opens=not is_after_word, closes=not is_before_word
            )

    def _toggle(self, name: str, start: int, end: int, *, opens: bool, closes: bool) -> None:
        """Open a literal, or close it and the ones inside of it."""
        names = [each for each, _ in self._open]
        if name in names:
            if closes:
                depth = names.index(name)
                for _, literal in self._open[depth:]:
                    self._ends[literal] = start
                del self._open[depth:]
                self._change(end)
        elif opens:
            self._open.append((name, len(self._ends)))
            self._ends.append(-1)
            self._change(end)
        elif closes and not self._open:
            self._is_balanced = False

    def _change(self, position: int) -> None:
        self._positions.append(position)
        self._innermost.append(self._open[-1][1] if self._open else -1)

    def _end_line(self, first: int, end: int) -> None:
        if self._open or not self._is_balanced:
            self._ends[first:] = [-1] * (len(self._ends) - first)
        self._open.clear()
        self._is_balanced = True
        self._change(end)


def _is_word(character: str) -> bool:
    return character.isalnum() or character == "_"
