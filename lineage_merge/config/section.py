"""Sections and keys of the configuration: schemas, environment variables, flags, and values of several."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

from lineage_merge import naming
from lineage_merge.infra.json_schema import load_schema
from lineage_merge.model.errors import ConfigError, NamingError
from lineage_merge.naming import form_of_text


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
    """Return the default of a key for people, "" if it has none: ``60``, ``latest``, ``two per core``."""
    value = schema.get("default", schema.get("x-default", ""))
    if isinstance(value, list):
        return ", ".join(map(str, value))
    return str(value).lower() if isinstance(value, bool) else str(value)


def schema(sections: Iterable[Section]) -> dict[str, Any]:
    """Return the JSON Schema of the configuration file: `config.schema.json` and those of the sections."""
    whole = load_schema("lineage_merge.config", "config.schema.json")
    own = whole["properties"]
    first = {name: own[name] for name in whole["required"]}
    whole["properties"] = {**first, **{section.key: section.schema() for section in sections}, **own}
    return whole


def settable(schema: Mapping[str, Any]) -> Iterator[Key]:
    """Yield every key of a schema that a variable or a flag can set."""

    def walk(path: tuple[str, ...], node: Mapping[str, Any]) -> Iterator[Key]:
        if "properties" in node:
            for name, child in node["properties"].items():
                yield from walk((*path, name), child)
        else:
            yield Key(path, node)

    yield from walk((), schema)
