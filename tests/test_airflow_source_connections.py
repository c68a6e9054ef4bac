"""Which sources need an Airflow connection: asked of the configured sources, not of Spline alone."""

from typing import Any

import pytest

from lineage_merge.airflow.connections import connection_need
from lineage_merge.orchestration.configuration import CONFIGURATION
from lineage_merge.sources.registry import SOURCES
from lineage_merge.sources.spline.source import SPLINE

NAMESPACE = "redshift://wh.us-east-1:5439"
OPENLINEAGE = {"openlineage": {"events": "s3://lineage/events/"}}
EVENT_LOGS = {"event_log": {"logs": ["s3://logs/spark-events/"]}}
HIVE = {"hive": {"log": ["s3://logs/hive/"]}}
SQL = {"sql": [{"path": "/srv/sql", "namespace": NAMESPACE, "dialect": "redshift"}]}
DBT = {"dbt": [{"manifest": "s3://dbt/manifest.json", "namespace": NAMESPACE}]}
BY_HOST = {"spline": {"arango": {"hosts": "http://arangodb:8529", "database": "spline"}}}


def needs(settings: dict[str, Any], *, named: bool = False, upstream: bool = False) -> str:
    return connection_need(SPLINE, settings, named=named, has_upstream_jobs=lambda: upstream)


@pytest.mark.parametrize("upstream", [False, True])
@pytest.mark.parametrize(
    "settings",
    [
        {"spline": {"agent": ["s3://lineage/agent/"]}},
        {"spline": {"agent": ["s3://lineage/agent/"], "applications": ["sales_*"]}},
        {"spline": {"kafka": {"topic": "spline", "bootstrap_servers": "k:9092", "landing": "s3://l/k"}}},
        {"spline": {"export": "s3://lineage/export/"}},
        BY_HOST,
        OPENLINEAGE,
        HIVE,
        EVENT_LOGS,
        {**OPENLINEAGE, **DBT},
        {**EVENT_LOGS, **DBT},
    ],
)
def test_sources_that_say_where_they_read_need_no_connection(
    settings: dict[str, Any], upstream: bool
) -> None:
    assert needs(settings, upstream=upstream) == "none"


@pytest.mark.parametrize(
    ("settings", "upstream", "expected"),
    [
        (SQL, False, "none"),
        (DBT, False, "none"),
        ({**SQL, **DBT}, True, "optional"),
        (DBT, True, "optional"),
        ({}, False, "required"),
        ({"glue": {"databases": ["sales"]}}, False, "required"),
        ({"spline": {"applications": ["sales_load"]}}, False, "required"),
        ({"spline": {"labels": {"team": "sales"}}, **OPENLINEAGE}, False, "required"),
    ],
)
def test_spline_without_an_address_takes_the_connection(
    settings: dict[str, Any], upstream: bool, expected: str
) -> None:
    assert needs(settings, upstream=upstream) == expected


def test_a_connection_that_the_group_names_is_required_whatever_else_is_read() -> None:
    assert {needs(settings, named=True) for settings in (OPENLINEAGE, BY_HOST, SQL, {})} == {"required"}


def test_no_other_source_takes_a_connection() -> None:
    for source in SOURCES:
        if source is not SPLINE:
            assert connection_need(source, {}, named=False, has_upstream_jobs=lambda: True) == "none"


@pytest.mark.parametrize("settings", [OPENLINEAGE, EVENT_LOGS, HIVE, SQL, DBT, BY_HOST])
def test_the_settings_of_these_tests_are_valid(settings: dict[str, Any]) -> None:
    CONFIGURATION.parse({"dag_name": "d", "environment": "dev", **settings})
