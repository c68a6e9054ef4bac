"""Tables of the configuration keys, from the schema, in place of ``<!-- keys -->``.

Defaults are those of a configuration that sets nothing else, or described in words where they are computed.
"""

from collections.abc import Iterator, Mapping
from datetime import timedelta
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
# Where the default is no constant.
_COMPUTED = {
    "gremlin.endpoint": "`embedded`",
    "gremlin.mode": "`auto` with `gremlin.bulk`, else `gremlin`",
    "gremlin.reader_endpoint": "`gremlin.endpoint`",
    "gremlin.region": "that of the host name",
    "gremlin.writers": "two per core of Spark",
    "gremlin.bulk.endpoint": "host and port of `gremlin.endpoint`",
    "spark.master": "`local[*]`, on a cluster its own",
    "spark.partitions": "by the size of the input",
}
_BRANCHES: Mapping[str, Any] = {  # parts that exclude each other, with their required keys
    "arango": {"hosts": "http://arangodb:8529", "database": "spline"},
    "kafka": {"servers": "broker:9092", "topic": "lineage", "landing": "landing"},
    "bulk": {"s3": "s3://bucket/prefix", "role_arn": "arn:aws:iam::111122223333:role/loader"},
}

# One required key of each source.
_LEAST = {"spline": {"export": "folder"}, "openlineage": {"events": "folder"}, "hive": {"log": "folder"}}


def on_page_markdown(markdown: str, *, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Insert the tables."""
    return markdown.replace(_PLACE, "\n\n".join(_tables())) if _PLACE in markdown else markdown


def _tables() -> Iterator[str]:
    defaults = _defaults()
    keys = sorted(
        CONFIGURATION.settable, key=lambda key: _part(key) != _GENERAL
    )  # stable: the schema's order
    for part, of_part in groupby(keys, key=_part):
        lines = [f"### {part}", "", "| key | type | default | description |", "| --- | --- | --- | --- |"]
        for key in of_part:
            lines += _rows(key.dotted, key.schema, defaults.get(key.dotted, ""))
        yield "\n".join(lines)


def _part(key: Key) -> str:
    return key.path[0] if len(key.path) > 1 or "items" in key.schema else _GENERAL


def _rows(key: str, schema: Mapping[str, Any], default: str) -> Iterator[str]:
    example = schema.get("examples", [None])[0]
    text = escaped(schema.get("description", ""))
    if example is not None:
        text += f"<br>Example: {_code(example)}"
    yield f"| `{key}` | {_type(schema)} | {default} | {text} |"
    item = schema.get("items", {})
    for name, inner in item.get("properties", {}).items():
        needed = "required" if name in item.get("required", ()) else ""
        yield from _rows(f"{key}[].{name}", inner, needed)


def _type(schema: Mapping[str, Any]) -> str:
    if "enum" in schema:
        return "one of " + ", ".join(f"`{value}`" for value in schema["enum"])
    kinds = schema.get("type", "string")
    names = {"array": "list", "object": "mapping", "integer": "whole number", "boolean": "true or false"}
    return " or ".join(names.get(each, each) for each in ([kinds] if isinstance(kinds, str) else kinds))


def _defaults() -> dict[str, str]:
    """Return the default of each key as Markdown; without an entry there is none."""
    found = dict.fromkeys(CONFIGURATION.schema["required"], "required") | _COMPUTED
    for key in CONFIGURATION.settable:
        if key.dotted in found:
            continue
        if key.schema.get("default") is not None:
            found[key.dotted] = _value(key.schema["default"])
        elif text := _parsed_default(key.path):
            found[key.dotted] = text
    return found


def _parsed_default(path: tuple[str, ...]) -> str:
    part, *inner = path
    if inner and inner[-1] in _LEAST.get(part, {}):
        return ""
    branch = inner[0] if inner and inner[0] in _BRANCHES else ""
    if branch and inner[-1] in _BRANCHES[branch]:
        return "required"
    least = {branch: _BRANCHES[branch]} if branch else _LEAST.get(part, {})
    settings = {"dag_name": "daily", "environment": "dev"} | ({part: least} if least else {})
    value: Any = CONFIGURATION.parse(settings, needs_source=False)
    if part in value.sources:
        value = value.sources[part]
        path = path[1:]
    for name in path:
        value = getattr(value, name, None)
    return _value(value)


def _value(value: Any) -> str:
    """Return a default as Markdown; "" if it only stands for "not set"."""
    if isinstance(value, timedelta):
        value = f"{value.days}d"
    elif hasattr(value, "which"):
        value = value.which
    if value is None or (not value and value is not False):
        return ""
    return _code(int(value) if isinstance(value, float) and value.is_integer() else value)


def _code(value: Any) -> str:
    if not isinstance(value, str):
        given = list(value) if isinstance(value, tuple) else value
        value = yaml.safe_dump(given, default_flow_style=True, width=10_000, sort_keys=False)
        value = value.removesuffix("\n").removesuffix("...").strip()
    return f"`{value}`".replace("|", "\\|")
