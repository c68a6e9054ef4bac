"""Decisions on near misses as changes of a configuration file: its fix is added, or a dismissal. Pure."""

import re
from collections.abc import Mapping
from typing import Any

from lineage_merge.infra import yaml_editing, yaml_text
from lineage_merge.merge.near_misses.dismissals import KEY
from lineage_merge.merge.report import NearMiss
from lineage_merge.model.errors import ConfigError

_RULES = "merge.rules"
_DEFAULT_SCHEMAS = "merge.default_schemas"
_PART = re.compile(r"([^.\[\]]+)|\[(\d+)\]")


def dismiss(text: str, entry: Mapping[str, Any]) -> str:
    """Return the text of a configuration with an entry of `merge.dismissed_near_misses`.

    Raises `ConfigError` if it cannot be added.
    """
    return yaml_editing.append(text, KEY.split("."), dict(entry))


def accept(text: str, near_miss: NearMiss) -> str:
    """Return the text of a configuration with the fix of a near miss. Raises `ConfigError`."""
    fix = yaml_text.parse(near_miss.fix, "")
    keys = keys_of(near_miss)
    entries = {name: iter(section) for name, section in fix.items() if isinstance(section, list)}
    for key in keys:
        path = path_of_key(key)
        section = fix[path[0]]
        if key == _RULES:
            for rule in section["rules"]:
                text = yaml_editing.append(text, path, rule)
        elif key == _DEFAULT_SCHEMAS:
            text = _with_defaults(text, section["default_schemas"], is_complete=len(keys) > 1)
        elif key.endswith(".spark_catalogs"):
            known = _value(text, path) or ()
            for catalog in section["spark_catalogs"]:
                if catalog not in known:
                    text = yaml_editing.append(text, path, catalog)
        else:
            entry = next(entries[path[0]]) if path[0] in entries else section
            text = yaml_editing.assign(text, path, entry[path[-1]])
    return text


def keys_of(near_miss: NearMiss) -> list[str]:
    """Return the keys that the fix of a near miss changes."""
    return near_miss.fix_key.split(", ") if near_miss.fix_key else []


def path_of_key(key: str) -> list[str | int]:
    """Return ``["dbt", 0, "namespace"]`` of ``dbt[0].namespace``."""
    return [int(index) if index else name for name, index in _PART.findall(key)]


def _with_defaults(text: str, defaults: Mapping[str, str], *, is_complete: bool) -> str:
    """Return the text with default schemas; `is_complete`: without others, of which one is renamed."""
    path = path_of_key(_DEFAULT_SCHEMAS)
    known = _value(text, path) or {}
    removed = [namespace for namespace in known if namespace not in defaults] if is_complete else []
    added = [namespace for namespace in defaults if namespace not in known]
    if removed and (len(removed), len(added)) != (1, 1):
        raise ConfigError(_DEFAULT_SCHEMAS, f"has to be without {', '.join(removed)}")
    if removed:
        text = yaml_editing.rename(text, [*path, removed[0]], added[0])
        known = _value(text, path)
    for namespace, schema in defaults.items():
        if known.get(namespace) != schema:
            text = yaml_editing.assign(text, [*path, namespace], schema)
    return text


def _value(text: str, path: list[str | int]) -> Any:
    value = yaml_text.parse(text, "")
    for part in path:
        value = value.get(part) if isinstance(value, dict) else None
    return value
