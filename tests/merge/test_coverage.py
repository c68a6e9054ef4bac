"""What a merge may find gone, by what it read and what was broken."""

from typing import Any

import pytest

from lineage_merge.merge.report import Report
from lineage_merge.merge.source_completeness import NOTHING, SourceCompleteness, assess
from lineage_merge.orchestration.configuration import CONFIGURATION

REDSHIFT = "redshift://warehouse.eu-west-1:5439"
DBT = {"manifest": "target/manifest.json", "namespace": REDSHIFT}
SQL = {"path": "etl/sql/", "dialect": "redshift", "namespace": REDSHIFT}
HIVE = {"log": "etl/sql-server.log"}


def coverage(*rejected: str, **sources: Any) -> SourceCompleteness:
    config = CONFIGURATION.parse({"environment": "dev", "dag_name": "d", **sources})
    return assess(config, Report({}, {}, {}, (), (), by_source={key: {"rejected": 1} for key in rejected}))


def test_what_was_read_without_a_problem_may_be_found_gone() -> None:
    assert coverage(dbt=[DBT], hive=HIVE) == SourceCompleteness(
        runs=True, projects={"dbt": True, "sql": False}, retire_after=3, job_types=("hive",)
    )


@pytest.mark.parametrize("broken", ["dbt", "sql"])
def test_a_broken_document_of_a_project_keeps_the_projects_of_its_source_and_nothing_else(
    broken: str,
) -> None:
    found = coverage(broken, dbt=[DBT], sql=[SQL], hive=HIVE)
    assert found.projects == {"dbt": broken == "sql", "sql": broken == "dbt"}
    assert found.runs


@pytest.mark.parametrize("broken", ["hive", "openlineage"])
def test_a_broken_document_of_a_source_of_runs_keeps_every_target_of_a_run(broken: str) -> None:
    found = coverage(broken, dbt=[DBT], sql=[SQL], hive=HIVE, openlineage={"events": "events.json"})
    assert found.projects == {"dbt": True, "sql": True}
    assert not found.runs


def test_a_broken_entry_of_a_catalog_keeps_nothing() -> None:
    found = coverage("glue", dbt=[DBT], hive=HIVE, glue=[{"region": "eu-west-1"}])
    assert found == coverage(dbt=[DBT], hive=HIVE)


def test_a_source_whose_targets_never_go_keeps_those_of_the_others() -> None:
    never = coverage(hive={**HIVE, "retire_after": 0}, openlineage={"events": "events.json"})
    assert never.retire_after == 0


def test_coverage_outlives_its_file_and_what_a_file_does_not_tell_was_not_looked_at() -> None:
    told = coverage(dbt=[DBT], hive=HIVE)
    assert SourceCompleteness.from_json(told.as_json()) == told
    assert SourceCompleteness.from_json({}) == NOTHING
