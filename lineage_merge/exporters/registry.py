"""The sinks that there are. A new one is one module or folder, and one line in `EXPORTERS`."""

from collections.abc import Mapping
from functools import cache
from importlib.util import find_spec
from typing import Any

from lineage_merge.exporters import datahub, dot, graphml, mermaid, neptune_csv, openlineage
from lineage_merge.exporters.exporter import Exporter, token
from lineage_merge.infra.json_schema import Checker
from lineage_merge.model.errors import ConfigError

EXPORTERS: Mapping[str, Exporter] = {
    each.EXPORTER.name: each.EXPORTER for each in (datahub, openlineage, graphml, neptune_csv, mermaid, dot)
}


@cache
def _checker() -> Checker:
    return Checker(schema())


def schema() -> dict[str, Any]:
    """The JSON Schema of ``sinks`` in the configuration: settings by name of a sink."""
    return {
        "type": "object",
        "additionalProperties": False,
        "properties": {
            name: {
                "description": sink.about,
                "type": "object",
                "additionalProperties": False,
                "properties": dict(sink.settings),
            }
            for name, sink in EXPORTERS.items()
        },
    }


def checked(settings: Mapping[str, Any]) -> Mapping[str, Mapping[str, Any]]:
    """The settings of all sinks, by name. Raises `ConfigError` where they do not fit."""
    error = _checker().error(settings)
    if error:
        raise ConfigError(f"sinks.{error.path}" if error.path else "sinks", error.problem)
    return settings


def ready(sink: Exporter, settings: Mapping[str, Any]) -> None:
    """Is there what the sink needs on this machine: its packages, its token? Raises `ConfigError`."""
    if not all(map(_is_there, sink.needs)):
        raise ConfigError(
            f"sinks.{sink.name}", f"a package is missing: pip install 'lineage-merge[{sink.name}]'"
        )
    if "token_env" in settings:
        token(settings, sink.token, sink.name)


def _is_there(module: str) -> bool:
    try:
        return find_spec(module) is not None
    except ModuleNotFoundError:  # of a module within a package that is not there
        return False
