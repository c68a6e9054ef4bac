"""Values of JSON documents that are not validated; any other kind of value is empty."""

from collections.abc import Mapping
from typing import Any


def as_text(value: Any) -> str:
    """Return a text without surrounding spaces."""
    return value.strip() if isinstance(value, str) else ""


def as_list(value: Any) -> list[Any]:
    """Return an array."""
    return value if isinstance(value, list) else []


def as_mapping(value: Any) -> Mapping[str, Any]:
    """Return an object."""
    return value if isinstance(value, Mapping) else {}
