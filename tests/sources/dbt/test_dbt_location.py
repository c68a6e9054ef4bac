"""dbt tables stored in files are the paths of these files."""

import json
from typing import Any

import pytest

from lineage_merge.model.elements import Alias, Dataset, Element, Reference
from lineage_merge.sources.dbt.manifest import read_manifest
from lineage_merge.sources.dbt.translator import translate

HOST = "awsathena://athena.eu-west-1.amazonaws.com"


def elements(adapter: str, entry: dict[str, Any], kind: str = "model") -> list[Element]:
    unique_id = f"{kind}.p.sales"
    whole = {
        "unique_id": unique_id,
        "resource_type": kind,
        "name": "sales",
        "database": "lake",
        "schema": "raw",
        "alias": "sales",
        "config": {"materialized": "table"},
        **entry,
    }
    document = {
        "metadata": {
            "dbt_schema_version": "https://schemas.getdbt.com/dbt/manifest/v12.json",
            "generated_at": "2026-01-01T00:00:00Z",
            "adapter_type": adapter,
        },
        "nodes": {},
        "sources": {},
        f"{kind}s".replace("models", "nodes"): {unique_id: whole},
    }
    manifest, problems = read_manifest("manifest.json", json.dumps(document))
    assert problems == []
    return list(translate(manifest, HOST, "manifest.json"))


def aliases(found: list[Element]) -> list[Alias[Reference]]:
    return [element for element in found if isinstance(element, Alias)]


def test_a_source_with_an_external_location_is_that_path_and_keeps_the_name_of_the_table() -> None:
    found = elements("redshift", {"external": {"location": "s3://tickit-raw/sales/"}}, "source")
    path = Reference("", "s3://tickit-raw/sales/")
    assert aliases(found) == [Alias(Reference(HOST, "lake.raw.sales"), path, "dbt-location")]
    (dataset,) = [each for each in found if isinstance(each, Dataset) and each.ref == path]
    assert (dataset.label, dataset.properties) == (
        "table",
        {"name": "sales", "qualified_name": "lake.raw.sales"},
    )


@pytest.mark.parametrize(
    ("adapter", "config", "path"),
    [
        ("athena", {"external_location": "s3://lake/mart/sales/"}, "s3://lake/mart/sales/"),
        ("athena", {"s3_data_dir": "s3://lake/", "s3_data_naming": "schema_table"}, "s3://lake/raw/sales"),
        ("athena", {"s3_data_dir": "s3://lake", "s3_data_naming": "table_unique"}, "s3://lake/sales"),
        ("spark", {"location_root": "s3a://lake/mart/"}, "s3a://lake/mart/sales"),
        ("databricks", {"location_root": "dbfs:/mnt/mart"}, "dbfs:/mnt/mart/sales"),
        (
            "databricks",
            {"location_root": "s3://lake", "include_full_name_in_path": True},
            "s3://lake/lake/raw/sales",
        ),
        ("glue", {"custom_location": "s3://lake/mart/sales"}, "s3://lake/mart/sales"),
        ("trino", {"properties": {"location": "'s3://lake/mart/sales'"}}, "s3://lake/mart/sales"),
        ("duckdb", {"materialized": "external", "location": "s3://lake/s.parquet"}, "s3://lake/s.parquet"),
    ],
)
def test_a_model_with_a_location_is_that_path(adapter: str, config: dict[str, Any], path: str) -> None:
    found = elements(adapter, {"config": {"materialized": "incremental", **config}})
    assert [alias.of for alias in aliases(found)] == [Reference("", path)]


@pytest.mark.parametrize(
    ("adapter", "config"),
    [
        ("athena", {"s3_data_dir": "s3://lake"}),  # the profile says how the directory is called
        ("athena", {"s3_data_dir": "s3://lake", "s3_data_naming": "unique"}),
        ("spark", {"location_root": "s3://lake", "materialized": "view"}),
        ("redshift", {"location_root": "s3://lake"}),
        ("duckdb", {"materialized": "external", "location": "target/sales.parquet"}),
        ("trino", {"properties": "location"}),
        ("spark", {"location_root": None}),
    ],
)
def test_a_location_that_is_not_in_the_manifest_is_not_guessed(adapter: str, config: dict[str, Any]) -> None:
    assert aliases(elements(adapter, {"config": {"materialized": "table", **config}})) == []


@pytest.mark.parametrize("external", [None, True, {"location": None}, {"location": "@stage/sales"}, {}])
def test_a_source_whose_files_have_no_uri_stays_a_table(external: object) -> None:
    assert aliases(elements("snowflake", {"external": external}, "source")) == []


@pytest.mark.parametrize(
    ("relation_name", "path"),
    [
        # As dbt-duckdb 1.11 renders `meta.external_location`.
        ("'/srv/lake/ext/sales.csv'", "/srv/lake/ext/sales.csv"),
        ("'s3://lake/raw/sales/*.parquet'", "s3://lake/raw/sales/*.parquet"),
        ("'https://files/it''s.csv'", "https://files/it's.csv"),
        ("read_csv('/srv/lake/sales.csv')", "/srv/lake/sales.csv"),
        ("read_parquet(['s3://lake/sales'], union_by_name=true)", "s3://lake/sales"),
        ("delta_scan('s3://lake/sales')", "s3://lake/sales"),
    ],
)
def test_a_source_of_duckdb_with_an_external_location_is_that_path(relation_name: str, path: str) -> None:
    found = elements("duckdb", {"relation_name": relation_name}, "source")
    assert aliases(found) == [Alias(Reference(HOST, "lake.raw.sales"), Reference("", path), "dbt-location")]


@pytest.mark.parametrize(
    "relation_name",
    [
        '"lake"."raw"."sales"',
        "'ext/sales.csv'",  # relative to where dbt ran
        "read_parquet(['s3://lake/a', 's3://lake/b'])",
        "postgres_scan('host=db', 'public', 'sales')",
        "sqlite_scan('/srv/shop.db', 'sales')",
    ],
)
def test_a_source_of_duckdb_that_is_no_single_known_path_has_no_location(relation_name: str) -> None:
    assert aliases(elements("duckdb", {"relation_name": relation_name}, "source")) == []


def test_an_external_model_of_duckdb_on_the_local_file_system_is_its_file() -> None:
    config = {"materialized": "external", "location": "/srv/out/mart.parquet"}
    found = elements("duckdb", {"config": config, "relation_name": '"lake"."raw"."sales"'})
    assert [alias.of for alias in aliases(found)] == [Reference("", "/srv/out/mart.parquet")]


def test_a_path_of_another_platform_without_a_scheme_is_not_taken_for_the_local_file_system() -> None:
    assert aliases(elements("databricks", {"config": {"location_root": "/mnt/mart"}})) == []
