"""The AQL functions that the stand-in knows, each as the manual describes it.

A wrong type is no error in AQL: the function warns and gives null.
"""

import math
import random
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Final, Protocol

from .errors import (
    DATA_SOURCE_NOT_FOUND,
    FUNCTION_ARGUMENT_TYPE_MISMATCH,
    INVALID_ARITHMETIC_VALUE,
    INVALID_REGEX,
)
from .store import Collection, Document
from .values import (
    compare,
    equal,
    identity,
    ordering,
    plain_number,
    to_number,
    to_string,
    truth,
    type_name,
    type_rank,
)


class Context(Protocol):
    """What a function may ask of the query it runs in."""

    def warn(self, number: int, message: str) -> None: ...

    def lookup(self, identifier: str) -> Document | None: ...

    def knows_collection(self, name: str) -> bool: ...


@dataclass(frozen=True)
class Function:
    """`least` to `most` arguments (None: any number); `collections` are positions that take a collection."""

    call: Callable[..., Any]
    least: int
    most: int | None
    collections: tuple[int, ...] = ()


_UNLIMITED: Final = None


def _mismatch(context: Context, name: str) -> None:
    context.warn(FUNCTION_ARGUMENT_TYPE_MISMATCH, f"invalid argument type in call to function '{name}()'")


def _array(context: Context, name: str, value: Any) -> list[Any] | None:
    if isinstance(value, list):
        return value
    _mismatch(context, name)
    return None


def _object(context: Context, name: str, value: Any) -> dict[str, Any] | None:
    if isinstance(value, dict):
        return value
    _mismatch(context, name)
    return None


def _flat(values: Iterable[Any]) -> list[Any]:
    return [item for value in values for item in (value if isinstance(value, list) else [value])]


def unique(values: Iterable[Any]) -> list[Any]:
    return list({identity(value): value for value in values}.values())


def length(_context: Context, value: Any) -> int:
    if isinstance(value, Collection):
        return len(value)
    if value is None:
        return 0
    if isinstance(value, bool):
        return int(value)
    if isinstance(value, int | float):
        return len(to_string(value))
    return len(value)


def like_pattern(pattern: str) -> str:
    """`%` any text, `_` one character, a backslash takes either literally."""
    out: list[str] = []
    escaped = False
    for character in pattern:
        if escaped:
            # Only a wildcard or a backslash is escaped; before anything else the backslash stands for itself.
            out.append(re.escape(character if character in "%_\\" else "\\" + character))
            escaped = False
        elif character == "\\":
            escaped = True
        else:
            out.append({"%": ".*", "_": "."}.get(character) or re.escape(character))
    if escaped:
        out.append(re.escape("\\"))
    return "".join(out)


def _like(_context: Context, text: Any, pattern: Any, fold: Any = False) -> bool:
    flags = re.DOTALL | (re.IGNORECASE if truth(fold) else 0)
    return re.fullmatch(like_pattern(to_string(pattern)), to_string(text), flags) is not None


def _regex_test(context: Context, text: Any, pattern: Any, fold: Any = False) -> bool | None:
    try:
        compiled = re.compile(to_string(pattern), re.IGNORECASE if truth(fold) else 0)
    except re.error:
        context.warn(INVALID_REGEX, "invalid regex value in call to function 'REGEX_TEST()'")
        return None
    return compiled.search(to_string(text)) is not None


def _starts_with(context: Context, text: Any, prefix: Any, least: Any = 1) -> bool | None:
    prefixes = prefix if isinstance(prefix, list) else [prefix]
    if not isinstance(text, str) or not all(isinstance(each, str) for each in prefixes):
        _mismatch(context, "STARTS_WITH")
        return None
    return sum(text.startswith(each) for each in prefixes) >= int(to_number(least) or 0)


def _contains(_context: Context, text: Any, search: Any, as_index: Any = False) -> Any:
    haystack, needle = to_string(text), to_string(search)
    found = haystack.find(needle) if needle else -1
    return found if truth(as_index) else found >= 0


def _concat(_context: Context, *values: Any) -> str:
    parts = values[0] if len(values) == 1 and isinstance(values[0], list) else values
    return "".join(map(to_string, parts))


def _concat_separator(_context: Context, separator: Any, *values: Any) -> str:
    parts = values[0] if len(values) == 1 and isinstance(values[0], list) else values
    return to_string(separator).join(to_string(part) for part in parts if part is not None)


def _substring(_context: Context, text: Any, offset: Any, count: Any = None) -> str:
    body, start = to_string(text), int(to_number(offset) or 0)
    start = max(len(body) + start, 0) if start < 0 else start
    return body[start:] if count is None else body[start : start + max(int(to_number(count) or 0), 0)]


def _split(context: Context, text: Any, separator: Any = None, limit: Any = None) -> list[str] | None:
    body = to_string(text)
    if limit is not None and to_number(limit) == 0:
        return []
    if limit is not None and (to_number(limit) or 0) < 0:
        _mismatch(context, "SPLIT")
        return None
    if separator is None:
        return [body]
    separators = [to_string(each) for each in (separator if isinstance(separator, list) else [separator])]
    if separators == [""]:
        parts = list(body)
    else:
        parts = re.split("|".join(re.escape(each) for each in separators), body)
    return parts if limit is None else parts[: int(to_number(limit) or 0)]


def _trim(kind: str) -> Callable[..., str]:
    def call(_context: Context, text: Any) -> str:
        body = to_string(text)
        white = " \t\r\n"
        if kind == "LTRIM":
            return body.lstrip(white)
        return body.rstrip(white) if kind == "RTRIM" else body.strip(white)

    return call


def _end(name: str, position: int) -> Callable[..., Any]:
    def call(context: Context, value: Any) -> Any:
        items = _array(context, name, value)
        return items[position] if items else None

    return call


def _extreme(name: str, sign: int) -> Callable[..., Any]:
    def call(context: Context, value: Any) -> Any:
        items = _array(context, name, value)
        if items is None:
            return None
        best: Any = None
        for item in items:
            if item is not None and (best is None or compare(item, best) * sign > 0):
                best = item
        return best

    return call


def _numbers(context: Context, name: str, value: Any) -> list[Any] | None:
    items = _array(context, name, value)
    if items is None:
        return None
    present = [item for item in items if item is not None]
    if all(type_rank(item) == 2 for item in present):
        return present
    context.warn(INVALID_ARITHMETIC_VALUE, f"invalid arithmetic value in call to function '{name}()'")
    return None


def _sum(context: Context, value: Any) -> Any:
    numbers = _numbers(context, "SUM", value)
    return None if numbers is None else plain_number(sum(numbers))


def _average(context: Context, value: Any) -> Any:
    numbers = _numbers(context, "AVERAGE", value)
    return plain_number(sum(numbers) / len(numbers)) if numbers else None


def _unique(context: Context, value: Any) -> list[Any] | None:
    items = _array(context, "UNIQUE", value)
    return None if items is None else unique(items)


def _sorted(name: str, distinct: bool) -> Callable[..., Any]:
    def call(context: Context, value: Any) -> list[Any] | None:
        items = _array(context, name, value)
        if items is None:
            return None
        return sorted(unique(items) if distinct else items, key=ordering)

    return call


def _flatten(context: Context, value: Any, depth: Any = 1) -> list[Any] | None:
    items = _array(context, "FLATTEN", value)
    if items is None:
        return None
    for _ in range(max(int(to_number(depth) or 0), 1)):
        items = _flat(items)
    return items


def _append(context: Context, value: Any, more: Any, distinct: Any = False) -> list[Any] | None:
    if value is None:
        value = []
    items = _array(context, "APPEND", value)
    if items is None:
        return None
    added = items + ([] if more is None else more if isinstance(more, list) else [more])
    return unique(added) if truth(distinct) else added


def _union(name: str, distinct: bool) -> Callable[..., Any]:
    def call(context: Context, *values: Any) -> list[Any] | None:
        if not all(isinstance(value, list) for value in values):
            _mismatch(context, name)
            return None
        items = _flat(values)
        return unique(items) if distinct else items

    return call


def _minus(context: Context, value: Any, *others: Any) -> list[Any] | None:
    if not all(isinstance(each, list) for each in (value, *others)):
        _mismatch(context, "MINUS")
        return None
    removed = {identity(item) for other in others for item in other}
    return [item for item in unique(value) if identity(item) not in removed]


def _intersection(context: Context, *values: Any) -> list[Any] | None:
    if not all(isinstance(value, list) for value in values):
        _mismatch(context, "INTERSECTION")
        return None
    sets = [{identity(item) for item in value} for value in values[1:]]
    return [item for item in unique(values[0]) if all(identity(item) in each for each in sets)]


def _slice(context: Context, value: Any, start: Any, count: Any = None) -> list[Any] | None:
    items = _array(context, "SLICE", value)
    if items is None:
        return None
    begin = int(to_number(start) or 0)
    begin = max(len(items) + begin, 0) if begin < 0 else begin
    if count is None:
        return items[begin:]
    wanted = int(to_number(count) or 0)
    return items[begin : begin + wanted if wanted >= 0 else wanted]


def _nth(context: Context, value: Any, position: Any) -> Any:
    items = _array(context, "NTH", value)
    index = int(to_number(position) or 0)
    return items[index] if items is not None and 0 <= index < len(items) else None


def _reverse(context: Context, value: Any) -> Any:
    if isinstance(value, str):
        return value[::-1]
    items = _array(context, "REVERSE", value)
    return None if items is None else items[::-1]


def _position(context: Context, value: Any, search: Any, as_index: Any = False) -> Any:
    items = _array(context, "POSITION", value)
    if items is None:
        return None
    found = next((index for index, item in enumerate(items) if equal(item, search)), -1)
    return found if truth(as_index) else found >= 0


def _has(context: Context, value: Any, name: Any) -> bool:
    return isinstance(value, dict) and to_string(name) in value


def _keep(context: Context, value: Any, *names: Any) -> dict[str, Any] | None:
    document = _object(context, "KEEP", value)
    wanted = {name for name in _flat(names) if isinstance(name, str)}
    return None if document is None else {name: each for name, each in document.items() if name in wanted}


def _unset(context: Context, value: Any, *names: Any) -> dict[str, Any] | None:
    document = _object(context, "UNSET", value)
    removed = {name for name in _flat(names) if isinstance(name, str)}
    return (
        None if document is None else {name: each for name, each in document.items() if name not in removed}
    )


def _merge(context: Context, *values: Any) -> dict[str, Any] | None:
    parts = values[0] if len(values) == 1 and isinstance(values[0], list) else values
    merged: dict[str, Any] = {}
    for part in parts:
        document = _object(context, "MERGE", part)
        if document is None:
            return None
        merged.update(document)
    return merged


def _attributes(context: Context, value: Any, without_system: Any = False, ordered: Any = False) -> Any:
    document = _object(context, "ATTRIBUTES", value)
    if document is None:
        return None
    names = [name for name in document if not (truth(without_system) and name.startswith("_"))]
    return sorted(names, key=ordering) if truth(ordered) else names


def _values(context: Context, value: Any, without_system: Any = False) -> list[Any] | None:
    document = _object(context, "VALUES", value)
    if document is None:
        return None
    return [each for name, each in document.items() if not (truth(without_system) and name.startswith("_"))]


def _zip(context: Context, names: Any, values: Any) -> dict[str, Any] | None:
    if not isinstance(names, list) or not isinstance(values, list) or len(names) != len(values):
        _mismatch(context, "ZIP")
        return None
    return {to_string(name): value for name, value in zip(names, values, strict=True)}


def _document(context: Context, *arguments: Any) -> Any:
    prefix = ""
    if len(arguments) == 2:
        owner = arguments[0]
        prefix = f"{owner.name if isinstance(owner, Collection) else to_string(owner)}/"
    wanted = arguments[-1]

    def find(identifier: Any) -> Document | None:
        if not isinstance(identifier, str):
            return None
        whole = identifier if "/" in identifier else prefix + identifier
        name = whole.partition("/")[0]
        if "/" in whole and not context.knows_collection(name):
            context.warn(DATA_SOURCE_NOT_FOUND, f"collection or view not found: {name}")
        return context.lookup(whole)

    if isinstance(wanted, list):
        return [found for found in map(find, wanted) if found is not None]
    return find(wanted)


def _parse_identifier(name: str, part: str | None) -> Callable[..., Any]:
    def call(context: Context, value: Any) -> Any:
        text = value.get("_id") if isinstance(value, dict) else value
        collection, slash, key = text.partition("/") if isinstance(text, str) else ("", "", "")
        if not (collection and slash and key) or "/" in key:
            _mismatch(context, name)
            return None
        parsed = {"collection": collection, "key": key}
        return parsed if part is None else parsed[part]

    return call


def _range(context: Context, low: Any, high: Any, step: Any = None) -> list[Any] | None:
    start, stop = to_number(low) or 0, to_number(high) or 0
    pace = (1 if start <= stop else -1) if step is None else (to_number(step) or 0)
    if pace == 0 or (start < stop and pace < 0) or (start > stop and pace > 0):
        _mismatch(context, "RANGE")
        return None
    if step is None:
        start, stop = int(start), int(stop)
    count = math.floor((stop - start) / pace) + 1
    return [plain_number(start + index * pace) for index in range(count)]


def _not_null(_context: Context, *values: Any) -> Any:
    return next((value for value in values if value is not None), None)


def _number_function(operation: Callable[[float], float]) -> Callable[..., Any]:
    def call(_context: Context, value: Any) -> Any:
        number = to_number(value)
        return None if number is None else plain_number(operation(number))

    return call


def _is(rank: int) -> Callable[..., bool]:
    def call(_context: Context, value: Any) -> bool:
        return type_rank(value) == rank

    return call


def _text(operation: Callable[[str], Any]) -> Callable[..., Any]:
    def call(_context: Context, value: Any) -> Any:
        return operation(to_string(value))

    return call


def _to_array(_context: Context, value: Any) -> list[Any]:
    if value is None:
        return []
    if isinstance(value, dict):
        return list(value.values())
    return value if isinstance(value, list) else [value]


def _typename(_context: Context, value: Any) -> str:
    return type_name(value)


FUNCTIONS: Final[dict[str, Function]] = {
    "LENGTH": Function(length, 1, 1, (0,)),
    "COUNT": Function(length, 1, 1, (0,)),
    "COLLECTION_COUNT": Function(length, 1, 1, (0,)),
    "DOCUMENT": Function(_document, 1, 2, (0,)),
    "CONCAT": Function(_concat, 1, _UNLIMITED),
    "CONCAT_SEPARATOR": Function(_concat_separator, 2, _UNLIMITED),
    "LOWER": Function(_text(str.lower), 1, 1),
    "UPPER": Function(_text(str.upper), 1, 1),
    "CHAR_LENGTH": Function(_text(len), 1, 1),
    "LIKE": Function(_like, 2, 3),
    "REGEX_TEST": Function(_regex_test, 2, 3),
    "STARTS_WITH": Function(_starts_with, 2, 3),
    "CONTAINS": Function(_contains, 2, 3),
    "SUBSTRING": Function(_substring, 2, 3),
    "LEFT": Function(lambda context, text, count: _substring(context, text, 0, count), 2, 2),
    "SPLIT": Function(_split, 1, 3),
    "TRIM": Function(_trim("TRIM"), 1, 1),
    "LTRIM": Function(_trim("LTRIM"), 1, 1),
    "RTRIM": Function(_trim("RTRIM"), 1, 1),
    "FIRST": Function(_end("FIRST", 0), 1, 1),
    "LAST": Function(_end("LAST", -1), 1, 1),
    "NTH": Function(_nth, 2, 2),
    "SLICE": Function(_slice, 2, 3),
    "REVERSE": Function(_reverse, 1, 1),
    "POSITION": Function(_position, 2, 3),
    "MIN": Function(_extreme("MIN", -1), 1, 1),
    "MAX": Function(_extreme("MAX", 1), 1, 1),
    "SUM": Function(_sum, 1, 1),
    "AVERAGE": Function(_average, 1, 1),
    "AVG": Function(_average, 1, 1),
    "UNIQUE": Function(_unique, 1, 1),
    "SORTED": Function(_sorted("SORTED", False), 1, 1),
    "SORTED_UNIQUE": Function(_sorted("SORTED_UNIQUE", True), 1, 1),
    "FLATTEN": Function(_flatten, 1, 2),
    "APPEND": Function(_append, 2, 3),
    "UNION": Function(_union("UNION", False), 2, _UNLIMITED),
    "UNION_DISTINCT": Function(_union("UNION_DISTINCT", True), 2, _UNLIMITED),
    "MINUS": Function(_minus, 2, _UNLIMITED),
    "INTERSECTION": Function(_intersection, 2, _UNLIMITED),
    "HAS": Function(_has, 2, 2),
    "KEEP": Function(_keep, 2, _UNLIMITED),
    "UNSET": Function(_unset, 2, _UNLIMITED),
    "MERGE": Function(_merge, 1, _UNLIMITED),
    "ATTRIBUTES": Function(_attributes, 1, 3),
    "VALUES": Function(_values, 1, 2),
    "ZIP": Function(_zip, 2, 2),
    "PARSE_IDENTIFIER": Function(_parse_identifier("PARSE_IDENTIFIER", None), 1, 1),
    "PARSE_KEY": Function(_parse_identifier("PARSE_KEY", "key"), 1, 1),
    "PARSE_COLLECTION": Function(_parse_identifier("PARSE_COLLECTION", "collection"), 1, 1),
    "RANGE": Function(_range, 2, 3),
    "NOT_NULL": Function(_not_null, 1, _UNLIMITED),
    "FLOOR": Function(_number_function(math.floor), 1, 1),
    "CEIL": Function(_number_function(math.ceil), 1, 1),
    "ROUND": Function(_number_function(lambda number: math.floor(number + 0.5)), 1, 1),
    "ABS": Function(_number_function(abs), 1, 1),
    "RAND": Function(lambda _context: random.random(), 0, 0),
    "TO_STRING": Function(lambda _context, value: to_string(value), 1, 1),
    "TO_NUMBER": Function(lambda _context, value: to_number(value), 1, 1),
    "TO_BOOL": Function(lambda _context, value: truth(value), 1, 1),
    "TO_ARRAY": Function(_to_array, 1, 1),
    "TYPENAME": Function(_typename, 1, 1),
    "IS_NULL": Function(_is(0), 1, 1),
    "IS_BOOL": Function(_is(1), 1, 1),
    "IS_NUMBER": Function(_is(2), 1, 1),
    "IS_STRING": Function(_is(3), 1, 1),
    "IS_ARRAY": Function(_is(4), 1, 1),
    "IS_LIST": Function(_is(4), 1, 1),
    "IS_OBJECT": Function(_is(5), 1, 1),
    "IS_DOCUMENT": Function(_is(5), 1, 1),
}


def _count(context: Context, values: list[Any]) -> int:
    return len(values)


def _count_distinct(context: Context, values: list[Any]) -> int:
    return len(unique(values))


AGGREGATES: Final[dict[str, Callable[[Context, list[Any]], Any]]] = {
    "COUNT": _count,
    "LENGTH": _count,
    "MIN": _extreme("MIN", -1),
    "MAX": _extreme("MAX", 1),
    "SUM": _sum,
    "AVERAGE": _average,
    "AVG": _average,
    "UNIQUE": _unique,
    "SORTED_UNIQUE": _sorted("SORTED_UNIQUE", True),
    "COUNT_DISTINCT": _count_distinct,
    "COUNT_UNIQUE": _count_distinct,
}
