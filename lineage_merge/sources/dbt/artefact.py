"""JSON parsing of dbt's artifacts, with errors on one line that name the file."""

import json
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

from lineage_merge.model.errors import DocumentError

_LONGEST_SECONDS = 10**9


def parse(
    location: str, text: str, what: str, reduce_object: Callable[[dict[str, Any]], Any] | None = None
) -> dict[str, Any]:
    """Parse a manifest or a catalog (`what`); `reduce_object` is applied to each JSON object while parsing.

    Raises `DocumentError` for text that is not a JSON object.
    """
    try:
        document = json.loads(text.removeprefix("\ufeff"), object_hook=reduce_object)
    except json.JSONDecodeError as error:
        position = f"line {error.lineno}, column {error.colno}"
        raise DocumentError(location, "", f"is not valid JSON: {error.msg} ({position})") from None
    except ValueError:  # Python does not parse numbers of thousands of digits
        raise DocumentError(location, "", f"is not a dbt {what}: a number is too long") from None
    except RecursionError:
        raise DocumentError(location, "", f"is not a dbt {what}: nested too deeply") from None
    if not isinstance(document, dict):
        raise DocumentError(location, "", f"is not a dbt {what}: not a JSON object")
    return document


def milliseconds(moment: datetime) -> int:
    """Return a time as ms since 1970; without a time zone it is UTC, as dbt writes it."""
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return (moment - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(milliseconds=1)


def moment(text: str | None) -> int:
    """Return a time in ISO 8601 as ms since 1970, 0 if it is missing or malformed."""
    try:
        return milliseconds(datetime.fromisoformat(text)) if text else 0
    except ValueError:
        return 0


def duration_ms(seconds: float | None) -> int | None:
    """Return a duration in ms, None if it is missing or impossible."""
    if seconds is None or not 0 <= seconds < _LONGEST_SECONDS:
        return None
    return round(seconds * 1000)
