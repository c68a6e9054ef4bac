"""Data types and constants in Spark's SQL notation: ``int``, ``array<string>``, ``struct<a:int,b:string>``.

Spline stores Spark's internal values of constants: a date is a number of days.
"""

from collections.abc import Mapping
from datetime import UTC, date, datetime, timedelta
from typing import Any

from lineage_merge.column_lineage.data_types import array_of, map_of, struct_of
from lineage_merge.model.graph_walks import parts_first
from lineage_merge.sources.spline.documents import Document

_DAY = 86_400_000_000  # microseconds


def type_texts(types: Mapping[str, Document]) -> dict[str, str]:
    """Return the text of each data type of a plan (`executionPlan.extra.dataTypes`, by id).

    A type that is unknown or contains itself is "".
    """
    texts: dict[str, str] = {}
    for key in parts_first(types, lambda key: (part for part in _parts(types[key]) if part in types)):
        texts[key] = _text(types[key], texts)
    return texts


def fields(types: Mapping[str, Document], type_id: str) -> tuple[tuple[str, str], ...]:
    """Return the fields of a struct, or of the structs in an array or map: names and ids of types."""
    seen: set[str] = set()
    while type_id in types and type_id not in seen:
        seen.add(type_id)
        data_type = types[type_id]
        if "fields" in data_type:
            return tuple((str(part.get("name")), str(part.get("dataTypeId"))) for part in data_type["fields"])
        type_id = str(data_type.get("elementDataTypeId") or data_type.get("valueDataTypeId"))
    return ()


def _parts(data_type: Document) -> list[str]:
    if "elementDataTypeId" in data_type:
        return [str(data_type["elementDataTypeId"])]
    if "keyDataTypeId" in data_type:
        return [str(data_type["keyDataTypeId"]), str(data_type.get("valueDataTypeId"))]
    return [str(field.get("dataTypeId")) for field in data_type.get("fields") or ()]


def _text(data_type: Document, texts: Mapping[str, str]) -> str:
    parts = [texts.get(part, "") for part in _parts(data_type)]
    if "elementDataTypeId" in data_type:
        return array_of(parts[0])
    if "keyDataTypeId" in data_type:
        return map_of(parts[0], parts[1])
    if "fields" in data_type:
        names = (str(field.get("name")) for field in data_type["fields"])
        return struct_of(zip(names, parts, strict=True))
    return str(data_type.get("name") or "")


def literal(value: Any, data_type: str) -> str:
    """Return the constant's text; `data_type` as from `type_texts`, "" if unknown."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return _write_number(value, data_type)
    if isinstance(value, float):
        return repr(value)
    if isinstance(value, list):
        return f"array({', '.join(literal(item, '') for item in value)})"
    if isinstance(value, dict):
        pairs = (f"{literal(key, '')}, {literal(item, '')}" for key, item in value.items())
        return f"map({', '.join(pairs)})"
    text = str(value)
    if data_type in ("string", "") or data_type.startswith(("char", "varchar")):
        return "'" + text.replace("'", "''") + "'"
    return text


def _write_number(value: int, data_type: str) -> str:
    try:
        if data_type == "date":
            return f"DATE '{date(1970, 1, 1) + timedelta(days=value)}'"
        if data_type in ("timestamp", "timestamp_ntz"):
            moment = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=value)
            return f"TIMESTAMP '{moment.replace(tzinfo=None)}'"
    except OverflowError:
        return str(value)
    if data_type.startswith("interval"):
        return _interval(value, data_type)
    return str(value)


def _interval(value: int, data_type: str) -> str:
    if "month" in data_type or "year" in data_type:
        if value % 12 == 0:
            return f"INTERVAL '{value // 12}' YEAR"
        return f"INTERVAL '{value}' MONTH"
    if value % _DAY == 0:
        return f"INTERVAL '{value // _DAY}' DAY"
    return f"INTERVAL '{value / 1_000_000:g}' SECOND"
