"""The JSON text of what dbt writes, parsed: what is wrong with it is one line that names the file."""

import json
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

from lineage_merge.model.errors import DocumentError


def parse(
    location: str, text: str, what: str, keep: Callable[[dict[str, Any]], Any] | None = None
) -> dict[str, Any]:
    """A manifest or a catalog (`what`) as an object; `keep` is applied to each object as soon as it is read.

    Raises `DocumentError` for text that is no JSON object.
    """
    try:
        document = json.loads(text.removeprefix("\ufeff"), object_hook=keep)
    except json.JSONDecodeError as error:
        place = f"line {error.lineno}, column {error.colno}"
        raise DocumentError(location, "", f"is not valid JSON: {error.msg} ({place})") from None
    except ValueError:  # Python reads no number of thousands of digits
        raise DocumentError(location, "", f"is not a dbt {what}: a number is too long") from None
    except RecursionError:
        raise DocumentError(location, "", f"is not a dbt {what}: nested too deeply") from None
    if not isinstance(document, dict):
        raise DocumentError(location, "", f"is not a dbt {what}: not a JSON object")
    return document


def milliseconds(moment: datetime) -> int:
    """A moment as ms since 1970; without a time zone it is in UTC, as dbt writes it."""
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return (moment - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(milliseconds=1)
