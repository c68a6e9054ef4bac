"""``letters`` in the configuration."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Letters:
    """The file of lines."""

    file: str


def parse(settings: Mapping[str, Any]) -> Letters:
    """What the schema has passed."""
    return Letters(**settings)
