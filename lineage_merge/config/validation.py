"""Conversion of schema-valid settings into a `Config`, with the checks that a schema cannot express."""

import re
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import date
from string import Formatter
from typing import Any, TypeVar

from lineage_merge import naming
from lineage_merge.config import pattern_cost
from lineage_merge.config.policies import parse_policies
from lineage_merge.config.propagation import parse_propagation
from lineage_merge.config.section import Section, locations, namespace
from lineage_merge.config.settings import (
    Bulk,
    Config,
    DismissedNearMiss,
    Expect,
    Gremlin,
    History,
    Load,
    Log,
    Merge,
    MetadataRule,
    QuerySettings,
    Rule,
    SparkOptions,
)
from lineage_merge.infra.graph_files import EMBEDDED
from lineage_merge.infra.json_schema import path_text
from lineage_merge.infra.telemetry import Metrics
from lineage_merge.model.elements import DatasetName
from lineage_merge.model.errors import ConfigError, ErrorCollector

Options = TypeVar("Options", Bulk, SparkOptions)
# Returns the settings by exporter. Raises `ConfigError` if they are invalid.
CheckExporters = Callable[[Mapping[str, Any]], Mapping[str, Mapping[str, Any]]]


def parse(
    settings: Mapping[str, Any],
    sections: Sequence[Section],
    check_exporters: CheckExporters,
    *,
    needs_source: bool = True,
) -> Config:
    """Return the `Config` of settings that are valid by the schema; sections may be missing.

    `needs_source`: reject settings without a source of lineage. Raises `ConfigError` with all findings.
    """
    errors = ErrorCollector()
    merge = settings.get("merge", {})
    exporters = settings.get("exporters")
    has_kafka = any(isinstance(section, dict) and "kafka" in section for section in settings.values())
    sources: dict[str, Any] = {}
    for section in sections:
        if section.key in settings:
            with errors.collecting():
                sources[section.key] = section.parse(settings[section.key])
    default_schemas: dict[str, str] = {}
    for text, name in merge.get("default_schemas", {}).items():
        with errors.collecting():
            key, schema = parse_default_schema(path_text(["merge", "default_schemas", text]), text, name)
            default_schemas[key] = schema
    rules: list[Rule] = []
    for index, rule in enumerate(merge.get("rules", ())):
        with errors.collecting():
            rules.append(_rule(index, rule))
    dismissed: list[DismissedNearMiss] = []
    for index, entry in enumerate(merge.get("dismissed_near_misses", ())):
        with errors.collecting():
            dismissed.append(_dismissed(index, entry))
    config = Config(
        dag_name=settings.get("dag_name", ""),
        environment=settings.get("environment", ""),
        sources=sources,
        merge=Merge(
            default_schemas=default_schemas,
            rules=tuple(rules),
            collapse_datasets=tuple(merge.get("collapse_datasets", ())),
            collapse_run_local=merge.get("collapse_run_local", False),
            expect=_expect(merge.get("expect", {})),
            dismissed_near_misses=tuple(dismissed),
        ),
        metadata=errors.get(lambda: _metadata(settings.get("metadata")), None),
        propagation=errors.get(lambda: parse_propagation(settings.get("propagation", {})), {}),
        gremlin=errors.get(lambda: _gremlin(settings.get("gremlin", {})), Gremlin()),
        load=Load(**settings.get("load", {})),
        history=History(**settings.get("history", {})),
        query=_query(settings.get("query", {})),
        policies=errors.get(lambda: parse_policies(settings), ()),
        spark=_whole(
            SparkOptions(**settings.get("spark", {}), kafka=has_kafka), "partitions", "distribute_above_mb"
        ),
        log=Log(**settings.get("log", {})),
        metrics=Metrics(**settings.get("metrics", {})),
        # Exporters are only imported if some are configured.
        exporters=errors.get(lambda: check_exporters(exporters) if exporters else {}, {}),
        strict=settings.get("strict", False),
    )
    errors.raise_errors()
    lineage_sources = [section.key for section in sections if not section.is_catalog]
    if needs_source and not any(config.sources.get(key) for key in lineage_sources):
        raise ConfigError("", f"no source: set {', '.join(lineage_sources[:-1])} or {lineage_sources[-1]}")
    return config


def _expect(settings: Mapping[str, Any]) -> Expect:
    joined = tuple((source, target) for source, target in settings.get("joined", ()))
    return Expect(int(settings.get("joined_at_least", 0)), joined)


def _dismissed(index: int, settings: Mapping[str, Any]) -> DismissedNearMiss:
    until = settings.get("until")
    try:
        day = date.fromisoformat(until) if until else None
    except ValueError:
        raise ConfigError(
            f"merge.dismissed_near_misses[{index}].until", f"is not a day of the calendar: {until}"
        ) from None
    return DismissedNearMiss(**{**settings, "until": day, "score": int(settings.get("score", 0))})


def parse_default_schema(key: str, of: str, name: str) -> tuple[str, str]:
    """Return a namespace, normalized, and the default schema of its tables. Raises `ConfigError`."""
    canonical = namespace(key, of)
    if not naming.completes_names(canonical, name):
        raise ConfigError(key, "must be database.schema: tables of this platform have both")
    return canonical, name


def split_dataset(text: str) -> DatasetName:
    """Split ``namespace|name``."""
    namespace, _, name = text.partition("|")
    return DatasetName(namespace, name)


def _metadata(settings: Mapping[str, Any] | None) -> tuple[MetadataRule, ...] | None:
    if settings is None:
        return None
    return tuple(_metadata_rule(glob, rule) for glob, rule in settings.items())


def _metadata_rule(glob: str, rule: Mapping[str, Any]) -> MetadataRule:
    key = path_text(["metadata", glob])
    dataset, is_column, column = glob.rpartition("#") if "#" in glob else (glob, "", "")
    if is_column and not (dataset and column):
        raise ConfigError(key, "expected a glob on datasets, or dataset#column")
    tags, owners = locations(rule.get("tags", ())), locations(rule.get("owner", ()))
    return MetadataRule(dataset, column, tags, owners, rule.get("description", ""))


def _query(settings: Mapping[str, Any]) -> QuerySettings:
    return QuerySettings({name: locations(globs) for name, globs in settings.get("layers", {}).items()})


def _gremlin(settings: Mapping[str, Any]) -> Gremlin:
    bulk = _whole(Bulk(**settings["bulk"]), "min_changes") if "bulk" in settings else None
    mode = settings.get("mode", "auto" if bulk else "gremlin")
    if mode != "gremlin" and bulk is None:
        raise ConfigError("gremlin.mode", f"{mode} needs gremlin.bulk.s3 and gremlin.bulk.role_arn")
    gremlin = Gremlin(**{**settings, "mode": mode, "bulk": bulk})
    if mode == "bulk" and gremlin.endpoint == EMBEDDED:
        raise ConfigError("gremlin.mode", "the embedded graph has no bulk loader: use gremlin or auto")
    return gremlin


def _whole(options: Options, *names: str) -> Options:
    """Return the settings with integers in these fields: JSON Schema accepts 2.0 as one."""
    whole: Any = {name: int(getattr(options, name)) for name in names}
    return replace(options, **whole)


def _rule(index: int, settings: Mapping[str, Any]) -> Rule:
    key = f"merge.rules[{index}]"
    rule = Rule(**settings)
    groups: Sequence[str] = ()
    if rule.match:
        try:
            with warnings.catch_warnings():
                # An unescaped [[, whose meaning depends on the version of Python.
                warnings.simplefilter("error", FutureWarning)
                groups = tuple(re.compile(rule.match).groupindex)
        except (re.error, FutureWarning, OverflowError, RecursionError) as error:
            raise ConfigError(f"{key}.match", f"invalid regular expression: {error}") from None
        if slow := pattern_cost.problem_of(rule.match):
            raise ConfigError(f"{key}.match", f"{rule.name}: {slow}")
    try:
        fields = [field for field in Formatter().parse(rule.dataset) if field[1] is not None]
    except ValueError as error:
        raise ConfigError(f"{key}.dataset", str(error)) from None
    if any(form or conversion for _, _, form, conversion in fields):
        raise ConfigError(f"{key}.dataset", "groups must be {name}, without conversion or format")
    wanted = {name for _, name, _, _ in fields if name is not None}
    missing = sorted(wanted.difference(groups))
    if missing:
        raise ConfigError(f"{key}.dataset", f"group missing in match: {', '.join(missing)}")
    return rule
