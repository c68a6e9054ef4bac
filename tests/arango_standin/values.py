"""What AQL says of values: the order of types, equality, truth and conversions.

Values are what `json` makes of a document. Numbers compare as numbers whatever their Python
type; `bool` is a type of its own; a missing attribute is null.
"""

import json
import math
import unicodedata
from collections.abc import Callable, Hashable
from functools import cmp_to_key, lru_cache
from typing import Any, Final

type_names: Final = ("null", "bool", "number", "string", "array", "object")

# ICU's root order of what ASCII has besides letters and digits: not the order of code points.
_PUNCTUATION: Final = "\t\n\x0b\x0c\r _-,;:!?.'\"()[]{}@*/\\&#%`^+<=>|~$"
_RANK: Final = {character: rank for rank, character in enumerate(_PUNCTUATION)}


def type_rank(value: Any) -> int:
    """0 to 5, in the order null < bool < number < string < array < object."""
    if value is None:
        return 0
    if isinstance(value, bool):
        return 1
    if isinstance(value, int | float):
        return 2
    if isinstance(value, str):
        return 3
    return 4 if isinstance(value, list) else 5


def type_name(value: Any) -> str:
    return type_names[type_rank(value)]


@lru_cache(maxsize=65536)
def collation_key(text: str) -> tuple[Any, ...]:
    """The server orders strings by ICU's collation, not by code point: `a` < `B` < `c`, `_` < `-` < digits.

    Right for ASCII; accents come second to letters; other scripts stand in the order of code points.
    """
    primary: list[tuple[int, int]] = []
    accents: list[int] = []
    cases: list[bool] = []
    for character in unicodedata.normalize("NFD", text):
        if unicodedata.combining(character):
            accents.append(ord(character))
            continue
        rank = _RANK.get(character)
        if rank is None:
            lower = character.lower()
            primary.append((2 if not character.isdigit() else 1, ord(lower[0])))
        else:
            primary.append((0, rank))
        accents.append(0)
        cases.append(character.isupper())
    return tuple(primary), tuple(accents), tuple(cases), text


def _sign(less: bool, greater: bool) -> int:
    return -1 if less else int(greater)


def compare(left: Any, right: Any) -> int:
    """-1, 0 or 1: AQL's total order over all values."""
    rank, other = type_rank(left), type_rank(right)
    if rank != other:
        return _sign(rank < other, True)
    if rank == 0:
        return 0
    if rank in {1, 2}:
        return _sign(left < right, left > right)
    if rank == 3:
        if left == right:
            return 0
        return _sign(collation_key(left) < collation_key(right), True)
    if rank == 4:
        for own, other in zip(left, right, strict=False):
            if order := compare(own, other):
                return order
        # A missing element comes even before null.
        return _sign(len(left) < len(right), len(left) > len(right))
    for name in sorted(set(left) | set(right), key=collation_key):
        if order := compare(left.get(name), right.get(name)):
            return order
    return 0


ordering: Final[Callable[[Any], Any]] = cmp_to_key(compare)


def identity(value: Any) -> Hashable:
    """Equal for values that AQL calls equal, and hashable: for grouping, DISTINCT and look-ups."""
    rank = type_rank(value)
    if rank == 0:
        return (0,)
    if rank in {1, 2, 3}:
        return (rank, value)
    if rank == 4:
        return (4, tuple(identity(item) for item in value))
    return (5, frozenset((name, identity(item)) for name, item in value.items() if item is not None))


def equal(left: Any, right: Any) -> bool:
    return identity(left) == identity(right)


def truth(value: Any) -> bool:
    """Arrays and objects are true even when they are empty; null, false, 0 and "" are not."""
    rank = type_rank(value)
    return bool(value) if rank < 4 else True


def plain_number(value: float) -> int | float | None:
    """2.0 goes over the wire as 2; what is not finite becomes null."""
    if isinstance(value, int):
        return value if -(2**63) <= value < 2**64 else float(value)
    if not math.isfinite(value):
        return None
    return int(value) if value.is_integer() and abs(value) < 2**53 else value


def to_number(value: Any) -> int | float | None:
    """TO_NUMBER: null where a text is no number, or an array has several elements."""
    rank = type_rank(value)
    if rank == 0:
        return 0
    if rank == 1:
        return int(value)
    if rank == 2:
        return value  # type: ignore[no-any-return]
    if rank == 3:
        text = value.strip()
        if not text:
            return 0
        if text.lower().lstrip("+-") in {"inf", "infinity", "nan"} or "_" in text:
            return 0
        try:
            return plain_number(float(text)) if not text.lstrip("+-").isdigit() else int(text)
        except ValueError:
            return 0
    if rank == 4:
        if not value:
            return 0
        return to_number(value[0]) if len(value) == 1 else 0
    return 0


def to_string(value: Any) -> str:
    """TO_STRING: null is "", arrays and objects are compact JSON."""
    if value is None:
        return ""
    if isinstance(value, str):
        return value
    if isinstance(value, float) and value.is_integer() and abs(value) < 2**53:
        return str(int(value))
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
