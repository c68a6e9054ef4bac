import json
import re
from collections.abc import Mapping
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import pytest
import yaml

from lineage_merge.config import (
    Cleared,
    Config,
    DismissedNearMiss,
    History,
    Key,
    MetadataRule,
    Policy,
    Propagation,
    Rule,
)
from lineage_merge.config.policies import TagRule
from lineage_merge.infra import storage
from lineage_merge.model.errors import ConfigError
from lineage_merge.orchestration.configuration import CONFIGURATION
from lineage_merge.sources.dbt.settings import DbtProject
from lineage_merge.sources.glue.settings import GlueCatalog
from lineage_merge.sources.query_log.settings import QueryLog
from lineage_merge.sources.quicksight.settings import QuickSight
from lineage_merge.sources.registry import SOURCES
from lineage_merge.sources.settings import Runs
from lineage_merge.sources.spline.settings import Arango, Spline
from lineage_merge.sources.sql.settings import SqlFiles
from lineage_merge.sources.superset.settings import Superset

WAREHOUSE = "redshift://tickit-wh.us-east-1:5439"
SECRET = "hunter2"
ROLE = "arn:aws:iam::111122223333:role/loader"

# A complete configuration, and for every key that a flag or variable can set: the text that sets
# it, and the resulting value.
SETTINGS: dict[str, Any] = {
    "dag_name": "from_file",
    "environment": "dev",
    "spline": {"arango": {"hosts": "http://from-file:8529", "database": "spline"}},
    "dbt": [{"manifest": "target/manifest.json", "namespace": WAREHOUSE}],
}
DBT_EXAMPLE = [{"manifest": "target/manifest.json", "namespace": "redshift://cluster.region:5439"}]
KAFKA = {"servers": "broker:9092", "topic": "spline", "landing": "s3://lake/landing"}
TEXTS: dict[str, tuple[str, Any]] = {
    "dag_name": ("tickit_daily", "tickit_daily"),
    "environment": ("prod", "prod"),
    "spline.export": ("exports/spline", "exports/spline"),
    "spline.agent": ("logs/spark, s3://lake/agent", ("logs/spark", "s3://lake/agent")),
    "spline.kafka.servers": ("a:9092, b:9092", "a:9092, b:9092"),
    "spline.kafka.topic": ("spline", "spline"),
    "spline.kafka.landing": ("s3://lake/landing", "s3://lake/landing"),
    "spline.kafka.options": (
        "{security.protocol: SASL_SSL, max.poll.records: 5}",
        {"security.protocol": "SASL_SSL", "max.poll.records": "5"},
    ),
    "spline.kafka.options_env": ("{sasl.jaas.config: KAFKA_LOGIN}", {"sasl.jaas.config": "KAFKA_LOGIN"}),
    "spline.kafka.options_secret": ("{ssl.key.password: kafka#key}", {"ssl.key.password": "kafka#key"}),
    "spline.arango.hosts": ("http://a:8529, https://b:8529", "http://a:8529,https://b:8529"),
    "spline.arango.database": ("lineage", "lineage"),
    "spline.arango.username": ("reader", "reader"),
    "spline.arango.password_env": ("ARANGO_PASSWORD", "ARANGO_PASSWORD"),
    "spline.arango.password_secret": ("lineage/arango#password", "lineage/arango#password"),
    "spline.arango.auth_method": ("jwt", "jwt"),
    "spline.arango.batch_size": ("50", 50),
    "spline.arango.timeout_seconds": ("1.5", 1.5),
    "spline.applications": ("*_load, tickit_*", ("*_load", "tickit_*")),
    "spline.labels": (
        "{airflow.dag_id: tickit_daily, team: [a, b], tier: 1}",
        {"airflow.dag_id": ("tickit_daily",), "team": ("a", "b"), "tier": ("1",)},
    ),
    "spline.runs": ("since 2026-11-01T01:00:00+01:00", Runs("since", 1_793_491_200_000)),
    "spline.lookback": ("7", timedelta(days=7)),
    "spline.retire_after": ("0", 0),
    "spline.operations": ("yes", True),
    "event_log.logs": ("logs, s3://b/logs", ("logs", "s3://b/logs")),
    "event_log.cache": ("s3://b/read", "s3://b/read"),
    "event_log.applications": ("*_load, tickit_*", ("*_load", "tickit_*")),
    "event_log.runs": ("all", Runs("all")),
    "event_log.lookback": ("12h", timedelta(hours=12)),
    "event_log.retire_after": ("5", 5),
    "capture.files": ("lineage, s3://b/lineage", ("lineage", "s3://b/lineage")),
    "capture.applications": ("*_load, tickit_*", ("*_load", "tickit_*")),
    "capture.runs": ("all", Runs("all")),
    "capture.lookback": ("12h", timedelta(hours=12)),
    "capture.retire_after": ("5", 5),
    "openlineage.events": ("events, s3://b/events", ("events", "s3://b/events")),
    "openlineage.kafka.servers": ("a:9092, b:9092", "a:9092, b:9092"),
    "openlineage.kafka.topic": ("lineage.events", "lineage.events"),
    "openlineage.kafka.landing": ("s3://b/landing", "s3://b/landing"),
    "openlineage.kafka.options": ("{security.protocol: SSL}", {"security.protocol": "SSL"}),
    "openlineage.kafka.options_env": ("{sasl.jaas.config: LOGIN}", {"sasl.jaas.config": "LOGIN"}),
    "openlineage.kafka.options_secret": ("{ssl.key.password: 'a#b'}", {"ssl.key.password": "a#b"}),
    "openlineage.datazone.domain": ("dzd_4abcdefghijklm", "dzd_4abcdefghijklm"),
    "openlineage.datazone.region": ("eu-west-1", "eu-west-1"),
    "openlineage.marquez.url": ("http://marquez:5000/", "http://marquez:5000"),
    "openlineage.marquez.api_key_env": ("MARQUEZ_KEY", "MARQUEZ_KEY"),
    "openlineage.marquez.api_key_secret": ("marquez#key", "marquez#key"),
    "openlineage.marquez.timeout_seconds": ("5", 5),
    "openlineage.jobs": ("*_load, tickit_*", ("*_load", "tickit_*")),
    "openlineage.namespaces": ("prod, test?", ("prod", "test?")),
    "openlineage.runs": ("all", Runs("all")),
    "openlineage.lookback": ("12h", timedelta(hours=12)),
    "openlineage.retire_after": ("1", 1),
    "hive.log": ("logs/hive, s3://logs/hive", ("logs/hive", "s3://logs/hive")),
    "hive.kafka.servers": ("a:9092,b:9092", "a:9092,b:9092"),
    "hive.kafka.topic": ("hive", "hive"),
    "hive.kafka.landing": ("s3://landing", "s3://landing"),
    "hive.kafka.options": ("{security.protocol: SSL}", {"security.protocol": "SSL"}),
    "hive.kafka.options_env": ("{sasl.jaas.config: LOGIN}", {"sasl.jaas.config": "LOGIN"}),
    "hive.kafka.options_secret": ("{sasl.jaas.config: a#b}", {"sasl.jaas.config": "a#b"}),
    "hive.metastore": ("thrift://Host", "hive://host:9083"),
    "hive.warehouse": ("hdfs://nn/user/hive/warehouse/", "hdfs://nn/user/hive/warehouse"),
    "hive.spark_catalogs": ("spark_catalog, hive", ("spark_catalog", "hive")),
    "hive.jobs": ("dw.*, ods.*", ("dw.*", "ods.*")),
    "hive.job_name_from": ("user", "user"),
    "hive.runs": ("all", Runs("all")),
    "hive.lookback": ("12h", timedelta(hours=12)),
    "hive.retire_after": ("0", 0),
    "dbt": (
        f"[{{manifest: s3://b/manifest.json, namespace: {WAREHOUSE}, run_results: s3://b/run_results.json}}]",
        (DbtProject("s3://b/manifest.json", WAREHOUSE, "", ("s3://b/run_results.json",)),),
    ),
    "sql": (
        "[{path: s3://b/etl, dialect: Hive, schema: ddl, variables: {env: prod}}]",
        (SqlFiles("s3://b/etl", "hive", "spark_catalog", "etl", ("ddl",), {"env": "prod"}),),
    ),
    "quicksight": (
        "[{region: eu-west-1, dashboards: [sales_*], data_sources: {orders: 'postgres://db:5432/shop'}}]",
        (
            QuickSight(
                "", "eu-west-1", dashboards=("sales_*",), data_sources={"orders": "postgres://db:5432/shop"}
            ),
        ),
    ),
    "declared": ("[lineage/partners.yml, s3://b/declared]", ("lineage/partners.yml", "s3://b/declared")),
    "superset": (
        "[{export: s3://b/superset, url: 'https://bi.example.com', dashboards: [Sales*]}]",
        (Superset("s3://b/superset", "https://bi.example.com", dashboards=("Sales*",)),),
    ),
    "glue": (
        "[{region: eu-west-1, account: '111122223333', databases: [tickit_*], spark_catalogs: [lake]}]",
        (GlueCatalog("eu-west-1", "111122223333", ("tickit_*",), ("lake",)),),
    ),
    "merge.default_schemas": (f'{{"{WAREHOUSE}": dev.public}}', {WAREHOUSE: "dev.public"}),
    "merge.collapse_datasets": ("s3://*/tmp/*, file*", ("s3://*/tmp/*", "file*")),
    "merge.collapse_run_local": ("on", True),
    "merge.expect.joined_at_least": ("3", 3),
    "merge.expect.joined": ("[[s3://raw/a, b], [c, d]]", (("s3://raw/a", "b"), ("c", "d"))),
    "metadata": (
        '{"s3://*-pii/*": {tags: [pii, gdpr], owner: p@example.com}, "*.t#m*": {tags: pii, description: d}}',
        (
            MetadataRule("s3://*-pii/*", "", ("pii", "gdpr"), ("p@example.com",)),
            MetadataRule("*.t", "m*", ("pii",), (), "d"),
        ),
    ),
    "propagation": (
        '{pii: {stop_at: [SORT], stop_at_functions: sha2, clear: [{column: "*.t#M*", reason: " open "}]}}',
        {"pii": Propagation(frozenset({"SORT"}), ("sha2",), (), (Cleared("*.t", "M*", "open"),))},
    ),
    "query_log": (
        "[{format: redshift, path: s3://b/h, namespace: 'redshift://wh.us-east-1', search_path: [a]}]",
        (QueryLog("redshift", "redshift://wh.us-east-1:5439", "redshift", "s3://b/h", ("a",)),),
    ),
    "policies": (
        "[{name: a, tag: pii, must_not_reach: '*.t', except: '*.t#m', severity: warning, description: d}]",
        (Policy("a", TagRule(("pii",), ("*.t",)), "d", "warning", ("*.t#m",)),),
    ),
    "load.allow_retire": ("yes", True),
    "load.verify": ("true", True),
    "history.location": ("s3://lake/history", "s3://lake/history"),
    "history.keep": ("400d", "400d"),
    "history.run_id": ("manual__1", "manual__1"),
    "history.logical_date": ("2026-01-31", "2026-01-31"),
    "exporters": ("{mermaid: {columns: true}}", {"mermaid": {"columns": True}}),
    "query.layers": ("{raw: a*, mart: [b, c]}", {"raw": ("a*",), "mart": ("b", "c")}),
    "merge.dismissed_near_misses": (
        "[{written: s3://raw/a, read: wh|a, by: anna, reason: of another shop, until: 2027-01-31}]",
        (DismissedNearMiss("s3://raw/a", "wh|a", "anna", "of another shop", date(2027, 1, 31)),),
    ),
    "merge.rules": (
        "[{name: temp, match: '/(?P<table>[a-z]+)/', dataset: 'redshift://wh:1|dev.public.{table}'}]",
        (Rule("temp", "redshift://wh:1|dev.public.{table}", match="/(?P<table>[a-z]+)/"),),
    ),
    "gremlin.endpoint": ("wss://graph:8182/gremlin", "wss://graph:8182/gremlin"),
    "gremlin.timeout_seconds": ("30", 30.0),
    "gremlin.retry_seconds": ("0", 0.0),
    "gremlin.writers": ("16", 16),
    "gremlin.reader_endpoint": ("wss://reader:8182/gremlin", "wss://reader:8182/gremlin"),
    "gremlin.iam_auth": ("yes", True),
    "gremlin.region": ("us-gov-west-1", "us-gov-west-1"),
    "gremlin.role_arn": ("arn:aws:iam::111122223333:role/a/b", "arn:aws:iam::111122223333:role/a/b"),
    "gremlin.mode": ("gremlin", "gremlin"),
    "gremlin.bulk.s3": ("s3://bucket/bulk", "s3://bucket/bulk"),
    "gremlin.bulk.role_arn": (f"{ROLE}1,{ROLE}2", f"{ROLE}1,{ROLE}2"),
    "gremlin.bulk.min_changes": ("0", 0),
    "gremlin.bulk.parallelism": ("LOW", "LOW"),
    "gremlin.bulk.timeout_seconds": ("60", 60.0),
    "gremlin.bulk.keep_files": ("yes", True),
    "gremlin.bulk.endpoint": ("https://loader:8182", "https://loader:8182"),
    "log.format": ("json", "json"),
    "metrics.format": ("emf", "emf"),
    "metrics.namespace": ("Team/Lineage", "Team/Lineage"),
    "spark.master": ("local[4]", "local[4]"),
    "spark.partitions": ("8", 8),
    "spark.distribute_above_mb": ("64", 64),
    "strict": ("true", True),
}


def written(folder: Path, settings: Mapping[str, Any] | str) -> Path:
    file = folder / "lineage_merge.yml"
    text = settings if isinstance(settings, str) else yaml.safe_dump(settings)
    file.write_text(text, encoding="utf-8")
    return file


def settings_for_key(dotted: str) -> dict[str, Any]:
    """Return settings to which the key may be added: exports exclude databases, bulk loaders need a role."""
    if dotted == "spline.agent":
        return SETTINGS | {"spline": {}}
    if dotted.startswith("spline.kafka."):
        return SETTINGS | {"spline": {"kafka": {"servers": "a:1", "topic": "t", "landing": "l"}}}
    if dotted.startswith("openlineage."):
        services = {
            "kafka": {"servers": "a:1", "topic": "t", "landing": "l"},
            "datazone": {"domain": "dzd_other"},
            "marquez": {"url": "http://other"},
        }
        service = {name: keys for name, keys in services.items() if name in dotted.split(".")}
        return SETTINGS | {"openlineage": {"events": "e", **service}}
    if dotted.startswith("capture."):
        return SETTINGS | {"capture": {"files": "lineage"}}
    if dotted.startswith("event_log."):
        return SETTINGS | {"event_log": {"logs": "logs"}}
    if dotted.startswith("hive."):
        kafka = {"servers": "k:9092", "topic": "t", "landing": "landing"}
        return SETTINGS | {"hive": {"log": "hive.log", "kafka": kafka}}
    if dotted.startswith("gremlin.bulk."):
        return SETTINGS | {"gremlin": {"bulk": {"s3": "s3://bucket", "role_arn": ROLE}}}
    return SETTINGS | {"spline": {}} if dotted == "spline.export" else SETTINGS


def value_of(found: Config, dotted: str) -> Any:
    value: Any = found
    for name in dotted.split("."):
        is_source = value is found and name in {each.key for each in SOURCES}
        value = found.sources.get(name) if is_source else getattr(value, name)
    return value


def changed(**settings: Any) -> dict[str, Any]:
    return {**SETTINGS, **settings}


def config_error(settings: Mapping[str, Any]) -> ConfigError:
    with pytest.raises(ConfigError) as raised:
        CONFIGURATION.parse(settings)
    assert "\n" not in raised.value.message
    return raised.value


every_key = pytest.mark.parametrize("key", CONFIGURATION.settable, ids=lambda key: key.dotted)


@every_key
def test_every_key_can_be_set_by_variable(tmp_path: Path, key: Key) -> None:
    text, value = TEXTS[key.dotted]

    found = CONFIGURATION.load(written(tmp_path, settings_for_key(key.dotted)), environ={key.variable: text})

    assert value_of(found, key.dotted) == value


@every_key
def test_every_key_can_be_set_by_flag(tmp_path: Path, key: Key) -> None:
    text, value = TEXTS[key.dotted]

    found = CONFIGURATION.load(
        written(tmp_path, settings_for_key(key.dotted)), environ={}, flags={key.dotted: text}
    )

    assert value_of(found, key.dotted) == value


def test_variables_and_flags_are_unique() -> None:
    keys = CONFIGURATION.settable

    assert len({key.variable for key in keys}) == len({key.flag for key in keys}) == len(keys)


def test_flags_take_precedence_over_variables_and_variables_over_the_file(tmp_path: Path) -> None:
    file = written(tmp_path, SETTINGS)
    environ = {"LINEAGE_MERGE_DAG_NAME": "from_variable", "LINEAGE_MERGE_ENVIRONMENT": "staging"}

    found = CONFIGURATION.load(file, environ, {"dag_name": "from_flag"})

    assert found.dag_name == "from_flag"
    assert found.environment == "staging"
    assert found.sources["spline"] is not None
    assert found.sources["spline"].arango is not None
    assert found.sources["spline"].arango.hosts == "http://from-file:8529"


def test_the_environment_of_the_process_is_read_by_default(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LINEAGE_MERGE_DAG_NAME", "from_process")

    assert CONFIGURATION.load(written(tmp_path, SETTINGS)).dag_name == "from_process"


def test_empty_variables_are_ignored(tmp_path: Path) -> None:
    """Compose files pass on unset variables as empty ones."""
    found = CONFIGURATION.load(written(tmp_path, SETTINGS), {"LINEAGE_MERGE_DAG_NAME": ""})

    assert found.dag_name == "from_file"


def test_a_configuration_may_consist_of_variables() -> None:
    environ = {
        "LINEAGE_MERGE_DAG_NAME": "tickit_daily",
        "LINEAGE_MERGE_ENVIRONMENT": "dev",
        "LINEAGE_MERGE_SPLINE_EXPORT": "exports",
    }

    assert CONFIGURATION.load(environ=environ).sources["spline"] == Spline(export="exports")


def test_a_variable_sets_a_key_in_an_empty_section_of_the_file(tmp_path: Path) -> None:
    file = written(tmp_path, "dag_name: d\nenvironment: dev\nspline:\n")

    found = CONFIGURATION.load(file, {"LINEAGE_MERGE_SPLINE_EXPORT": "exports"})

    assert found.sources["spline"] == Spline(export="exports")


def test_paths_are_relative_to_the_file(tmp_path: Path) -> None:
    folder = tmp_path / "conf"
    folder.mkdir()
    file = written(
        folder,
        {
            "dag_name": "d",
            "environment": "dev",
            "spline": {"export": "../exports"},
            "dbt": [
                {"manifest": "manifest.json", "namespace": WAREHOUSE, "run_results": "run_results.json"},
                {"manifest": "/srv/manifest.json", "namespace": WAREHOUSE},
                {"manifest": "s3://b/manifest.json", "namespace": WAREHOUSE},
            ],
        },
    )

    found = CONFIGURATION.load(file, environ={})

    assert found.sources["spline"] is not None
    assert Path(found.sources["spline"].export).resolve() == tmp_path / "exports"
    assert [project.manifest for project in found.sources["dbt"]] == [
        str(folder / "manifest.json"),
        "/srv/manifest.json",
        "s3://b/manifest.json",
    ]
    assert [project.run_results for project in found.sources["dbt"]] == [
        (str(folder / "run_results.json"),),
        (),
        (),
    ]


@pytest.mark.parametrize(
    ("location", "expected"),
    [
        ("manifest.json", "s3://bucket/conf/daily/manifest.json"),
        ("./dbt/manifest.json", "s3://bucket/conf/daily/dbt/manifest.json"),
        ("../manifest.json", "s3://bucket/conf/manifest.json"),
        ("../../manifest.json", "s3://bucket/manifest.json"),
        ("dbt/", "s3://bucket/conf/daily/dbt/"),
        ("/mnt/m.json", "/mnt/m.json"),
        ("~/m.json", "/home/of-user/m.json"),
        ("s3://other/m.json", "s3://other/m.json"),
    ],
)
def test_paths_are_relative_to_a_file_on_s3_and_absolute_paths_are_local(
    monkeypatch: pytest.MonkeyPatch, location: str, expected: str
) -> None:
    monkeypatch.setenv("HOME", "/home/of-user")
    settings = {
        "dag_name": "d",
        "environment": "dev",
        "dbt": [{"manifest": location, "namespace": WAREHOUSE}],
        "spline": {"agent": [location, "logs"]},
        "exporters": {"mermaid": {"out": location}},
    }
    monkeypatch.setattr(storage, "read_text", lambda _: yaml.safe_dump(settings))

    found = CONFIGURATION.collect("s3://bucket/conf/daily/lineage.yml", environ={}).settings

    assert found["dbt"] == [{"manifest": expected, "namespace": WAREHOUSE}]
    assert found["spline"] == {"agent": [expected, "s3://bucket/conf/daily/logs"]}
    assert found["exporters"] == {"mermaid": {"out": expected}}


def test_a_path_outside_of_the_bucket_is_rejected(monkeypatch: pytest.MonkeyPatch) -> None:
    settings = SETTINGS | {"dbt": [{"manifest": "../../m.json", "namespace": WAREHOUSE}]}
    monkeypatch.setattr(storage, "read_text", lambda _: yaml.safe_dump(settings))

    with pytest.raises(ConfigError, match=r"path outside of the bucket: \.\./\.\./m\.json"):
        CONFIGURATION.collect("s3://bucket/conf/lineage.yml", environ={})


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("tickit_*", ("tickit_*",)),
        ("*", ("*",)),
        ("a, b,,c ", ("a", "b", "c")),
        ('["a,b", "*"]', ("a,b", "*")),
        ("- a\n- b", ("a", "b")),
        ("2024", ("2024",)),
        ("a: b", ("a: b",)),
    ],
)
def test_lists_of_names_are_comma_separated_or_yaml(
    tmp_path: Path, text: str, names: tuple[str, ...]
) -> None:
    found = CONFIGURATION.load(written(tmp_path, SETTINGS), environ={}, flags={"spline.applications": text})

    assert found.sources["spline"] is not None
    assert found.sources["spline"].applications == names


@pytest.mark.parametrize(
    ("text", "value"),
    [("1", True), ("0", False), ("True", True), ("FALSE", False), ("yes", True), ("off", False)],
)
def test_booleans_have_several_spellings(tmp_path: Path, text: str, value: bool) -> None:
    assert CONFIGURATION.load(written(tmp_path, SETTINGS), {"LINEAGE_MERGE_STRICT": text}).strict is value


@pytest.mark.parametrize(
    ("dotted", "text", "problem"),
    [
        ("strict", "perhaps", "must be a boolean: true, not a string"),
        ("spark.partitions", "two", "must be an integer: 8, not a string"),
        ("spark.partitions", "2.5", "must be an integer: 8, not a string"),
        ("spark.partitions", "0", "must be at least 1, not 0"),
        ("gremlin.timeout_seconds", "soon", "must be a number: 60, not a string"),
        ("gremlin.timeout_seconds", "inf", "must be a number: 60, not inf"),
        ("spline.lookback", "0", "expected more than 0 and at most 36500 days, found 0"),
        (
            "spline.lookback",
            "2 weeks",
            "must be days or hours, such as 30d or 12h, not '2 weeks'; example: 30d",
        ),
        ("spline.runs", "newest", "must be latest, all, since TIME or run ID, not 'newest'; example: latest"),
        (
            "spline.runs",
            "since yesterday",
            "expected latest, all, since TIME or run ID, and a time as 2026-11-01 or 2026-11-01T06:00:00Z",
        ),
        ("spline.arango.auth_method", "oauth", "must be basic or jwt, not 'oauth'"),
        ("spline.arango.auth_method", "basci", "must be basic or jwt, not 'basci'; did you mean basic?"),
        (
            "dbt",
            "manifest.json",
            f"must be a list: {json.dumps(DBT_EXAMPLE)}, not a string",
        ),
        ("dbt", "[{manifest: x", "line 1: expected ',' or '}', but got '<stream end>'"),
        (
            "merge.default_schemas",
            "a",
            'must be an object: {"redshift://cluster.region:5439": "dev.public"}, not a string',
        ),
        ("dag_name", "", "must be letters, digits and _ . ~ + - only, not ''; example: tickit_daily"),
    ],
)
def test_a_flag_of_the_wrong_type_is_rejected(tmp_path: Path, dotted: str, text: str, problem: str) -> None:
    with pytest.raises(ConfigError) as raised:
        CONFIGURATION.load(written(tmp_path, SETTINGS), environ={}, flags={dotted: text})

    flag = "--" + dotted.replace(".", "-").replace("_", "-")
    assert raised.value.message == f"{flag}: {dotted}: {problem}"


@pytest.mark.parametrize(
    ("settings", "key", "problem"),
    [
        ({"environment": "dev"}, "dag_name", "is missing"),
        (changed(spline={"arango": {"hosts": "http://h:1"}}), "spline.arango.database", "is missing"),
        (changed(dbt=[{"manifest": "m"}]), "dbt[0].namespace", "is missing"),
        (changed(dbts=[]), "dbts", "is not a known key"),
        (changed(spline={"arango": {"host": "h"}}), "spline.arango.host", "is not a known key"),
        (changed(environment=1.0), "environment", "must be a string: prod, not a number"),
        (changed(environment=False), "environment", "must be a string: prod, not a boolean"),
        (changed(dbt={"manifest": "m"}), "dbt", 'not an object; begin each entry with "- "'),
        (changed(spline=None), "spline", 'must be an object: {"export": "exports/spline"}, not null'),
        (changed(dag_name="a b"), "dag_name", "must be letters, digits and _ . ~ + - only"),
        (changed(dag_name="a|b"), "dag_name", "must be letters, digits and _ . ~ + - only"),
        (changed(dbt=[{"manifest": "", "namespace": WAREHOUSE}]), "dbt[0].manifest", "is empty"),
        (
            changed(spline={"export": "x", "arango": {"hosts": "http://h:1", "database": "d"}}),
            "spline",
            "export and arango are mutually exclusive",
        ),
        (
            changed(spline={"export": "x", "agent": "logs"}),
            "spline",
            "export and agent are mutually exclusive",
        ),
        (
            changed(spline={"arango": {"hosts": "http://h:1", "database": "d"}, "kafka": KAFKA}),
            "spline",
            "arango and kafka are mutually exclusive",
        ),
        (changed(spline={"agent": []}), "spline.agent", "is empty"),
        (changed(spline={"agent": [7]}), "spline.agent[0]", "must be a string"),
        (changed(spline={"kafka": {**KAFKA, "servers": "broker"}}), "spline.kafka.servers", "host:port"),
        (changed(spline={"kafka": {**KAFKA, "topic": "a b"}}), "spline.kafka.topic", "name of one topic"),
        (
            changed(spline={"kafka": {**KAFKA, "options": {"kafka.group.id": "x"}}}),
            "spline.kafka.options.kafka.group.id",
            "without the prefix kafka.",
        ),
        (
            changed(spline={"kafka": {**KAFKA, "options": {"a": 1}, "options_env": {"a": "A"}}}),
            "spline.kafka",
            "duplicate option: a",
        ),
        (changed(spline={"applications": ["x"]}), "spline", "give export, arango, agent or kafka"),
        (changed(spline={"export": "x", "applications": [1]}), "spline.applications[0]", "must be a string"),
        (
            changed(spline={"arango": {"hosts": "arangodb:8529", "database": "d"}}),
            "spline.arango.hosts",
            "must be http://host:port or https://...",
        ),
        (changed(gremlin={"endpoint": "http://h:8182"}), "gremlin.endpoint", "must be embedded, ws://"),
        (
            changed(merge={"default_schemas": {WAREHOUSE: "a.b.c"}}),
            f"merge.default_schemas.{WAREHOUSE}",
            "must be database",
        ),
        *(
            (
                changed(merge={"default_schemas": {each: "public"}}),
                f"merge.default_schemas.{each}",
                "must be database.schema",
            )
            for each in (WAREHOUSE, "postgres://h:5432", "snowflake://org-account", "trino://h:8080")
        ),
        (
            changed(merge={"default_schemas": {"jdbc:redshift://h:1": "a"}}),
            "merge.default_schemas.jdbc:redshift",
            "a JDBC URL",
        ),
        (
            changed(dbt=[{"manifest": "m", "namespace": "redshift://"}]),
            "dbt[0].namespace",
            "expected a namesp",
        ),
        (
            changed(dbt=[{"manifest": "m", "namespace": "jdbc:redshift://h:1/d"}]),
            "dbt[0].namespace",
            "a JDBC URL: write redshift://h:1",
        ),
        (
            changed(dbt=[{"manifest": "m", "namespace": "a|b"}]),
            "dbt[0].namespace",
            "expected a namespace",
        ),
        (changed(dbt=[{"manifest": "m", "namespace": " "}]), "dbt[0].namespace", "namespace"),
    ],
)
def test_an_invalid_key_is_rejected(settings: dict[str, Any], key: str, problem: str) -> None:
    error = config_error(settings)

    assert error.key.startswith(key)
    assert error.message.startswith(f"configuration: {key}")
    assert problem in error.message


@pytest.mark.parametrize(
    "option",
    [
        "sasl.jaas.config",
        "ssl.keystore.key",
        "ssl.key.password",
        "ssl.keystore.password",
        "oauth.client.secret",
    ],
)
def test_kafka_passwords_must_be_references(option: str) -> None:
    error = config_error(changed(spline={"kafka": {**KAFKA, "options": {option: SECRET}}}))

    assert error.key == f"spline.kafka.options.{option}"
    assert SECRET not in error.message
    by_name = changed(spline={"kafka": {**KAFKA, "options_env": {option: "KAFKA_LOGIN"}}})
    assert CONFIGURATION.parse(by_name).sources["spline"] is not None


def test_kafka_options_are_read_from_variables_and_secrets(monkeypatch: pytest.MonkeyPatch) -> None:
    given = {**KAFKA, "options": {"max.poll.records": 5}, "options_env": {"sasl.jaas.config": "KAFKA_LOGIN"}}
    found = CONFIGURATION.parse(changed(spline={"kafka": given})).sources["spline"]
    assert found is not None
    assert found.kafka is not None
    with pytest.raises(ConfigError, match="not set"):
        found.kafka.all_options()

    monkeypatch.setenv("KAFKA_LOGIN", SECRET)

    assert found.kafka.all_options() == {"max.poll.records": "5", "sasl.jaas.config": SECRET}
    assert SECRET not in repr(found)


def test_agent_and_landing_paths_are_relative_to_the_file(tmp_path: Path) -> None:
    spline = {"agent": ["logs/a", "s3://lake/b", "/abs"], "kafka": {**KAFKA, "landing": "landing"}}

    found = CONFIGURATION.load(written(tmp_path, SETTINGS | {"spline": spline}), environ={}).sources["spline"]

    assert found is not None
    assert found.kafka is not None
    assert found.agent == (str(tmp_path / "logs/a"), "s3://lake/b", "/abs")
    assert found.kafka.landing == str(tmp_path / "landing")


def test_a_configuration_without_a_source_is_rejected() -> None:
    error = config_error({"dag_name": "d", "environment": "dev"})

    assert error.message.endswith(
        ": no source: set spline, capture, event_log, openlineage, hive, query_log, dbt, sql, quicksight"
        ", superset or declared"
    )


@pytest.mark.parametrize(
    ("rule", "field", "problem"),
    [
        ({"match": "("}, ".match", "invalid regular expression: missing )"),
        ({"match": "x[[a]"}, ".match", "invalid regular expression: Possible nested set"),
        ({"match": "a{99999999999999999999}"}, ".match", "invalid regular expression"),
        ({"match": "x", "dataset": "s3://b|{table}"}, ".dataset", "group missing in match: table"),
        ({"match": "(?P<t>x)", "dataset": "s3://b|{t!r}"}, ".dataset", "groups must be {name}"),
        ({"match": "(?P<t>x)", "dataset": "s3://b|{t.x}"}, ".dataset", "group missing in match: t.x"),
        ({"match": "(?P<t>x)", "dataset": "s3://b|{t"}, ".dataset", "expected '}' before end of string"),
        ({"match": "x", "dataset": "sales"}, ".dataset", "must be namespace|name, not 'sales'"),
        ({"application": "a*", "dataset": "s3://b|{t}"}, ".dataset", "group missing in match: t"),
        ({}, "", "requires match or application"),
        ({"match": "x", "name": ""}, ".name", "is empty"),
    ],
)
def test_an_invalid_rule_is_rejected(rule: dict[str, str], field: str, problem: str) -> None:
    good = {"name": "good", "match": "x", "dataset": "s3://b|x"}
    bad = {"name": "bad", "dataset": "s3://b|x", **rule}

    error = config_error(changed(merge={"rules": [good, bad]}))

    assert error.key == f"merge.rules[1]{field}"
    assert problem in error.message


@pytest.mark.parametrize(
    ("namespace", "name"),
    [
        ("hive://metastore:9083", "sales"),
        ("spark_catalog", "sales"),
        ("mysql://h:3306", "shop"),
        ("arn:aws:glue:eu-west-1:111122223333", "lake"),
        ("mongodb://h:27017", "shop"),
    ],
)
def test_a_default_schema_that_qualifies_all_names_of_its_platform_is_accepted(
    namespace: str, name: str
) -> None:
    assert CONFIGURATION.parse(
        changed(merge={"default_schemas": {namespace: name}})
    ).merge.default_schemas == {namespace: name}


def test_namespaces_are_normalized() -> None:
    found = CONFIGURATION.parse(
        changed(
            dbt=[{"manifest": "m", "namespace": "redshift://TICKIT-WH.us-east-1"}],
            merge={"default_schemas": {"redshift://tickit-wh.us-east-1": "dev.public"}},
        )
    )

    assert found.sources["dbt"][0].namespace == WAREHOUSE
    assert found.merge.default_schemas == {WAREHOUSE: "dev.public"}


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("dag_name: d\nenvironment: [dev", ":2: expected ',' or ']'"),
        ("dag_name: d\ndbt:\n\t- manifest: m", ":3: a tab in the indentation: YAML requires spaces"),
        ("dag_name: d\nenvironment: dev\ndag_name: e", ":3: duplicate key: dag_name (also on line 1)"),
        ("dag_name: d\nspline: export: x", ":2: mapping values are not allowed here"),
        ("dag_name: *_load", ":1: unknown alias or tag"),
        ("dag_name: !!python/name:os.system", ":1: unknown alias or tag"),
        ("dag_name: &a [*a]", ":1: an anchor contains itself"),
        ("dag_name: \x00", ": not YAML"),
        ("dag_name: !!int x", ": not YAML"),
        ("- dag_name: d", ": must be a mapping with keys such as dag_name and environment"),
        ("# nothing yet", ": must be a mapping with keys such as dag_name and environment"),
        ("[" * 3000, ": nested too deeply"),
    ],
)
def test_an_invalid_file_is_reported_with_the_line(tmp_path: Path, text: str, problem: str) -> None:
    file = written(tmp_path, text)

    with pytest.raises(ConfigError) as raised:
        CONFIGURATION.load(file, environ={})

    assert raised.value.message.startswith(f"{file}{problem}")
    assert "\n" not in raised.value.message


def test_all_problems_are_reported_with_their_lines(tmp_path: Path) -> None:
    file = written(
        tmp_path,
        """\
dag_name: tickit daily
enviroment: dev
spline:
  arango:
    hosts: arangodb:8529
    password: hunter2
  applications: tickit_*
applications: [a]
dbt:
  - manifest: target/manifest.json
    namespace: "jdbc:redshift://h:5439/dev"
  - manifest: other.json
sql:
  - path: etl
    dialect: redshift
  - {path: ddl, dialect: redshift}
""",
    )
    environ = {"LINEAGE_MERGE_SPARK_PARTITIONS": "many", "LINEAGE_MERGE_STRICT": "perhaps"}

    with pytest.raises(ConfigError) as raised:
        CONFIGURATION.load(file, environ, {"spark.master": "local", "strict": "maybe"})

    hosts = "http://host:port or https://..."
    assert [line.removeprefix(str(file)) for line in raised.value.lines] == [
        ":1: dag_name: must be letters, digits and _ . ~ + - only, not 'tickit daily'; example: tickit_daily",
        ":2: enviroment: is not a known key; did you mean environment?",
        ":4: spline.arango.database: is missing; example: spline",
        f":5: spline.arango.hosts: must be {hosts}: begin with http:// (https:// with TLS)",
        (
            ":6: spline.arango.password: is not a known key; did you mean password_env or password_secret?"
            " Set a variable to it, and give its name as spline.arango.password_env"
        ),
        ':7: spline.applications: must be a list: ["tickit_*"], not a string',
        (
            ":8: applications: is not a known key; did you mean spline.applications or capture.applications"
            " or event_log.applications?"
        ),
        ":12: dbt[1].namespace: is missing; example: redshift://cluster.region:5439",
        ":14: sql[0].namespace: required for redshift, such as redshift://cluster.region:5439",
        ":16: sql[1].namespace: required for redshift, such as redshift://cluster.region:5439",
        ": environment: is missing; example: prod",
        "LINEAGE_MERGE_SPARK_PARTITIONS: spark.partitions: must be an integer: 8, not a string",
        "--strict: strict: must be a boolean: true, not a string",
    ]
    assert SECRET not in raised.value.message


def test_a_misspelt_variable_is_named_with_the_missing_key(tmp_path: Path) -> None:
    environ = {"LINEAGE_MERGE_ENVIROMENT": "dev", "LINEAGE_MERGE_TRACEBACK": "1"}

    with pytest.raises(ConfigError) as raised:
        CONFIGURATION.load(written(tmp_path, "dag_name: d\nspline: {export: x}\n"), environ)

    assert raised.value.problem == (
        "is missing; example: prod; set LINEAGE_MERGE_ENVIRONMENT in place of LINEAGE_MERGE_ENVIROMENT"
    )


def test_sections_are_checked_beyond_their_schema_while_another_is_invalid(tmp_path: Path) -> None:
    text = """\
environment: dev
spline:
  export: x
  runs: since yesterday
  lookback: 99999d
merge:
  rules:
    - {name: a, match: "(", dataset: "s3://b|x"}
    - {name: b, match: x, dataset: "s3://b|{table}"}
exporters:
  datahb: {}
  mermaid: {colums: true}
"""

    with pytest.raises(ConfigError) as raised:
        CONFIGURATION.load(written(tmp_path, text), environ={})

    found = [(error.origin.rpartition(":")[2], error.key) for error in raised.value.findings]
    assert found[:-1] == [
        ("4", "spline.runs"),
        ("5", "spline.lookback"),
        ("8", "merge.rules[0].match"),
        ("9", "merge.rules[1].dataset"),
        ("11", "exporters.datahb"),
        ("12", "exporters.mermaid.colums"),
    ]
    assert found[-1][1] == "dag_name"
    assert "did you mean datahub?" in raised.value.message
    assert "did you mean columns?" in raised.value.message


def test_a_merge_key_and_an_alias_have_the_line_where_the_value_is(tmp_path: Path) -> None:
    text = """\
dag_name: d
environment: dev
dbt:
  - &first
    manifest: 7
    namespace: redshift://h:5439
  - <<: *first
    manifest: b.json
    target: 8
"""

    with pytest.raises(ConfigError) as raised:
        CONFIGURATION.load(written(tmp_path, text), environ={})

    assert [(each.origin.rpartition(":")[2], each.key) for each in raised.value.findings] == [
        ("5", "dbt[0].manifest"),
        ("9", "dbt[1].target"),
    ]


def test_every_duplicate_key_is_reported(tmp_path: Path) -> None:
    text = "dag_name: a\nspline:\n  export: x\n  export: y\ndag_name: b\n"

    with pytest.raises(ConfigError) as raised:
        CONFIGURATION.load(written(tmp_path, text), environ={})

    assert [each.origin.rpartition(":")[2] for each in raised.value.findings] == ["4", "5"]


def test_thousands_of_errors_are_cut_short(tmp_path: Path) -> None:
    text = "dag_name: d\nenvironment: dev\n" + "".join(f"key_{number}: 1\n" for number in range(3000))

    with pytest.raises(ConfigError) as raised:
        CONFIGURATION.load(written(tmp_path, text), environ={})

    assert len(raised.value.lines) == 20
    assert raised.value.lines[-1].endswith("2981 more errors")


def test_every_example_of_the_schema_is_valid() -> None:
    from jsonschema import Draft202012Validator

    def nodes(schema: Any) -> list[dict[str, Any]]:
        if not isinstance(schema, dict):
            return []
        below = [*schema.get("properties", {}).values(), schema.get("items")]
        return [schema, *(node for child in below for node in nodes(child))]

    found = nodes(CONFIGURATION.schema)
    wrong = [
        (example, error.message)
        for node in found
        for example in node.get("examples", ())
        for error in Draft202012Validator(node).iter_errors(example)
    ]

    assert wrong == []
    assert sum("examples" in node for node in found) > 80


def test_every_key_is_required_or_shows_its_default() -> None:
    def without_default(schema: Mapping[str, Any]) -> set[str]:
        inner = {**schema, **schema.get("items", {})}
        return {
            name
            for name, child in inner.get("properties", {}).items()
            if name not in inner.get("required", ())
            and not {"default", "x-default", "properties"} & child.keys()
        }.union(*map(without_default, inner.get("properties", {}).values()))

    assert without_default(CONFIGURATION.schema) <= {source.key for source in SOURCES}


def test_every_key_that_a_flag_sets_has_an_example() -> None:
    without = {key.dotted for key in CONFIGURATION.settable if not {"examples", "enum"} & key.schema.keys()}

    assert without <= {"merge.expect"}


def test_missing_and_binary_files_are_reported(tmp_path: Path) -> None:
    binary = tmp_path / "binary.yml"
    binary.write_bytes(b"\xff\xfe\x00")

    for file, problem in (
        (tmp_path / "missing.yml", "No such file or directory"),
        (tmp_path, "Is a directory"),
        (binary, "not UTF-8 text"),
    ):
        with pytest.raises(ConfigError, match=f"cannot read {re.escape(str(file))}: {problem}"):
            CONFIGURATION.load(file, environ={})


@pytest.mark.parametrize("place", ["dag_name", "dbt", "bogus", "merge"])
@pytest.mark.parametrize("how", ["lists", "merge keys"])
def test_exponential_aliases_are_rejected(tmp_path: Path, place: str, how: str) -> None:
    aliases = {"lists": "[{}]", "merge keys": "{{<<: [{}]}}"}[how]
    lines = ["x0: &x0 {a: b}"]
    lines += [
        f"x{level}: &x{level} {aliases.format(', '.join([f'*x{level - 1}'] * 9))}" for level in range(1, 12)
    ]
    file = written(tmp_path, "\n".join([*lines, f"{place}: *x11"]))

    with pytest.raises(ConfigError, match="expands to more than"):
        CONFIGURATION.load(file, environ={})


def test_anchors_for_repeated_settings_are_accepted(tmp_path: Path) -> None:
    file = written(
        tmp_path,
        f"""
dag_name: d
environment: dev
dbt:
  - &first {{manifest: /a.json, namespace: "{WAREHOUSE}"}}
  - <<: *first
    manifest: /b.json
""",
    )

    found = CONFIGURATION.load(file, environ={})

    assert found.sources["dbt"] == (DbtProject("/a.json", WAREHOUSE), DbtProject("/b.json", WAREHOUSE))


def arango(**settings: Any) -> dict[str, Any]:
    return changed(spline={"arango": {"hosts": "http://h:8529", "database": "d", **settings}})


def test_the_password_is_read_from_the_named_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ARANGO_PASSWORD", SECRET)
    found = CONFIGURATION.parse(arango(password_env="ARANGO_PASSWORD")).sources["spline"]

    assert found is not None
    assert found.arango is not None
    assert found.arango.password() == SECRET
    assert SECRET not in repr(found)


def test_without_a_named_variable_there_is_no_password() -> None:
    assert Arango("http://h:8529", "d").password() == ""


def test_an_unset_variable_is_reported_by_its_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(SECRET, raising=False)

    with pytest.raises(ConfigError, match="environment variable of this name is not set") as raised:
        Arango("http://h:8529", "d", password_env=SECRET).password()

    assert raised.value.key == "spline.arango.password_env"
    assert SECRET not in raised.value.message, "some write the password itself there"


@pytest.mark.parametrize(
    ("settings", "key"),
    [
        (arango(password=SECRET), "spline.arango.password"),
        (arango(password_env=f"{SECRET}!"), "spline.arango.password_env"),
        (arango(password_env=[SECRET]), "spline.arango.password_env"),
        (arango(password_secret=f"{SECRET} "), "spline.arango.password_secret"),
        (arango(password_env="PASSWORD", password_secret=SECRET), "spline.arango"),
        (arango(hosts=f"http://root:{SECRET}@h:8529"), "spline.arango.hosts"),
        (arango(hosts=f"root:{SECRET}@h:8529"), "spline.arango.hosts"),
        (changed(spline={"arango": SECRET}), "spline.arango"),
        (changed(spline={"arango": f"http://root:{SECRET}@h"}), "spline.arango"),
        (changed(gremlin={"endpoint": f"https://u:{SECRET}@h/gremlin"}), "gremlin.endpoint"),
        (
            changed(gremlin={"reader_endpoint": f"https://u:{SECRET}@h/gremlin"}),
            "gremlin.reader_endpoint",
        ),
        (changed(gremlin=f"wss://u:{SECRET}@h/gremlin"), "gremlin"),
        (
            changed(merge={"default_schemas": {f"redshift://u:{SECRET}@h:1": "a.b.c"}}),
            "merge.default_schemas.redshift://h:1",
        ),
        (
            changed(merge={"default_schemas": {f"jdbc:redshift://u:{SECRET}@h:1": "a"}}),
            "merge.default_schemas.",
        ),
        (changed(spline={"lookback": [SECRET]}), "spline"),
        (changed(spline=[SECRET]), "spline"),
        (changed(strict=SECRET), "strict"),
        (changed(gremlin={"timeout_seconds": SECRET}), "gremlin.timeout_seconds"),
    ],
)
def test_a_secret_in_the_wrong_key_is_not_shown(settings: dict[str, Any], key: str) -> None:
    error = config_error(settings)

    assert error.key.startswith(key)
    assert SECRET not in error.message


_TYPES = {"string": str, "array": list, "object": dict, "integer": int, "number": int, "boolean": bool}


def _accepted(schema: Mapping[str, Any]) -> set[type]:
    """Return the types of the values that a key accepts."""
    options = [schema, *schema.get("anyOf", ()), *schema.get("oneOf", ())]
    found: set[type] = set()
    for each in options:
        kinds = each.get("type", ())
        found |= {_TYPES[kind] for kind in ([kinds] if isinstance(kinds, str) else kinds) if kind in _TYPES}
        found |= set(map(type, each.get("enum", ())))
    return found


@pytest.mark.parametrize("value", [SECRET, [SECRET], {"x": SECRET}, [{"x": SECRET}], 20266202])
def test_values_of_the_wrong_type_are_not_shown(value: Any) -> None:
    repeated: dict[str, str] = {}
    refused = 0
    for key in CONFIGURATION.settable:
        for length in range(1, len(key.path) + 1):
            is_group = length < len(key.path)
            if not is_group and type(value) in _accepted(key.schema):
                continue
            settings: dict[str, Any] = {"dag_name": "d", "environment": "dev", "spline": {"export": "x"}}
            here = settings
            for name in key.path[: length - 1]:
                here[name] = dict(here.get(name) or {})
                here = here[name]
            here[key.path[length - 1]] = value
            try:
                CONFIGURATION.parse(settings)
            except ConfigError as error:
                refused += 1
                if str(value) in error.message or SECRET in error.message:
                    repeated[".".join(key.path[:length])] = error.message

    assert refused > 50
    assert repeated == {}


@pytest.mark.parametrize(
    "value",
    [
        f"*{SECRET}*",
        f"&{SECRET} x\n    b: &{SECRET} x",
        f"!{SECRET}",
        f"[{SECRET}",
        f"'{SECRET}",
        f'"{SECRET}\\q"',
    ],
)
def test_a_secret_that_makes_the_file_invalid_is_not_shown(tmp_path: Path, value: str) -> None:
    file = written(tmp_path, f"dag_name: d\nspline:\n  arango:\n    password: {value}\n")

    with pytest.raises(ConfigError) as raised:
        CONFIGURATION.load(file, environ={})

    assert SECRET not in raised.value.message


def test_addresses_with_passwords_are_not_shown(tmp_path: Path) -> None:
    found = CONFIGURATION.load(
        written(tmp_path, SETTINGS), environ={}, flags={"gremlin.endpoint": f"wss://u:{SECRET}@h/gremlin"}
    )

    assert found.gremlin.endpoint == f"wss://u:{SECRET}@h/gremlin"
    assert SECRET not in repr(found)
    assert SECRET not in str(found)


def test_applications_are_selected_by_glob_on_either_name() -> None:
    chosen = Spline(export="x", applications=("tickit_*", "other"))

    assert chosen.wants("tickit_load", "nativespark-tickit_load-jr_1")
    assert chosen.wants("job", "tickit_x")
    assert not chosen.wants("Tickit_load", "another")
    assert Spline(export="x").wants("any", "any")


def test_the_schema_describes_every_key() -> None:
    def nodes(schema: Any) -> list[dict[str, Any]]:
        if not isinstance(schema, dict):
            return []
        here = [schema] if "type" in schema or "enum" in schema else []
        return here + [node for child in schema.get("properties", {}).values() for node in nodes(child)]

    undescribed = [json.dumps(node) for node in nodes(CONFIGURATION.schema)[1:] if "description" not in node]

    assert undescribed == []


@pytest.mark.parametrize(
    ("written_as", "runs"),
    [
        ("latest", Runs("latest")),
        ("all", Runs("all")),
        ("{since: 2026-11-01}", Runs("since", 1_793_491_200_000)),
        ("run application_1700000000000_0001", Runs("run", run="application_1700000000000_0001")),
        ("{run: jr_0123abcd}", Runs("run", run="jr_0123abcd")),
        ('{since: "2026-11-01"}', Runs("since", 1_793_491_200_000)),
        ("{since: 2026-11-01T06:30:00}", Runs("since", 1_793_514_600_000)),
        ("since 2026-11-01T06:30:00Z", Runs("since", 1_793_514_600_000)),
    ],
)
def test_runs_are_a_keyword_or_a_time_in_utc_by_default(tmp_path: Path, written_as: str, runs: Runs) -> None:
    text = f"dag_name: d\nenvironment: dev\nspline:\n  export: x\n  runs: {written_as}\n"

    found = CONFIGURATION.load(written(tmp_path, text), environ={}).sources["spline"]

    assert found is not None
    assert found.runs == runs


@pytest.mark.parametrize(
    ("value", "hours"), [(2, 48), (0.5, 12), ("30d", 720), ("12h", 12), ("1.5 d", 36), ("7", 168)]
)
def test_the_lookback_is_in_days_or_hours(value: float | str, hours: float) -> None:
    found = CONFIGURATION.parse(changed(spline={"export": "x", "lookback": value})).sources["spline"]

    assert found is not None
    assert found.lookback == timedelta(hours=hours)


@pytest.mark.parametrize(
    ("settings", "key", "problem"),
    [
        (
            {"stop_at": ["AGREGATION"]},
            "propagation.pii.stop_at[0]",
            "did you mean AGGREGATION?",
        ),
        ({"stop_at": "FILTER"}, "propagation.pii.stop_at", "must be a list"),
        ({"stop_at": []}, "propagation.pii.stop_at", "is empty; example: "),
        ({"stop_at_function": ["md5"]}, "propagation.pii.stop_at_function", "mean stop_at_functions"),
        ({"stop_at_functions": [""]}, "propagation.pii.stop_at_functions[0]", "is empty"),
        ({"clear": [{"column": "*.t#m"}]}, "propagation.pii.clear[0].reason", "example: a domain is no"),
        ({"clear": [{"column": "*.t#m", "reason": " "}]}, "propagation.pii.clear[0].reason", "is empty"),
        (
            {"clear": [{"column": "*.t", "reason": "r"}]},
            "propagation.pii.clear[0].column",
            "expected dataset#column; example: *.orders#email_domain",
        ),
        ({"clear": [{"column": "#m", "reason": "r"}]}, "propagation.pii.clear[0].column", "dataset#column"),
    ],
)
def test_errors_of_propagation_have_key_and_example(settings: dict[str, Any], key: str, problem: str) -> None:
    error = config_error(changed(propagation={"pii": settings}))
    assert error.key == key
    assert problem in error.problem


def test_all_errors_of_propagation_are_reported() -> None:
    entries = [{"column": "a", "reason": "r"}, {"column": "a#b", "reason": " "}]
    error = config_error(changed(propagation={"pii": {"clear": entries}, "x": {"clear": entries[:1]}}))
    assert [each.key for each in error.findings] == [
        "propagation.pii.clear[0].column",
        "propagation.pii.clear[1].reason",
        "propagation.x.clear[0].column",
    ]


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("history: s3://lake/history", History("s3://lake/history")),
        ("history: /data/history", History("/data/history")),
        ("history: {location: s3://lake/history, keep: 400d}", History("s3://lake/history", "400d")),
        ("history: {keep: 2w}", History(keep="2w")),
        ("history: none", History("none")),
        ("history: false", History("none")),
    ],
)
def test_the_history_is_a_location_or_a_mapping(tmp_path: Path, line: str, expected: History) -> None:
    file = tmp_path / "lineage_merge.yml"
    file.write_text(f"dag_name: d\nenvironment: dev\nspline: {{export: x}}\n{line}\n")
    assert CONFIGURATION.load(file, environ={}).history == expected


def test_a_relative_history_is_beside_the_file(tmp_path: Path) -> None:
    file = tmp_path / "lineage_merge.yml"
    file.write_text("dag_name: d\nenvironment: dev\nspline: {export: x}\nhistory: history\n")
    found = CONFIGURATION.load(file, environ={}).history
    assert found.location == str(tmp_path / "history")
    assert [History(keep=each).keep_days for each in ("", "400d", "2w", "1y")] == [None, 400, 14, 365]
