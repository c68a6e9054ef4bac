"""Names in compiled SQL without database or schema: those of dbt's target come first."""

from typing import Any

import pytest

from tests.dbt_column_project import Project, edges

OTHER: dict[str, Any] = {"database": "lake", "schema": "landing", "relation_name": "lake.landing.visits"}


def project(sql: str, *parents: str, adapter: str = "redshift") -> Project:
    """Return a project with the model and the source `visits`, and the model `m`."""
    found = Project(adapter).source("visits", "id at", **OTHER)
    found.model("visits", "select id, at from lake.landing.visits", "source.raw.visits")
    return found.model("m", sql, *parents)


def sources(found: Project, model: str = "m") -> set[str]:
    return {flow.source for flow in found.read()[f"model.p.{model}"].flows}


@pytest.mark.parametrize("written", ["visits", "mart.visits", "db.mart.visits"])
def test_a_partial_name_is_that_of_the_target_if_the_manifest_has_it(written: str) -> None:
    assert sources(project(f"select id from {written} where at > 1")) == {"model.p.visits"}


@pytest.mark.parametrize("written", ["clicks", "landing.clicks"])
def test_a_name_that_only_another_database_has_is_an_undeclared_table_of_the_target(written: str) -> None:
    found = project(f"select id from {written}")
    found.source("clicks", "id", **{**OTHER, "relation_name": "lake.landing.clicks"})
    whole = "db.mart.clicks" if written == "clicks" else "db.landing.clicks"
    assert sources(found) == {f"undeclared {whole}"}


def test_a_name_that_only_another_schema_has_is_meant_if_the_model_refers_to_it() -> None:
    found = project("select id from clicks", "source.raw.clicks")
    found.source("clicks", "id", **{**OTHER, "relation_name": "lake.landing.clicks"})
    assert sources(found) == {"source.p.raw.clicks"}


def test_the_schema_of_the_target_is_that_of_models_without_a_schema_of_their_own() -> None:
    found = project("select id from visits")
    own: dict[str, Any] = {"config": {"materialized": "table", "schema": "finance"}, "schema": "finance"}
    found.model("visits_f", "select 1 as id", alias="visits", relation_name="db.finance.visits", **own)
    found.model("late", "select id from visits", relation_name="db.finance.late", **own)
    assert (sources(found), sources(found, "late")) == ({"model.p.visits"}, {"model.p.visits"})


def test_the_case_of_partial_names_is_that_of_the_platform() -> None:
    found = Project("snowflake").source("visits", "id", relation_name="LAKE.LANDING.VISITS")
    found.model("visits", "select id from LAKE.LANDING.VISITS", relation_name="DB.MART.VISITS")
    found.model("m", "select id from visits", relation_name="DB.MART.M")
    assert edges(found.read()) == {"visits.id -> id IDENTITY"}
    assert sources(found) == {"model.p.visits"}


def test_a_relation_that_is_a_function_or_a_file_has_its_whole_name() -> None:
    found = Project("duckdb").source("visits", "id", relation_name="'s3://lake/visits.parquet'")
    found.model("m", "select id from 's3://lake/visits.parquet'")
    assert sources(found) == {"source.p.raw.visits"}
