"""Layers of settings, the later take precedence: file, environment variables, flags. Nothing is checked."""

from collections.abc import Iterable, Mapping
from typing import Any

from lineage_merge.config.keys import Key
from lineage_merge.model.errors import ConfigError


def add_layers(
    settings: dict[str, Any], keys: Iterable[Key], environ: Mapping[str, str], flags: Mapping[str, str]
) -> None:
    """Set keys in settings by environment variables, and over them by flags (dotted keys).

    An empty variable is none. Raises `ConfigError`.
    """
    for key in keys:
        text = flags.get(key.dotted, environ.get(key.variable) or None)
        if text is not None:
            _put(settings, key, text)


def by_key(settings: Mapping[str, Any], keys: Iterable[Key]) -> dict[str, Any]:
    """Return settings by dotted key, without those that are not set."""
    found: dict[str, Any] = {}
    for key in keys:
        value: Any = settings
        for name in key.path:
            value = value.get(name) if isinstance(value, Mapping) else None
        if value is not None:
            found[key.dotted] = value
    return found


def _put(settings: dict[str, Any], key: Key, text: str) -> None:
    here = settings
    for name in key.path[:-1]:
        if here.get(name) is None:
            here[name] = {}
        here = here[name]
        if not isinstance(here, dict):
            raise ConfigError(key.dotted, f"{name} is not a group of keys in the file")
    here[key.path[-1]] = _value(key, text)


_BOOLEANS = {"true": True, "yes": True, "on": True, "1": True}
_BOOLEANS |= {"false": False, "no": False, "off": False, "0": False}


def _value(key: Key, text: str) -> Any:
    """A flag's or variable's text as the schema wants it; what does not fit stays text."""
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
            # Not as YAML, to which the glob * is an alias.
            return [item.strip() for item in text.split(",") if item.strip()]
        case "array" | "object" | ["array", *_]:
            from lineage_merge.infra import yaml_text

            return yaml_text.parse(text, key.dotted, "the flag or variable")
    return text
