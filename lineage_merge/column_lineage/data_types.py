"""Data types as text: written in Spark's notation, and the fields in those of any platform. Pure.

``array<struct<city:string>>`` of Spark, Hive and Glue, ``STRUCT<city STRING>`` of BigQuery,
``STRUCT(city VARCHAR)[]`` of DuckDB, ``ROW(city varchar)`` of Trino.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from typing import Any

# Names in Spark's schemas that SQL does not have.
_SQL_NAMES = {"integer": "int", "long": "bigint", "short": "smallint", "byte": "tinyint"}

_STRUCTURE = re.compile(r"\s*(?:struct|row|record|object|nested|tuple)\s*(?=[<(])", re.IGNORECASE)
_AROUND = re.compile(r"\s*(?P<kind>array|list|map)\s*(?=[<(])", re.IGNORECASE)
_ARRAY = re.compile(r"\[\d*\]\s*$")
_QUOTED = re.compile(r"`(?P<tick>[^`]+)`|\"(?P<double>[^\"]+)\"")
_NOT_IN_NAMES = frozenset("<>(),'\"`")
_TOKENS = re.compile(r"'(?:[^'\\]|\\.)*'|\"[^\"]*\"|`[^`]*`|[<>(),]", re.DOTALL)

# Of arrays in arrays.
_MAX_DEPTH = 50

Fields = tuple[tuple[str, str], ...]


def sql_name(name: str) -> str:
    """Return a name of Spark's schemas, such as `integer`, as SQL has it."""
    return _SQL_NAMES.get(name, name)


def array_of(element: str) -> str:
    """Return the type of an array."""
    return f"array<{element}>"


def map_of(key: str, value: str) -> str:
    """Return the type of a map."""
    return f"map<{key},{value}>"


def struct_of(fields: Iterable[tuple[str, str]]) -> str:
    """Return the type of a structure of names and types."""
    return f"struct<{','.join(f'{name}:{data_type}' for name, data_type in fields)}>"


def type_of_json(data_type: Any) -> str:
    """Return a type of Spark's schemas in JSON; "" for anything else."""
    if isinstance(data_type, str):
        return sql_name(data_type)
    if not isinstance(data_type, dict):
        return ""
    match data_type.get("type"):
        case "array":
            return array_of(type_of_json(data_type.get("elementType")))
        case "map":
            return map_of(type_of_json(data_type.get("keyType")), type_of_json(data_type.get("valueType")))
        case "struct":
            fields = [field for field in data_type.get("fields") or () if isinstance(field, Mapping)]
            return struct_of((str(field.get("name")), type_of_json(field.get("type"))) for field in fields)
        case "udt":
            return type_of_json(data_type.get("sqlType"))
        case other:
            return type_of_json(other)


@lru_cache(4096)
def fields_of(data_type: str, *, of_maps: bool = True) -> Fields | None:
    """Return names and types of the fields of a structure, or of those in an array; None: it has none.

    `of_maps`: also those of the values of a map. A field without a name has the name "".
    """
    for _ in range(_MAX_DEPTH):
        structure = _STRUCTURE.match(data_type)
        if structure is not None:
            return tuple(map(_field, _split_bracket(data_type, structure.end()) or ())) or None
        element = _element(data_type, of_maps=of_maps)
        if element is None:
            break
        data_type = element
    return None


def is_structure(data_type: str) -> bool:
    """Return whether a type is a structure with known fields, not an array or a map of them."""
    is_array = _ARRAY.search(data_type) is not None
    return not is_array and _STRUCTURE.match(data_type) is not None and fields_of(data_type) is not None


def _element(data_type: str, *, of_maps: bool) -> str | None:
    around = _AROUND.match(data_type)
    if around is not None:
        inner = _split_bracket(data_type, around.end())
        return inner[-1] if inner and (of_maps or around["kind"].lower() != "map") else None
    array = _ARRAY.search(data_type)
    return data_type[: array.start()] if array is not None else None


def _field(part: str) -> tuple[str, str]:
    """Return the name and the type in ``a:int``, ``a int``, ``"a b" int``, ``a b: int``."""
    part = part.strip()
    quoted = _QUOTED.match(part)
    before, colon, after = part.partition(":")
    if quoted is not None:
        name, data_type = quoted["tick"] or quoted["double"], part[quoted.end() :].lstrip(" :")
    elif colon and _NOT_IN_NAMES.isdisjoint(before):
        name, data_type = before, after
    else:
        name, data_type = (*part.split(maxsplit=1), "")[:2]
        if not _NOT_IN_NAMES.isdisjoint(name):
            return "", part
    return (name.strip(), data_type.strip()) if data_type.strip() else ("", part)


def _split_bracket(text: str, start: int) -> list[str] | None:
    """Return what commas separate in the bracket at `start`; None if it is not closed."""
    parts: list[str] = []
    depth, begin = 0, start + 1
    for symbol, at in _symbols(text, start):
        depth += (symbol in "<(") - (symbol in ">)")
        if depth == 0 or (depth == 1 and symbol == ","):
            parts.append(text[begin:at])
            begin = at + 1
        if depth == 0:
            return [part for part in parts if part.strip()]
    return None


def _symbols(text: str, start: int) -> Iterator[tuple[str, int]]:
    """Yield the brackets and commas from `start` that are not in quotes, with their places."""
    return ((token[0], token.start()) for token in _TOKENS.finditer(text, start) if token[0] in "<>(),")
