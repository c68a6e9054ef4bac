"""Width of text in a drawing, without the font: that of the widest common sans-serif fonts. Pure."""

import unicodedata

# In em, of DejaVu Sans and Verdana; others are narrower.
_NARROW = frozenset("iljtfrI.,:;'|!()[]-/\\ ")
_WIDE = frozenset("mwMW@%…")
_BOLD = 1.1


def text_width(text: str, size: int, *, bold: bool = False) -> float:
    """Return the estimated width in pixels."""
    return sum(map(_em, text)) * size * (_BOLD if bold else 1)


def fitted(text: str, width: float, size: int, *, bold: bool = False) -> str:
    """Return the text, shortened in the middle if it is wider than `width`."""
    if text_width(text, size, bold=bold) <= width:
        return text
    most = len(text)
    while most > 1:
        # The end of a name says more than its beginning.
        most = min(most - 1, int(most * width / text_width(text[-most:], size, bold=bold)) + 1)
        head = most // 3
        shown = f"{text[:head]}…{text[len(text) - (most - head) :]}"
        if text_width(shown, size, bold=bold) <= width:
            return shown
    return "…"


def _em(character: str) -> float:
    if unicodedata.category(character) in ("Mn", "Me", "Cf"):
        return 0.0
    if unicodedata.east_asian_width(character) in ("W", "F") or character > "\uffff":
        return 1.15
    if character in _NARROW:
        return 0.43
    if character in _WIDE:
        return 1.03
    return 0.79 if character.isupper() or not character.isascii() else 0.66
