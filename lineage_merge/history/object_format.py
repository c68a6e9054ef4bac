"""Version of the layout of a history and of its JSON objects. Pure."""

import json
from collections.abc import Callable, Mapping
from typing import Any

from lineage_merge.model.errors import IntermediateError

# Version of the layout and of the objects in `merges/` and `moves/`.
FORMAT = 1
# By version: returns an object of that version as one of the next.
Migrations = Mapping[int, Callable[[dict[str, Any]], dict[str, Any]]]


def parse_object(text: str, migrations: Migrations, where: str, what: str) -> dict[str, Any]:
    """Return an object in the current format; one of an older format is migrated.

    `where` and `what` are its file and kind in errors. Raises `IntermediateError` for a newer format, and for
    damaged text.
    """
    try:
        found: dict[str, Any] = json.loads(text)
        version = found["format"]
        if isinstance(version, int) and version > FORMAT:
            raise IntermediateError(
                f"{where}: written by a newer version of lineage_merge (history format {version}, this one"
                f" reads {FORMAT}). Fix: pip install --upgrade lineage-merge"
            )
        while version != FORMAT:
            found = migrations[version](found)
            version = found["format"]
    except (ValueError, KeyError, TypeError, AttributeError):
        raise IntermediateError(f"{where}: not {what}") from None
    return found
