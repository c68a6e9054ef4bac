"""Which keys there are: the schema, and the name of each key's variable and flag."""

import json
from collections.abc import Iterator, Mapping
from functools import cache
from importlib.resources import files
from typing import Any, NamedTuple

from lineage_merge.sources.registry import SOURCES


class Key(NamedTuple):
    """One settable key: its dotted path, and what the schema says of it."""

    path: tuple[str, ...]
    schema: Mapping[str, Any]

    @property
    def dotted(self) -> str:
        """``spline.arango.hosts``."""
        return ".".join(self.path)

    @property
    def variable(self) -> str:
        """``LINEAGE_MERGE_SPLINE_ARANGO_HOSTS``."""
        return "LINEAGE_MERGE_" + "_".join(self.path).upper()

    @property
    def flag(self) -> str:
        """``--spline-arango-hosts``."""
        return "--" + "-".join(self.path).replace("_", "-")


@cache
def schema() -> dict[str, Any]:
    """The JSON Schema of the configuration file: `config.schema.json`, and what each source adds."""
    text = files("lineage_merge.config").joinpath("config.schema.json").read_text(encoding="utf-8")
    whole: dict[str, Any] = json.loads(text)
    own = whole["properties"]
    first = {name: own[name] for name in whole["required"]}
    whole["properties"] = {**first, **{each.key: each.schema() for each in SOURCES}, **own}
    return whole


@cache
def settable() -> tuple[Key, ...]:
    """Every key that a variable or a flag can set."""

    def walk(path: tuple[str, ...], node: Mapping[str, Any]) -> Iterator[Key]:
        if "properties" in node:
            for name, child in node["properties"].items():
                yield from walk((*path, name), child)
        else:
            yield Key(path, node)

    return tuple(walk((), schema()))
