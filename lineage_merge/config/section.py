"""Interface of a source's section in the configuration; sources are registered outside of this package."""

from collections.abc import Sequence
from typing import Any, Protocol


class Section(Protocol):
    """A part of the configuration with its own key, JSON Schema and settings."""

    @property
    def key(self) -> str:
        """The top-level key."""

    @property
    def paths(self) -> Sequence[str]:
        """Keys below `key` whose values are paths, resolved relative to the configuration file."""

    @property
    def is_catalog(self) -> bool:
        """Whether it only describes datasets that other sections reference."""

    def schema(self) -> dict[str, Any]:
        """Return the JSON Schema of the section."""

    def parse(self, settings: Any, /) -> Any:
        """Return the typed settings of a section that is valid by the schema. Raises `ConfigError`."""
