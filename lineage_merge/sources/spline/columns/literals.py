"""Constants in SQL notation. Spline stores Spark's internal values: a date is a number of days."""

from datetime import UTC, date, datetime, timedelta
from typing import Any

_DAY = 86_400_000_000  # microseconds


def literal(value: Any, data_type: str) -> str:
    """Return the constant's text; `data_type` as from `data_types.type_texts`, "" if unknown."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return _of_number(value, data_type)
    if isinstance(value, float):
        return repr(value)
    if isinstance(value, list):
        return f"array({', '.join(literal(each, '') for each in value)})"
    if isinstance(value, dict):
        pairs = (f"{literal(key, '')}, {literal(each, '')}" for key, each in value.items())
        return f"map({', '.join(pairs)})"
    text = str(value)
    if data_type in ("string", "") or data_type.startswith(("char", "varchar")):
        return "'" + text.replace("'", "''") + "'"
    return text


def _of_number(value: int, data_type: str) -> str:
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
