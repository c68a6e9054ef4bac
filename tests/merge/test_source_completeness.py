"""Completeness of sources, by what was read and what was rejected."""

import json
from dataclasses import replace
from typing import Any

import pytest

from lineage_merge.merge.report import Report
from lineage_merge.merge.source_completeness import NOTHING, SourceCompleteness, assess
from lineage_merge.model.elements import JobKey
from lineage_merge.orchestration.configuration import CONFIGURATION

REDSHIFT = "redshift://warehouse.eu-west-1:5439"
DBT = {"manifest": "target/manifest.json", "namespace": REDSHIFT}
SQL = {"path": "etl/sql/", "dialect": "redshift", "namespace": REDSHIFT}
OTHERS = {
    "quicksight": [{"definitions": "dashboards/"}],
    "superset": [{"export": "exports/"}],
    "declared": ["partners.yml"],
}
HIVE = {"log": "etl/sql-server.log"}


def completeness(*rejected: str, **sources: Any) -> SourceCompleteness:
    config = CONFIGURATION.parse({"environment": "dev", "dag_name": "d", **sources})
    return assess(config, Report({}, {}, {}, (), (), by_source={key: {"rejected": 1} for key in rejected}))


def test_sources_read_without_problems_are_complete() -> None:
    assert completeness(dbt=[DBT], hive=HIVE) == SourceCompleteness(
        runs=True,
        projects={"dbt": True, "sql": False, "quicksight": False, "superset": False, "declared": False},
        retire_after=3,
        job_types=("hive",),
    )


@pytest.mark.parametrize("broken", ["dbt", "sql", *OTHERS])
def test_a_rejected_document_makes_only_the_projects_of_its_source_incomplete(
    broken: str,
) -> None:
    found = completeness(broken, dbt=[DBT], sql=[SQL], hive=HIVE, **OTHERS)
    assert found.projects == {kind: kind != broken for kind in ("dbt", "sql", *OTHERS)}
    assert found.runs


@pytest.mark.parametrize("broken", ["hive", "openlineage"])
def test_a_rejected_document_of_a_source_of_runs_makes_runs_incomplete(broken: str) -> None:
    found = completeness(broken, dbt=[DBT], sql=[SQL], hive=HIVE, openlineage={"events": "events.json"})
    assert found.projects == {
        "dbt": True,
        "sql": True,
        "quicksight": False,
        "superset": False,
        "declared": False,
    }
    assert not found.runs


def test_a_rejected_catalog_entry_changes_nothing() -> None:
    found = completeness("glue", dbt=[DBT], hive=HIVE, glue=[{"region": "eu-west-1"}])
    assert found == completeness(dbt=[DBT], hive=HIVE)


def test_retire_after_zero_of_one_source_applies_to_all() -> None:
    never = completeness(hive={**HIVE, "retire_after": 0}, openlineage={"events": "events.json"})
    assert never.retire_after == 0


def test_completeness_survives_json_and_missing_keys_mean_not_read() -> None:
    stored = completeness(dbt=[{**DBT, "project": "shop"}], hive=HIVE)
    assert stored.stated_projects == {"dbt shop"}
    stored = replace(stored, unread_columns=frozenset({JobKey("dbt", "model.shop.a")}))
    assert SourceCompleteness.from_json(json.loads(json.dumps(stored.as_json()))) == stored
    assert SourceCompleteness.from_json({}) == NOTHING
