"""Texts and times of the graph for answers. Pure.

Anyone who names a dataset or writes a description decides these texts. Characters that a reader does not see,
or that change how others are shown, are escaped as ``\\u200b``; `unescape` is the inverse, so an escaped id
still resolves.
"""

import re
import unicodedata
from collections.abc import Iterable, Mapping
from typing import Any

from lineage_merge.model.times import utc_moment

# Control, format (bidirectional, zero width, tags), surrogate, private and unassigned; line and paragraph
# separators.
_HIDDEN = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})
# Invisible, but letters or marks by their category: fillers, the grapheme joiner, variation selectors.
_INVISIBLE = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\ufe00-\ufe0f\uffa0\U000e0100-\U000e01ef]"
)
# Spaces that look like the usual one, or like none.
_SPACES = frozenset(
    "\u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u202f\u205f"
)
# A text that looks like an escape is escaped itself.
_BACKSLASH = re.compile(r"\\(?=[uU])")
_ESCAPE = re.compile(r"\\u([0-9a-f]{4})|\\U([0-9a-f]{8})")
_MAX_CODE_POINT = 0x10FFFF
ELLIPSIS = "…"
# Characters of texts that are read, not used again.
LONG = 600
SHORT = 160


class CutText(str):
    """A text of which the end was cut."""

    __slots__ = ()


def escape(text: str) -> str:
    """Return a text with all hidden characters escaped, in one line."""
    if text.isprintable() and text.isascii() and "\\" not in text:
        return text  # fast path for most names
    return visible(_BACKSLASH.sub(r"\\u005c", text))


def visible(text: str) -> str:
    """Return a text with its hidden characters escaped; escaped texts stay as they are."""
    if text.isprintable() and text.isascii():
        return text
    return "".join(_escape(character) if _is_hidden(character) else character for character in text)


def unescape(text: str) -> str:
    """Return the text of which `escape` made this one. Surrogates stay escaped: no name can contain them."""
    return _ESCAPE.sub(_character, text)


def format_text(text: str, limit: int) -> str:
    """Return a text to read: whitespace collapsed, escaped, of at most `limit` characters."""
    # With a limit, the last part may be long; the parts before it alone exceed the limit then.
    collapsed = " ".join(text.split(None, limit))
    return cut(escape(collapsed[: limit + 1]), limit)


def text(value: Any, limit: int = LONG) -> str:
    """Return a text of the graph to read; "" if there is none."""
    return format_text(str(value), limit) if value not in (None, "") else ""


def texts(values: Iterable[Any] | None) -> list[str]:
    """Return values of the graph, escaped."""
    return [escape(str(value)) for value in values or ()]


def time_text(milliseconds: int | None) -> str:
    """Return a time as ``2026-11-23T02:48:40Z``; "" if it is unknown."""
    moment = None if milliseconds is None else utc_moment(milliseconds)
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ") if moment else ""


def cut(text: str, limit: int) -> str:
    """Return a text of at most `limit` characters; a cut one is a `CutText` that ends with an ellipsis."""
    return text if len(text) <= limit else CutText(f"{text[: limit - 1]}{ELLIPSIS}")


def has_cut(value: Any) -> bool:
    """Whether a value is, or contains, a text that was cut."""
    if isinstance(value, Mapping):
        return any(map(has_cut, value.values()))
    if isinstance(value, list | tuple):
        return any(map(has_cut, value))
    return isinstance(value, CutText)


def _is_hidden(character: str) -> bool:
    if character.isascii():
        return not character.isprintable()
    hidden = unicodedata.category(character) in _HIDDEN
    return hidden or character in _SPACES or _INVISIBLE.match(character) is not None


def _escape(character: str) -> str:
    code = ord(character)
    return f"\\u{code:04x}" if code <= 0xFFFF else f"\\U{code:08x}"


def _character(match: re.Match[str]) -> str:
    code = int(match[1] or match[2], 16)
    is_surrogate = 0xD800 <= code <= 0xDFFF
    return match[0] if code > _MAX_CODE_POINT or is_surrogate else chr(code)
