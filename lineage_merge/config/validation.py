"""Turns settings as a YAML file holds them into a `Config`; they fit the schema already."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from string import Formatter
from typing import Any

from lineage_merge import naming
from lineage_merge.config.section import Section
from lineage_merge.config.settings import (
    EMBEDDED,
    Bulk,
    Config,
    Gremlin,
    Load,
    Log,
    Merge,
    Metrics,
    Query,
    Rule,
    SparkOptions,
)
from lineage_merge.infra.json_schema import path_text
from lineage_merge.model.elements import DatasetName
from lineage_merge.model.errors import ConfigError
from lineage_merge.sources.settings import namespace

# Raises `ConfigError` where the settings of an exporter do not fit.
CheckExporters = Callable[[Mapping[str, Any]], Mapping[str, Mapping[str, Any]]]


def parse(
    settings: Mapping[str, Any],
    sections: Sequence[Section],
    check_exporters: CheckExporters,
    *,
    needs_source: bool = True,
) -> Config:
    """Turn settings that fit the schema into a `Config`.

    `needs_source`: one that names no source of lineage is rejected. Raises `ConfigError`.
    """
    merge = settings.get("merge", {})
    config = Config(
        dag_name=settings["dag_name"],
        environment=settings["environment"],
        sources={each.key: each.parse(settings[each.key]) for each in sections if each.key in settings},
        merge=Merge(
            defaults=dict(
                parse_default(path_text(["merge", "defaults", each]), each, name)
                for each, name in merge.get("defaults", {}).items()
            ),
            rules=tuple(_rule(index, rule) for index, rule in enumerate(merge.get("rules", ()))),
            fold=tuple(merge.get("fold", ())),
            fold_run_local=merge.get("fold_run_local", False),
        ),
        gremlin=_gremlin(settings.get("gremlin", {})),
        load=Load(**settings.get("load", {})),
        query=_query(settings.get("query", {})),
        spark=_spark(settings.get("spark", {}), kafka=_has_kafka(settings)),
        log=Log(**settings.get("log", {})),
        metrics=Metrics(**settings.get("metrics", {})),
        sinks=check_exporters(settings["sinks"]) if settings.get("sinks") else {},
        strict=settings.get("strict", False),
    )
    telling = [each.key for each in sections if not each.is_catalog]
    if needs_source and not any(config.sources.get(key) for key in telling):
        raise ConfigError("", f"no source: give {', '.join(telling[:-1])} or {telling[-1]}")
    return config


def parse_default(key: str, of: str, name: str) -> tuple[str, str]:
    """Check a namespace and what completes shorter names there; the namespace in its one spelling."""
    canonical = namespace(key, of)
    if not naming.completes_names(canonical, name):
        raise ConfigError(key, "expected database.schema, found a single name: tables there have both")
    return canonical, name


def split_dataset(text: str) -> DatasetName:
    """``namespace|name`` as the configuration writes it."""
    namespace, _, name = text.partition("|")
    return DatasetName(namespace, name)


def _query(settings: Mapping[str, Any]) -> Query:
    layers = settings.get("layers", {})
    return Query(
        {name: tuple(globs) if isinstance(globs, list) else (globs,) for name, globs in layers.items()}
    )


def _gremlin(settings: Mapping[str, Any]) -> Gremlin:
    bulk = Bulk(**settings["bulk"]) if "bulk" in settings else None
    mode = settings.get("mode", "auto" if bulk else "gremlin")
    if mode != "gremlin" and bulk is None:
        raise ConfigError("gremlin.mode", f"{mode} needs gremlin.bulk.s3 and gremlin.bulk.role_arn")
    gremlin = Gremlin(**{**settings, "mode": mode, "bulk": bulk})
    if mode == "bulk" and gremlin.endpoint == EMBEDDED:
        raise ConfigError("gremlin.mode", "the embedded server has no bulk loader: gremlin or auto")
    return gremlin if bulk is None else replace(gremlin, bulk=replace(bulk, above=int(bulk.above)))


def _has_kafka(settings: Mapping[str, Any]) -> bool:
    return any(isinstance(section, dict) and "kafka" in section for section in settings.values())


def _spark(settings: Mapping[str, Any], kafka: bool) -> SparkOptions:
    options = SparkOptions(**settings, kafka=kafka)
    # JSON Schema takes 2.0 for an integer.
    return replace(
        options,
        partitions=int(options.partitions),
        distribute_above_mb=int(options.distribute_above_mb),
    )


def _rule(index: int, settings: Mapping[str, Any]) -> Rule:
    key = f"merge.rules[{index}]"
    rule = Rule(**settings)
    groups: Sequence[str] = ()
    if rule.match:
        try:
            groups = tuple(re.compile(rule.match).groupindex)
        except (re.error, OverflowError, RecursionError) as error:
            raise ConfigError(f"{key}.match", f"not a regular expression: {error}") from None
    try:
        fields = [field for field in Formatter().parse(rule.dataset) if field[1] is not None]
    except ValueError as error:
        raise ConfigError(f"{key}.dataset", str(error)) from None
    if any(form or conversion for _, _, form, conversion in fields):
        raise ConfigError(f"{key}.dataset", "a group is written {name}, with nothing behind the name")
    wanted = {name for _, name, _, _ in fields if name is not None}
    missing = sorted(wanted.difference(groups))
    if missing:
        raise ConfigError(f"{key}.dataset", f"match has no group named {', '.join(missing)}")
    return rule
