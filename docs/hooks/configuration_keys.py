"""Tables of the configuration keys, from the schema, in place of ``<!-- keys -->``."""

from collections.abc import Iterator, Mapping
from itertools import groupby
from typing import Any

import yaml
from markdown_text import escaped
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import Files
from mkdocs.structure.pages import Page

from lineage_merge.config import Key
from lineage_merge.orchestration.configuration import CONFIGURATION

_PLACE = "<!-- keys -->"
_GENERAL = "General"


def on_page_markdown(markdown: str, *, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Insert the tables."""
    return markdown.replace(_PLACE, "\n\n".join(_tables())) if _PLACE in markdown else markdown


def _tables() -> Iterator[str]:
    keys = sorted(
        CONFIGURATION.settable, key=lambda key: _part(key) != _GENERAL
    )  # stable: the schema's order
    for part, of_part in groupby(keys, key=_part):
        lines = [f"### {part}", "", "| key | type | default | description |", "| --- | --- | --- | --- |"]
        for key in of_part:
            lines += _rows(key.dotted, key.schema, is_required=_is_required(key.path))
        yield "\n".join(lines)


def _part(key: Key) -> str:
    return key.path[0] if len(key.path) > 1 or "items" in key.schema else _GENERAL


def _is_required(path: tuple[str, ...]) -> bool:
    """Return whether the part of the configuration needs the key."""
    part = CONFIGURATION.schema
    for name in path[:-1]:
        part = part["properties"][name]
    return path[-1] in part.get("required", ())


def _rows(key: str, schema: Mapping[str, Any], *, is_required: bool) -> Iterator[str]:
    example = schema.get("examples", [None])[0]
    text = escaped(schema.get("description", ""))
    if example is not None:
        text += f"<br>Example: {_code(example)}"
    default = "required" if is_required else _default(schema)
    yield f"| `{key}` | {_type(schema)} | {default} | {text} |"
    item = schema.get("items", {})
    for name, inner in item.get("properties", {}).items():
        yield from _rows(f"{key}[].{name}", inner, is_required=name in item.get("required", ()))


def _type(schema: Mapping[str, Any]) -> str:
    if "enum" in schema:
        return "one of " + ", ".join(f"`{value}`" for value in schema["enum"])
    kinds = schema.get("type", "string")
    names = {"array": "list", "object": "mapping", "integer": "whole number", "boolean": "true or false"}
    return " or ".join(names.get(each, each) for each in ([kinds] if isinstance(kinds, str) else kinds))


def _default(schema: Mapping[str, Any]) -> str:
    return _code(schema["default"]) if "default" in schema else escaped(schema.get("x-default", ""))


def _code(value: Any) -> str:
    if not isinstance(value, str):
        given = list(value) if isinstance(value, tuple) else value
        value = yaml.safe_dump(given, default_flow_style=True, width=10_000, sort_keys=False)
        value = value.removesuffix("\n").removesuffix("...").strip()
    return f"`{value}`".replace("|", "\\|")
