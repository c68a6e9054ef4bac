"""Reading of the configuration: layers, schema, settings."""

import os
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any

from lineage_merge.config import layers, policies, section
from lineage_merge.config.layers import Layers, SettingOrigins
from lineage_merge.config.section import Key, Section
from lineage_merge.config.settings import Config
from lineage_merge.infra import setting
from lineage_merge.infra.json_schema import MISSING, UNKNOWN_KEY, Checker, SchemaError
from lineage_merge.model.errors import ConfigError, ErrorCollector, similar_names

# Returns the settings by exporter. Raises `ConfigError` if they are invalid.
CheckExporters = Callable[[Mapping[str, Any]], Mapping[str, Mapping[str, Any]]]


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
        whole = setting.schema_of(Config)
        own = whole["properties"]
        first = {name: own[name] for name in whole["required"]}
        sections = {
            each.key: setting.schema_of(each.settings, each.description, each.example)
            for each in self._sections
        }
        return {**whole, "properties": {**first, **sections, **own}}

    @cached_property
    def settable(self) -> tuple[Key, ...]:
        """Every key that a variable or a flag can set."""
        return tuple(section.settable(self.schema))

    @cached_property
    def _checker(self) -> Checker:
        return Checker(self.schema)

    def collect(
        self,
        file: Path | str | None = None,
        environ: Mapping[str, str] | None = None,
        flags: Mapping[str, str] | None = None,
    ) -> Layers:
        """Return the settings of all layers and their origins, without validation.

        `file` is a path or s3://bucket/key. `environ`: by default the process's. `flags`: values by dotted
        key. Relative paths in the file are relative to its folder, those in variables and flags to the
        working directory. Empty variables are ignored. Raises `ConfigError`.
        """
        of_file = layers.read(file, self.schema) if file else Layers({}, SettingOrigins())
        return layers.add_layers(
            of_file, self.settable, os.environ if environ is None else environ, flags or {}
        )

    def list_by_key(self, settings: Mapping[str, Any]) -> dict[str, Any]:
        """Return the keys that are set, by dotted key."""
        values: dict[str, Any] = {}
        for key in self.settable:
            value: Any = settings
            for name in key.path:
                value = value.get(name) if isinstance(value, Mapping) else None
            if value is not None:
                values[key.dotted] = value
        return values

    def parse(
        self,
        settings: Mapping[str, Any],
        origins: SettingOrigins | None = None,
        *,
        needs_source: bool = True,
        needs_scope: bool = True,
    ) -> Config:
        """Validate settings in the structure of the YAML file and return a `Config`.

        `origins` are named in errors. `needs_source`: reject settings without a source of lineage;
        `needs_scope`: without a DAG or environment. Raises `ConfigError` with all findings.
        """
        origins = origins or SettingOrigins()
        found = [] if self._is_valid_scope(settings) else self._checker.errors(settings)
        invalid_values = [error for error in found if needs_scope or not self._is_scope(error)]
        errors = [self._error(error, origins) for error in invalid_values]
        # Sections that fit the schema are checked further, so that all problems are reported at once.
        invalid = {re.split(r"[.\[]", error.key)[0] for error in errors}
        known = self.schema["properties"].keys() - invalid
        valid = {key: settings[key] for key in known if key in settings} if isinstance(settings, dict) else {}
        config = None
        try:
            config = self._parse(valid, needs_source=needs_source and not errors)
        except ConfigError as error:
            errors.append(error)
        if errors or config is None:
            raise origins.locate(errors)
        return config

    def _parse(self, valid: Mapping[str, Any], *, needs_source: bool) -> Config:
        """Return the `Config` of settings that are valid by the schema; sections may be missing."""
        errors = ErrorCollector()
        sources: dict[str, Any] = {}
        for each in self._sections:
            if each.key in valid:
                with errors.collecting():
                    sources[each.key] = each.parse(valid[each.key])
        exporters: Mapping[str, Any] = valid.get("exporters", {})
        with errors.collecting():
            exporters = self._check_exporters(exporters) if exporters else {}
        config = Config("", "")
        with errors.collecting():
            config = setting.parse(Config, {"dag_name": "", "environment": "", **valid}, "")
        layers_of_data = valid.get("query", {}).get("layers", {})
        errors.errors += policies.find_errors(valid.get("policies", ()), layers_of_data)
        errors.raise_errors()
        lineage_sources = [each.key for each in self._sections if not each.is_catalog]
        if needs_source and not any(sources.get(key) for key in lineage_sources):
            others, last = ", ".join(lineage_sources[:-1]), lineage_sources[-1]
            raise ConfigError("", f"no source: set {others} or {last}")
        has_kafka = any(getattr(source, "kafka", None) for source in sources.values())
        spark = replace(config.spark, kafka=has_kafka)
        return replace(config, sources=sources, spark=spark, exporters=exporters)

    def _is_valid_scope(self, settings: Mapping[str, Any]) -> bool:
        """Whether settings have nothing but a valid DAG and environment, as those of most questions.

        The checker would take longer than such a question: it imports jsonschema.
        """
        required = self.schema["required"]
        if not isinstance(settings, Mapping) or settings.keys() != set(required):
            return False
        patterns = {name: self.schema["properties"][name]["pattern"] for name in required}
        return all(
            isinstance(settings[name], str) and re.search(pattern, settings[name]) is not None
            for name, pattern in patterns.items()
        )

    def _is_scope(self, error: SchemaError) -> bool:
        """Whether the DAG or the environment is missing, the keys that the schema requires."""
        return error.path in self.schema["required"] and error.problem.startswith(MISSING)

    def _error(self, error: SchemaError, origins: SettingOrigins) -> ConfigError:
        hints = self._variable_hint(error) + self._misspelt(error, origins)
        return ConfigError(error.path, self._add_place(error) + hints)

    def _add_place(self, error: SchemaError) -> str:
        """Return the problem; of an unknown key also where the key belongs, if it is known elsewhere."""
        if not error.problem.startswith(UNKNOWN_KEY):
            return error.problem
        *_, name = re.split(r"[.\]]", error.path)
        matching = [key.dotted for key in self.settable if key.path[-1] == name]
        if error.path in matching:
            # ``spline.export: x`` instead of a mapping.
            section, _, key = error.path.rpartition(".")
            return f"{UNKNOWN_KEY}: write {key} below {section}"
        if not matching:
            return error.problem
        return f"{UNKNOWN_KEY}; did you mean {' or '.join(matching[:3])}?"

    def _variable_hint(self, error: SchemaError) -> str:
        """Return what to do with a password in the file, "" for other errors."""
        if not error.problem.startswith(UNKNOWN_KEY):
            return ""
        name = f"{error.path}_env"
        is_secret = any(key.dotted == name for key in self.settable)
        return f" Set a variable to it, and give its name as {name}" if is_secret else ""

    def _misspelt(self, error: SchemaError, origins: SettingOrigins) -> str:
        """Return the variable that may be meant to set a missing key, "" if there is none."""
        variable = next((key.variable for key in self.settable if key.dotted == error.path), "")
        if not variable or not error.problem.startswith(MISSING):
            return ""
        similar = similar_names(variable, origins.unknown_variables, cutoff=0.9)
        return f"; set {variable} in place of {similar[0]}" if similar else ""

    def load(
        self,
        file: Path | str | None = None,
        environ: Mapping[str, str] | None = None,
        flags: Mapping[str, str] | None = None,
        *,
        needs_source: bool = True,
        needs_scope: bool = True,
    ) -> Config:
        """Read and validate the configuration: `collect` and `parse`."""
        layers = self.collect(file, environ, flags)
        return self.parse(layers.settings, layers.origins, needs_source=needs_source, needs_scope=needs_scope)
