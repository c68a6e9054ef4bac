"""Which regular expressions may take very long on some text, by their structure. Pure.

Python's engine tries every possible match. Texts of n characters cost 2^n steps if a repeated group can match
one text in several sequences, n^k with k repetitions that can exchange characters. Locations have names
that others choose, so that such a pattern could stop a build.
"""

import re
from collections.abc import Iterable
from functools import cache
from importlib import import_module
from typing import Any, NamedTuple

# The parser of `re`, whose trees have no public name.
_parser: Any = import_module("re._parser")
# Repetitions that can exchange characters, and the search for the beginning.
MAX_REPETITIONS = 3
# Larger bounds count as none.
_FEW = 4
# Characters of which a class is tried, and one for all others.
_OTHERS = "\uffff"
_ALPHABET = frozenset([*map(chr, range(256)), _OTHERS])
_ANCHORS = ("AT_BEGINNING", "AT_BEGINNING_STRING")


class _Item(NamedTuple):
    """A character of a set; `repeated`: any number of them."""

    characters: frozenset[str]
    repeated: bool


def problem_of(pattern: str) -> str:
    """Return why a valid pattern may take very long, "" if it does not."""
    tree = _parser.parse(pattern)
    number, nested = _cost(list(tree), tree.state.flags)
    if nested:
        return nested
    first = next(iter(tree), None)
    is_anchored = first is not None and str(first[0]) == "AT" and str(first[1]) in _ANCHORS
    if number + (not is_anchored) > MAX_REPETITIONS:
        return (
            f"more than {MAX_REPETITIONS - (not is_anchored)} repetitions that can match the same characters"
            f" take very long on some names. Fix: {'' if is_anchored else 'begin it with ^, or '}write"
            " [^/]+ in place of .*"
        )
    return ""


def _cost(nodes: list[Any], flags: int) -> tuple[int, str]:
    """Return the repetitions that can exchange characters with what follows, and the problem of a group."""
    number = 0
    for at, (op, argument) in enumerate(nodes):
        name = str(op)
        if name.endswith("REPEAT"):
            least, most, body = argument
            items = _items(list(body), flags)
            if most == 1 or (least == most and most <= _FEW):
                more, nested = _cost(list(body), flags)
                number += more * int(most)
                if nested:
                    return number, nested
            elif len(items or ()) == 1 and items and not items[0].repeated:
                # A possessive one gives nothing back; nor do fixed numbers.
                if least != most and name != "POSSESSIVE_REPEAT":
                    number += not _is_apart(items[0].characters, nodes[at + 1 :], flags)
            elif items is None or not _is_unambiguous(items):
                return number, (
                    "a repeated group that contains a repetition, alternatives or an optional part takes"
                    " very long on some names, unless each round begins with a character that it has nowhere"
                    " else. Fix: write (?:/[^/]+)+ in place of (?:.+/)+"
                )
            else:
                number += 1
        else:
            # Flags that a group removes count as set: then more characters are equal.
            inner_flags = flags | argument[1] if name == "SUBPATTERN" else flags
            for part in _parts(name, argument):
                more, nested = _cost(part, inner_flags)
                number += more
                if nested:
                    return number, nested
    return number, ""


def _parts(name: str, argument: Any) -> Iterable[list[Any]]:
    """Return the sequences inside a group, alternatives, or a look around."""
    if name == "SUBPATTERN":
        return [list(argument[3])]
    if name == "BRANCH":
        return [list(part) for part in argument[1]]
    if name in ("ASSERT", "ASSERT_NOT"):
        return [list(argument[1])]
    if name == "ATOMIC_GROUP":
        return [list(argument)]
    if name == "GROUPREF_EXISTS":
        return [list(part) for part in argument[1:] if part is not None]
    return []


def _items(nodes: list[Any], flags: int) -> list[_Item] | None:
    """Return a sequence of characters and of repetitions of one; None if it has other parts."""
    items: list[_Item] = []
    for op, argument in nodes:
        name = str(op)
        if name == "SUBPATTERN":
            inner = _items(list(argument[3]), flags | argument[1])
        elif name.endswith("REPEAT"):
            least, most, body = argument
            inner = _items(list(body), flags)
            if inner is None or len(inner) != 1 or inner[0].repeated:
                return None
            inner = [_Item(inner[0].characters, least != most)] * (1 if least != most else min(int(most), 9))
        elif (characters := _characters(name, argument, flags)) is not None:
            inner = [_Item(characters, repeated=False)]
        else:
            inner = None
        if inner is None:
            return None
        items += inner
    return items


def _is_unambiguous(items: list[_Item]) -> bool:
    """Return whether the rounds of a repeated sequence are unambiguous."""
    repeated = sum(item.repeated for item in items)
    if not repeated:
        return True
    first, *others = items
    is_apart = not first.repeated and all(first.characters.isdisjoint(item.characters) for item in others)
    return is_apart and repeated == 1


def _is_apart(characters: frozenset[str], following: list[Any], flags: int) -> bool:
    """Return whether what follows a repetition must begin with another character."""
    for op, argument in following:
        name = str(op)
        if name == "SUBPATTERN":
            return _is_apart(characters, [*argument[3], *following[1:]], flags | argument[1])
        if name.endswith("REPEAT") and argument[0] > 0:
            return _is_apart(characters, list(argument[2]), flags)
        found = _characters(name, argument, flags)
        return found is not None and characters.isdisjoint(found)
    return True  # the end of the pattern: whatever it matched is the match


def _characters(name: str, argument: Any, flags: int) -> frozenset[str] | None:
    """Return the characters that one character of a pattern matches; None for other parts."""
    if name == "LITERAL":
        return _add_cases(frozenset([_find_class(argument)]), flags)
    if name == "NOT_LITERAL":
        return _ALPHABET - _add_cases(frozenset([_find_class(argument)]), flags) | {_OTHERS}
    if name == "ANY":
        return _ALPHABET if flags & re.DOTALL else _ALPHABET - {"\n"}
    if name == "CATEGORY":
        return _list_category(str(argument))
    if name != "IN":
        return None
    members: frozenset[str] = frozenset()
    for op, part in argument:
        if str(op) == "RANGE":
            members |= {_find_class(code) for code in range(part[0], min(part[1], 256) + 1)}
            members |= {_OTHERS} if part[1] > 255 else set()
        elif str(op) != "NEGATE":
            members |= _characters(str(op), part, flags) or frozenset()
    members = _add_cases(members, flags)
    if argument and str(argument[0][0]) == "NEGATE":
        return _ALPHABET - members | {_OTHERS}
    return members


def _find_class(code: int) -> str:
    return chr(code) if code < 256 else _OTHERS


def _add_cases(characters: frozenset[str], flags: int) -> frozenset[str]:
    if not flags & re.IGNORECASE:
        return characters
    return characters | {
        _find_class(ord(case[0])) for each in characters for case in (each.lower(), each.upper())
    }


@cache
def _list_category(name: str) -> frozenset[str]:
    letter = {"DIGIT": "d", "SPACE": "s", "WORD": "w"}[name.rpartition("_")[2]]
    members = frozenset(character for character in _ALPHABET if re.match(rf"\{letter}", character))
    return (_ALPHABET - members if "_NOT_" in name else members) | {_OTHERS}
