"""The text of an expression in a physical plan: its brackets, and structures that it builds. Pure."""

import re
from collections.abc import Mapping
from typing import NamedTuple

from lineage_merge.sources.spline.columns.plan_text import split_top
from lineage_merge.sources.spline.documents import Document

_STRUCT = "CreateNamedStruct"
_BUILDING: Mapping[str, str] = {
    "named_struct": _STRUCT,
    "struct": _STRUCT,
    "array": "CreateArray",
}
_CALL = re.compile(rf"(?P<name>{'|'.join(_BUILDING)})\(")
_WINDOW = " windowspecdefinition("
_ORDER = re.compile(r"(?: ASC)?( DESC)? NULLS (?:FIRST|LAST)$")
# A structure that stays null: if (isnull(s#1)) null else named_struct(...)
_KEEPS_NULL = re.compile(r"if \((?:\()?isnull\([^()]*#\d+[^()]*\)\)?\) null else (?=named_struct\()")


class Structure(NamedTuple):
    """A value that is built of `parts`: names (None in an array) and the text of values."""

    function: str
    class_name: str
    parts: tuple[tuple[str | None, str], ...]


def read_structure(text: str) -> Structure | None:
    """Return the structure that an expression is; None for another one."""
    kept = _KEEPS_NULL.match(text)
    text = text[kept.end() :] if kept else text
    call = _CALL.match(text)
    if call is None or closing_bracket(text, call.end() - 1) != len(text) - 1:
        return None
    values = split_top(text[call.end() : -1])
    class_name = _BUILDING[call["name"]]
    if class_name == "CreateArray":
        parts: tuple[tuple[str | None, str], ...] = tuple((None, value) for value in values)
    elif len(values) % 2 or any("#" in name for name in values[0::2]):
        # A constant with a comma, or a form that is not known.
        return None
    else:
        parts = tuple(zip(values[0::2], values[1::2], strict=True))
    return Structure(call["name"], class_name, parts) if parts else None


def write_windows(text: str) -> str:
    """Return an expression with its windows as in SQL: `rank() OVER (PARTITION BY a#1 ORDER BY b#2)`."""
    while (start := text.find(_WINDOW)) >= 0:
        end = closing_bracket(text, start + len(_WINDOW) - 1)
        if end < 0:
            break
        parts = split_top(text[start + len(_WINDOW) : end])
        columns = [part for part in parts if not part.startswith("specifiedwindowframe(")]
        order = [_ORDER.sub(r"\1", part) for part in columns if _ORDER.search(part)]
        partition = [part for part in columns if not _ORDER.search(part)]
        clauses = (("PARTITION BY", partition), ("ORDER BY", order))
        over = " ".join(f"{clause} {', '.join(by)}" for clause, by in clauses if by)
        text = f"{text[:start]} OVER ({over}){text[end + 1 :]}"
    return text


def is_struct(function: Document) -> bool:
    """Return whether a function's document is a structure of named fields."""
    return (function.get("extra") or {}).get("simpleClassName") == _STRUCT


def closing_bracket(text: str, start: int) -> int:
    """Return the place of the bracket that closes the one at `start`, -1 if there is none."""
    depth = 0
    for position in range(start, len(text)):
        letter = text[position]
        depth += (letter == "(") - (letter == ")")
        if depth == 0:
            return position
    return -1


def strip_brackets(text: str) -> str:
    """Return an expression without the brackets around it."""
    return text[1:-1] if text.startswith("(") and closing_bracket(text, 0) == len(text) - 1 else text
