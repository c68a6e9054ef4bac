"""Sections of the configuration: the interface of a source's section, and values that several have."""

import re
from collections.abc import Sequence
from typing import Any, Protocol

from lineage_merge import naming
from lineage_merge.model.errors import ConfigError, NamingError
from lineage_merge.naming.forms import form_of_text


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


def locations(value: Any) -> tuple[str, ...]:
    """Return one path or prefix, or a list of them, as a tuple."""
    return (value,) if isinstance(value, str) else tuple(value)


def namespace(key: str, text: str, platform: str = "") -> str:
    """Return a namespace in canonical spelling. A mistyped one would silently join nothing.

    `platform`: the dialect or adapter whose form messages suggest, if known.
    """
    if text.lower().startswith("jdbc:"):
        raise ConfigError(key, f"not a namespace but a JDBC URL: write {form_of_text(text, platform)}")
    if re.search(r"\s|\||://$", text.strip()):
        raise ConfigError(key, f"expected a namespace such as {form_of_text(text, platform)}")
    try:
        return naming.canonical_namespace(text)
    except NamingError as error:
        raise ConfigError(key, error.message) from None
