"""Layers of settings: file, environment variables, flags; later ones take precedence. No validation."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from lineage_merge.config.keys import PREFIX, Key
from lineage_merge.config.origins import Layers
from lineage_merge.model.errors import ConfigError


def add_layers(
    layers: Layers, keys: Iterable[Key], environ: Mapping[str, str], flags: Mapping[str, str]
) -> Layers:
    """Set keys from environment variables and flags (by dotted key); flags take precedence.

    Empty variables are ignored. Raises `ConfigError` with all findings.
    """
    origins: dict[str, str] = {}
    unknown = {name for name, value in environ.items() if name.startswith(PREFIX) and value}
    errors: list[ConfigError] = []
    for key in keys:
        unknown.discard(key.variable)
        text = flags.get(key.dotted, environ.get(key.variable) or None)
        if text is None:
            continue
        origins[key.dotted] = key.flag if key.dotted in flags else key.variable
        try:
            _set(layers.settings, key, text, origins[key.dotted])
        except ConfigError as error:
            errors.append(error)
    if errors:
        raise layers.origins.locate(errors)
    return Layers(
        layers.settings, replace(layers.origins, others=origins, unknown_variables=tuple(sorted(unknown)))
    )


def by_key(settings: Mapping[str, Any], keys: Iterable[Key]) -> dict[str, Any]:
    """Return the keys that are set, by dotted key."""
    found: dict[str, Any] = {}
    for key in keys:
        value: Any = settings
        for name in key.path:
            value = value.get(name) if isinstance(value, Mapping) else None
        if value is not None:
            found[key.dotted] = value
    return found


def _set(settings: dict[str, Any], key: Key, text: str, origin: str) -> None:
    node = settings
    for name in key.path[:-1]:
        if node.get(name) is None:
            node[name] = {}
        node = node[name]
        if not isinstance(node, dict):
            raise ConfigError(key.dotted, f"{name} is not a mapping in the file", origin)
    node[key.path[-1]] = _value(key, text, origin)


_BOOLEANS = {"true": True, "yes": True, "on": True, "1": True}
_BOOLEANS |= {"false": False, "no": False, "off": False, "0": False}


def _value(key: Key, text: str, origin: str) -> Any:
    """Convert the text of a flag or variable to the type in the schema; return the text if that fails."""
    match key.schema.get("type"):
        case "boolean":
            return _BOOLEANS.get(text.strip().lower(), text)
        case "integer" | "number" as kind:
            try:
                return int(text) if kind == "integer" else float(text)
            except ValueError:
                return text
        case "array" | ["array", *_] if key.schema["items"][
            "type"
        ] == "string" and not text.lstrip().startswith(("[", "- ")):
            # Not parsed as YAML, where a glob that begins with * is an alias.
            return [item.strip() for item in text.split(",") if item.strip()]
        case "array" | "object" | ["array", *_]:
            from lineage_merge.infra import yaml_text

            return yaml_text.parse(text, origin, key.dotted)
    return text
