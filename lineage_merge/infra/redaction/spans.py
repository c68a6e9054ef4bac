"""Spans of a text: to replace, decoded of percent-encoding and JSON escapes, or in quotes and comments."""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator
from typing import NamedTuple

MASK = "*****"

# Repeated encoding only encodes the percent sign again: %3D, %253D, %25253D.
# Gson escapes "=" and "&": \u003d. An escaped quote or backslash does not end a string of JSON.
_ENCODED = re.compile(r"(?:%(?:25)*|\\{1,7}u00(?!22|5[Cc]))([2-7][0-9A-Fa-f])")


class Span(NamedTuple):
    """A span of a text and its replacement."""

    start: int
    end: int
    replacement: str = MASK


def replace(text: str, spans: Iterable[Span]) -> str:
    """Replace the spans; of nested ones the outer one counts, overlapping ones are one."""
    parts: list[str] = []
    position = 0
    for span in _merge(spans):
        parts += [text[position : span.start], span.replacement]
        position = span.end
    parts.append(text[position:])
    return "".join(parts)


def _merge(spans: Iterable[Span]) -> Iterator[Span]:
    current: Span | None = None
    non_empty = (span for span in spans if span.start < span.end)
    for span in sorted(non_empty, key=lambda span: (span.start, -span.end)):
        if current is None or span.start >= current.end:
            if current is not None:
                yield current
            current = span
        elif span.end > current.end:
            current = Span(current.start, span.end)
    if current is not None:
        yield current


class Decoded:
    """A text with its percent-encoded or escaped ASCII characters decoded, however often they were encoded.

    `original` maps a span of the decoded text to the text as it was.
    """

    def __init__(self, text: str) -> None:
        parts: list[str] = []
        # Positions in the decoded text after each encoded character, and how far the text is ahead there.
        self._after: list[int] = []
        self._ahead: list[int] = []
        position = length = 0
        for match in _ENCODED.finditer(text):
            length += match.start() - position + 1
            parts += [text[position : match.start()], chr(int(match[1], 16))]
            position = match.end()
            self._after.append(length)
            self._ahead.append(position - length)
        parts.append(text[position:])
        self.text = "".join(parts)

    def original(self, span: Span) -> Span:
        """Return the span in the encoded text."""
        return span._replace(start=self._original(span.start), end=self._original(span.end))

    def _original(self, position: int) -> int:
        index = bisect_left(self._after, position + 1)
        return position + (self._ahead[index - 1] if index else 0)


# JSON in a string of JSON has its quotes escaped. A comment does not start in a path: /*/.
_MARK = re.compile(r"\n|/\*(?!/)|\*/|(?P<delimiter>(?<!\\)\\{0,7}['\"`])(?P=delimiter)*")
_COMMENT = "/*"


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
        names = [name for name, _ in self._open]
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
