"""Constants of a plan in Spark's internal form, as Spline's agent stores them: a date is a number of days."""

from datetime import UTC, date, datetime, tzinfo
from typing import Any

_DAY_ONE = date(1970, 1, 1).toordinal()
_WHOLE = frozenset({"tinyint", "smallint", "int", "bigint"})


def constant(text: str | None, data_type: str, zone: tzinfo) -> Any:
    """Return the value of a literal from Spark's text, with times as its JVM shows them, in `zone`."""
    if text is None:
        return None
    try:
        if data_type in _WHOLE or data_type.startswith("interval"):
            return int(text)
        if data_type in ("float", "double"):
            return float(text)
        if data_type == "boolean":
            return text == "true"
        if data_type == "date":
            return date.fromisoformat(text).toordinal() - _DAY_ONE
        if data_type == "timestamp":
            moment = datetime.fromisoformat(_whole_fraction(text)).replace(tzinfo=zone)
            return _microseconds(moment.astimezone(UTC))
        if data_type == "timestamp_ntz":
            return int(text)
    except ValueError:
        return text
    # Bytes are printed as a memory address, which differs each time.
    return "..." if data_type == "binary" else text


def _whole_fraction(text: str) -> str:
    """Pad ``12:00:00.5`` to ``12:00:00.500000``."""
    whole, point, fraction = text.partition(".")
    return f"{whole}.{fraction[:6]:0<6}" if point else whole


def _microseconds(moment: datetime) -> int:
    since = moment - datetime(1970, 1, 1, tzinfo=UTC)
    return (since.days * 86_400 + since.seconds) * 1_000_000 + since.microseconds
