"""Reading of the configuration: layers, schema, settings."""

import os
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

from lineage_merge.config import file as files
from lineage_merge.config import keys, layers, validation
from lineage_merge.config.keys import Key
from lineage_merge.config.section import Section
from lineage_merge.config.settings import Config
from lineage_merge.config.validation import CheckExporters
from lineage_merge.infra.json_schema import Checker
from lineage_merge.model.errors import ConfigError


def _no_exporters(settings: Mapping[str, Any]) -> Mapping[str, Mapping[str, Any]]:
    raise ConfigError(f"exporters.{next(iter(settings))}", "unknown exporter")


class ConfigReader:
    """Reads configurations for the given sources and exporters."""

    def __init__(
        self, sections: Sequence[Section] = (), check_exporters: CheckExporters = _no_exporters
    ) -> None:
        self._sections = sections
        self._check_exporters = check_exporters

    @cached_property
    def schema(self) -> dict[str, Any]:
        """The JSON Schema of the configuration file."""
        return keys.schema(self._sections)

    @cached_property
    def settable(self) -> tuple[Key, ...]:
        """Every key that a variable or a flag can set."""
        return tuple(keys.settable(self.schema))

    @cached_property
    def _checker(self) -> Checker:
        return Checker(self.schema)

    def gather(
        self,
        file: Path | str | None = None,
        environ: Mapping[str, str] | None = None,
        flags: Mapping[str, str] | None = None,
    ) -> dict[str, Any]:
        """Return the settings of all layers in the structure of the YAML file, without validation.

        `file` is a path or s3://bucket/key. `environ`: by default the process's. `flags`: values by dotted
        key. Relative paths in the file are relative to its folder, those in variables and flags to the
        working directory. Empty variables are ignored. Raises `ConfigError`.
        """
        settings = files.read(file, self._sections) if file else {}
        layers.add_layers(settings, self.settable, os.environ if environ is None else environ, flags or {})
        return settings

    def by_key(self, settings: Mapping[str, Any]) -> dict[str, Any]:
        """Return the keys that are set, by dotted key."""
        return layers.by_key(settings, self.settable)

    def parse(self, settings: Mapping[str, Any], *, needs_source: bool = True) -> Config:
        """Validate settings in the structure of the YAML file and return a `Config`.

        `needs_source`: reject settings without a source of lineage. Raises `ConfigError`.
        """
        error = self._checker.error(settings)
        if error:
            raise ConfigError(error.path, error.problem)
        return validation.parse(settings, self._sections, self._check_exporters, needs_source=needs_source)

    def load(
        self,
        file: Path | str | None = None,
        environ: Mapping[str, str] | None = None,
        flags: Mapping[str, str] | None = None,
        *,
        needs_source: bool = True,
    ) -> Config:
        """Read and validate the configuration: `gather` and `parse`."""
        return self.parse(self.gather(file, environ, flags), needs_source=needs_source)
