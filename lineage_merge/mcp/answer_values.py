"""Values of the graph in answers: escaped ids, shortened texts, times. Pure."""

from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any

from lineage_merge.graph_format.elements import Vertex, values_of
from lineage_merge.mcp.untrusted_text import escape, shown

# Characters of texts that are read, not used again.
LONG = 600
SHORT = 160


def texts(values: Iterable[Any] | None) -> list[str]:
    """Return values of the graph, escaped."""
    return [escape(str(value)) for value in values or ()]


def text(value: Any, limit: int = LONG) -> str:
    """Return a text of the graph to read; "" if there is none."""
    return shown(str(value), limit) if value not in (None, "") else ""


def values(vertex: Vertex, key: str) -> list[str]:
    """Return the values of a property, escaped."""
    return texts(values_of(vertex, key))


def moment(milliseconds: int | None) -> str:
    """Return a time as ``2026-11-23T02:48:40Z``; "" if it is unknown."""
    if milliseconds is None:
        return ""
    try:
        return datetime.fromtimestamp(milliseconds / 1000, tz=UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    except (ValueError, OverflowError, OSError):
        return ""
