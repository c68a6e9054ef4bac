"""What the configuration must know of a source of lineage, which is registered above it."""

from collections.abc import Sequence
from typing import Any, Protocol


class Section(Protocol):
    """A part of the configuration with a key, a JSON Schema, and settings of its own."""

    @property
    def key(self) -> str:
        """The top-level key."""

    @property
    def paths(self) -> Sequence[str]:
        """Keys below `key` that hold paths; relative ones are relative to the configuration file."""

    @property
    def is_catalog(self) -> bool:
        """Whether it only describes what other sections reference."""

    def schema(self) -> dict[str, Any]:
        """Return the JSON Schema of the section."""

    def parse(self, settings: Any, /) -> Any:
        """Return the settings of a section that fits the schema. Raises `ConfigError`."""
