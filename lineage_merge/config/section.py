"""Sections and keys of the configuration: environment variables, flags, and values of several."""

import re
from collections.abc import Iterator, Mapping
from typing import Annotated, Any, NamedTuple, Protocol

from lineage_merge import naming
from lineage_merge.infra.json_schema import DEFAULT
from lineage_merge.infra.setting import Form
from lineage_merge.model.errors import ConfigError, NamingError
from lineage_merge.naming import form_of_text


class Section(Protocol):
    """A part of the configuration with its own key and settings."""

    @property
    def key(self) -> str:
        """The top-level key."""

    @property
    def settings(self) -> Any:
        """The type of its settings."""

    @property
    def description(self) -> str:
        """What it configures."""

    @property
    def example(self) -> Any:
        """An example of it, None: that of its keys."""

    @property
    def is_catalog(self) -> bool:
        """Whether it only describes datasets that other sections reference."""

    def parse(self, written: Any, /) -> Any:
        """Return the settings of a section that is valid by the schema. Raises `ConfigError`."""


def parse_namespace(text: str, key: str, platform: str = "") -> str:
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


Namespace = Annotated[str, Form(parse=parse_namespace)]

PREFIX = "LINEAGE_MERGE_"


class Key(NamedTuple):
    """A key that a variable or a flag can set: its path and its JSON Schema."""

    path: tuple[str, ...]
    schema: Mapping[str, Any]

    @property
    def dotted(self) -> str:
        """``spline.arango.hosts``."""
        return ".".join(self.path)

    @property
    def variable(self) -> str:
        """``LINEAGE_MERGE_SPLINE_ARANGO_HOSTS``."""
        return PREFIX + "_".join(self.path).upper()

    @property
    def flag(self) -> str:
        """``--spline-arango-hosts``."""
        return "--" + "-".join(self.path).replace("_", "-")


def format_default(schema: Mapping[str, Any]) -> str:
    """Return the default of a key for people, "" if it is required: ``60``, ``latest``, ``two per core``."""
    value = schema.get("default", schema.get(DEFAULT, ""))
    if isinstance(value, list):
        return ", ".join(map(str, value))
    return str(value).lower() if isinstance(value, bool) else str(value)


def settable(schema: Mapping[str, Any], path: tuple[str, ...] = ()) -> Iterator[Key]:
    """Yield every key of a schema that a variable or a flag can set."""
    for name, child in schema["properties"].items():
        if "properties" in child:
            yield from settable(child, (*path, name))
        else:
            yield Key((*path, name), child)
