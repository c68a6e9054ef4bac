"""Keys of the configuration: their schema, environment variables and flags."""

import json
from collections.abc import Iterable, Iterator, Mapping
from importlib.resources import files
from typing import Any, NamedTuple

from lineage_merge.config.section import Section

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


def schema(sections: Iterable[Section]) -> dict[str, Any]:
    """Return the JSON Schema of the configuration file: `config.schema.json` and those of the sections."""
    text = files("lineage_merge.config").joinpath("config.schema.json").read_text(encoding="utf-8")
    whole: dict[str, Any] = json.loads(text)
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
