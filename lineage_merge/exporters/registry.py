"""Registry of exporters. A new one is one module or folder, and one line in `EXPORTERS`."""

from collections.abc import Mapping
from functools import cache
from importlib.util import find_spec
from typing import Any

from lineage_merge.exporters import datahub, datazone, neptune_csv, openlineage
from lineage_merge.exporters.exporter import Exporter, read_token
from lineage_merge.exporters.pictures import DOT, GRAPHML, MERMAID
from lineage_merge.infra.json_schema import Checker
from lineage_merge.model.errors import ConfigError, ErrorCollector

EXPORTERS: Mapping[str, Exporter] = {
    exporter.name: exporter
    for exporter in (
        datahub.EXPORTER,
        openlineage.EXPORTER,
        datazone.EXPORTER,
        GRAPHML,
        neptune_csv.EXPORTER,
        MERMAID,
        DOT,
    )
}


@cache
def _checker() -> Checker:
    return Checker(schema())


def schema() -> dict[str, Any]:
    """Return the JSON Schema of ``exporters`` in the configuration: settings by name of the exporter."""
    return {
        "type": "object",
        "additionalProperties": False,
        "properties": {
            name: {
                "description": exporter.description,
                "type": "object",
                "additionalProperties": False,
                "properties": dict(exporter.settings),
            }
            for name, exporter in EXPORTERS.items()
        },
    }


def validate_settings(settings: Mapping[str, Any]) -> Mapping[str, Mapping[str, Any]]:
    """Return the settings of exporters by name, validated by the schema. Raises `ConfigError`."""
    errors = ErrorCollector()
    for error in _checker().errors(settings):
        errors.errors.append(
            ConfigError(f"exporters.{error.path}" if error.path else "exporters", error.problem)
        )
    errors.raise_errors()
    return settings


def check_requirements(exporter: Exporter, settings: Mapping[str, Any]) -> None:
    """Check that the exporter's packages and token are available on this machine. Raises `ConfigError`."""
    if not all(map(_is_installed, exporter.required_modules)):
        raise ConfigError(
            f"exporters.{exporter.name}",
            f"a package is missing: install lineage-merge[{exporter.extra or exporter.name}]",
        )
    if "token_env" in settings:
        read_token(settings, exporter.token_variable, exporter.name)


def _is_installed(module: str) -> bool:
    try:
        return find_spec(module) is not None
    except ModuleNotFoundError:  # the parent package is missing
        return False
