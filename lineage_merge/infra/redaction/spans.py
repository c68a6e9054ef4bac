"""Spans of a text to replace, and decoding of percent-encoding and JSON escapes."""

import re
from bisect import bisect_left
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
    for span in _merged(spans):
        parts += [text[position : span.start], span.replacement]
        position = span.end
    parts.append(text[position:])
    return "".join(parts)


def _merged(spans: Iterable[Span]) -> Iterator[Span]:
    current: Span | None = None
    found = (span for span in spans if span.start < span.end)
    for span in sorted(found, key=lambda each: (each.start, -each.end)):
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
