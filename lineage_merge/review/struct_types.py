"""Differences between the types of two versions of a structure. Pure.

Types are text: ``struct<city:string,geo:struct<lat:double>>`` of Spark, Hive and Glue,
``STRUCT<city STRING>`` of BigQuery, ``STRUCT(city VARCHAR)`` of DuckDB.
"""

import re
from collections.abc import Iterator, Mapping
from typing import NamedTuple

_STRUCTURE = re.compile(
    r"(?:struct|row)\s*[<(](?P<inner>.*)[>)]\s*(?P<arrays>(?:\[\d*\])*)", re.IGNORECASE | re.DOTALL
)
_AROUND = re.compile(r"(?:array|list)\s*[<(](?P<inner>.*)[>)]|(?P<of>.*)\[\d*\]", re.IGNORECASE | re.DOTALL)
_NAME = r"(?:`(?P<quoted>[^`]+)`|\"(?P<double>[^\"]+)\"|(?P<name>[^\s:<>(),]+))"
_FIELD = re.compile(rf"\s*{_NAME}\s*[:\s]\s*(?P<type>.+)", re.DOTALL)
_MAX_DEPTH = 50


class FieldDifference(NamedTuple):
    """A field, as ``address.city``, and its types; "": it has none before or after."""

    path: str
    before: str
    after: str


def field_differences(before: str, after: str, name: str) -> list[FieldDifference] | None:
    """Return the innermost fields of a column that differ; None unless both types are structures."""
    if _fields(before) is None or _fields(after) is None:
        return None
    return [*_differences(before, after, name, 0)]


def _differences(before: str, after: str, path: str, depth: int) -> Iterator[FieldDifference]:
    old, new = _fields(before), _fields(after)
    if old is None or new is None or depth > _MAX_DEPTH:
        if " ".join(before.lower().split()) != " ".join(after.lower().split()):
            yield FieldDifference(path, before, after)
        return
    for key, (name, data_type) in old.items():
        if key in new:
            yield from _differences(data_type, new[key][1], f"{path}.{name}", depth + 1)
        else:
            yield FieldDifference(f"{path}.{name}", data_type, "")
    for key, (name, data_type) in new.items():
        if key not in old:
            yield FieldDifference(f"{path}.{name}", "", data_type)


def _fields(data_type: str) -> Mapping[str, tuple[str, str]] | None:
    """Return names and types by lower-case name, of an array those of its elements; None: no structure."""
    text = data_type.strip()
    while not (structure := _STRUCTURE.fullmatch(text)):
        around = _AROUND.fullmatch(text)
        if around is None:
            return None
        text = (around["inner"] or around["of"] or "").strip()
    fields = {}
    for part in _parts(structure["inner"]):
        field = _FIELD.fullmatch(part)
        if field is None:
            return None
        name = field["quoted"] or field["double"] or field["name"]
        fields[name.lower()] = (name, field["type"].strip())
    return fields


def _parts(text: str) -> Iterator[str]:
    """Yield what commas outside of brackets separate."""
    depth = start = 0
    for place, character in enumerate(text):
        depth += (character in "<(") - (character in ">)")
        if character == "," and not depth:
            yield text[start:place]
            start = place + 1
    yield text[start:]
