"""What a merge may find gone, by what it read and what was broken."""

from typing import Any

import pytest

from lineage_merge.config import parse
from lineage_merge.merge.coverage import NOTHING, Coverage, covered
from lineage_merge.merge.outcome import Report
from lineage_merge.model import Problem

REDSHIFT = "redshift://warehouse.eu-west-1:5439"
DBT = {"manifest": "target/manifest.json", "namespace": REDSHIFT}
SQL = {"path": "etl/sql/", "dialect": "redshift", "namespace": REDSHIFT}
HIVE = {"log": "etl/sql-server.log"}


def coverage(broken: str, **sources: Any) -> Coverage:
    problems = (Problem("rejected", broken, "", "broken"),) if broken else ()
    config = parse({"environment": "dev", "dag_name": "d", **sources})
    return covered(config, Report({}, {}, {}, (), problems))


def test_what_was_read_without_a_problem_may_be_found_gone() -> None:
    assert coverage("", dbt=[DBT], hive=HIVE) == Coverage(
        runs=True, projects={"dbt": True, "sql": False}, retire_after=3, job_types=("hive",)
    )


@pytest.mark.parametrize(
    "broken", ["target/manifest.json", "target/manifest.json: model.shop.orders", "etl/sql/a/b.sql"]
)
def test_a_broken_document_of_a_project_keeps_what_is_told_by_project_and_nothing_else(broken: str) -> None:
    found = coverage(broken, dbt=[DBT], sql=[SQL], hive=HIVE)
    assert found.projects == {"dbt": "sql" in broken, "sql": "sql" not in broken}
    assert found.runs


@pytest.mark.parametrize(
    "broken", ["etl/sql-server.log:12", "other/manifest.json", "target/manifest.json.gz"]
)
def test_a_broken_document_elsewhere_keeps_every_target_of_a_run(broken: str) -> None:
    found = coverage(broken, dbt=[DBT], sql=[SQL], hive=HIVE)
    assert found.projects == {"dbt": True, "sql": True}
    assert not found.runs


def test_a_source_whose_targets_never_go_keeps_those_of_the_others() -> None:
    never = coverage("", hive={**HIVE, "retire_after": 0}, openlineage={"events": "events.json"})
    assert never.retire_after == 0


def test_coverage_outlives_its_file_and_what_a_file_does_not_tell_was_not_looked_at() -> None:
    told = coverage("", dbt=[DBT], hive=HIVE)
    assert Coverage.from_json(told.as_json()) == told
    assert Coverage.from_json({}) == NOTHING
