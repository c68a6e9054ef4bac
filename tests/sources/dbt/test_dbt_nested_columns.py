"""Columns of a project with dots in their names: fields of structures."""

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import pytest

from lineage_merge.merge import join
from lineage_merge.merge.dataset_resolver import from_config
from lineage_merge.model.elements import Assertion, Authority, Column, Element, FeedsColumn, dot_path
from lineage_merge.orchestration.configuration import CONFIGURATION
from lineage_merge.sources.dbt.reader import elements
from lineage_merge.sources.dbt.settings import DbtProject

NAMESPACE = "bigquery"
CUSTOMERS: dict[str, dict[str, Any]] = {
    "customer_id": {"name": "customer_id"},
    "address": {"name": "address"},
    "address.city": {"name": "address.city", "description": "Where it is", "tags": ["pii"]},
    "address.zip": {"name": "address.zip", "data_type": "string"},
}
CATALOG = (
    ("address", "STRUCT<city STRING, zip STRING>", ""),
    ("address.city", "STRING", ""),
    ("address.zip", "STRING", "postal code"),
    ("customer_id", "INT64", ""),
)


def project(
    folder: Path,
    sql: str,
    columns: Mapping[str, Any] = CUSTOMERS,
    catalog: Iterable[tuple[str, str, str]] = CATALOG,
    adapter: str = "bigquery",
    tested: str = "address.city",
) -> list[Element]:
    """The elements of a project with the source `customers`, the model `m`, and a test of a column."""
    entry = {"database": "db", "schema": "raw", "package_name": "p"}
    source, model, test = "source.p.raw.customers", "model.p.m", "test.p.t"
    manifest = {
        "metadata": {
            "dbt_schema_version": "https://schemas.getdbt.com/dbt/manifest/v12.json",
            "adapter_type": adapter,
            "project_name": "p",
            "generated_at": "2026-01-01T00:00:00Z",
        },
        "sources": {
            source: {
                **entry,
                "unique_id": source,
                "resource_type": "source",
                "name": "customers",
                "identifier": "customers",
                "relation_name": "db.raw.customers",
                "columns": columns,
            }
        },
        "nodes": {
            model: {
                **entry,
                "unique_id": model,
                "resource_type": "model",
                "name": "m",
                "alias": "m",
                "relation_name": "db.raw.m",
                "language": "sql",
                "compiled_code": sql,
                "config": {"materialized": "table"},
                "depends_on": {"nodes": [source]},
            },
            test: {
                **entry,
                "unique_id": test,
                "resource_type": "test",
                "name": "t",
                "column_name": tested,
                "attached_node": source,
                "depends_on": {"nodes": [source]},
                "test_metadata": {"name": "not_null", "kwargs": {"column_name": tested}},
                "config": {},
            },
        },
    }
    listed = {
        name: {"name": name, "type": kind, "index": index, "comment": comment or None}
        for index, (name, kind, comment) in enumerate(catalog, 1)
    }
    known = {"type": "TABLE", "schema": "raw", "name": "customers"}
    table = {"metadata": known, "columns": listed, "stats": {}}
    written = {
        "metadata": {"dbt_schema_version": "https://schemas.getdbt.com/dbt/catalog/v1.json"},
        "nodes": {},
        "sources": {source: {**table, "unique_id": source}} if listed else {},
    }
    files = [folder / "manifest.json", folder / "catalog.json"]
    for file, document in zip(files, (manifest, written), strict=True):
        file.write_text(json.dumps(document))
    return list(elements(DbtProject(str(files[0]), NAMESPACE, str(files[1]))))


def columns_of(found: Iterable[Element]) -> dict[str, dict[str, Any]]:
    """Properties and tags of the columns of the source, fields as ``address > city``."""
    columns: dict[str, dict[str, Any]] = {}
    for each in found:
        if isinstance(each, Column) and each.ref.name == "db.raw.customers":
            known = columns.setdefault(each.name.replace("\x1f", " > "), {})
            known |= each.properties
            known |= {name: list(values) for name, values in each.sets.items() if values}
    return columns


def flows(found: Iterable[Element]) -> set[str]:
    return {
        f"{dot_path(each.source_column)} > {dot_path(each.target_column)} {','.join(each.transformations)}"
        for each in found
        if isinstance(each, FeedsColumn)
    }


def checked(found: Iterable[Element]) -> list[str]:
    return [each.column.replace("\x1f", " > ") for each in found if isinstance(each, Assertion)]


def test_descriptions_tags_and_tests_of_a_nested_column_go_to_the_field(tmp_path: Path) -> None:
    found = project(tmp_path, "select customer_id, address.city from db.raw.customers")

    assert columns_of(found) == {
        "address": {"data_type": "STRUCT<city STRING, zip STRING>", "position": 0},
        "customer_id": {"data_type": "INT64", "position": 1},
        "address > city": {"data_type": "STRING", "description": "Where it is", "tags": ["pii"]},
        "address > zip": {"data_type": "STRING", "description": "postal code"},
    }
    assert checked(found) == ["address > city"]
    assert flows(found) == {"customer_id > customer_id IDENTITY", "address.city > city IDENTITY"}


def test_all_fields_and_columns_follow_from_the_catalog(tmp_path: Path) -> None:
    found = project(tmp_path, "select * except (address), address.* from db.raw.customers")

    assert flows(found) == {
        "customer_id > customer_id IDENTITY",
        "address.city > city IDENTITY",
        "address.zip > zip IDENTITY",
    }


def test_a_star_of_a_table_has_no_fields(tmp_path: Path) -> None:
    found = project(tmp_path, "select * from db.raw.customers")

    assert flows(found) == {"customer_id > customer_id IDENTITY", "address > address IDENTITY"}


@pytest.mark.parametrize(
    ("columns", "catalog", "name"),
    [
        (CUSTOMERS, [("address", "struct<city:string>", "")], "address > city"),
        ({"address.city": CUSTOMERS["address.city"]}, [], "address > city"),
        # The warehouse has a column of this name.
        (CUSTOMERS, [("address.city", "string", "")], "address.city"),
        ({"address.city": {**CUSTOMERS["address.city"], "quote": True}}, [], "address.city"),
    ],
)
def test_what_a_name_with_a_dot_is_on_other_platforms(
    tmp_path: Path, columns: dict[str, Any], catalog: list[tuple[str, str, str]], name: str
) -> None:
    found = project(tmp_path, "select 1 as one", columns, catalog, "spark")

    described = {column for column, known in columns_of(found).items() if "tags" in known}
    assert described == {name}
    assert checked(found) == [name]


def test_a_relation_that_a_model_builds_has_known_fields(tmp_path: Path) -> None:
    sql = (
        "with b as (select struct(customer_id as id, address.city) as s from db.raw.customers)"
        " select s, s.* from b"
    )

    assert flows(project(tmp_path, sql)) == {
        "customer_id > s.id IDENTITY",
        "address.city > s.city IDENTITY",
        "customer_id > id IDENTITY",
        "address.city > city IDENTITY",
    }


def test_a_row_of_a_group_has_the_columns_of_its_table(tmp_path: Path) -> None:
    sql = (
        "select u.* from (select array_agg(original order by address.zip limit 1)[offset(0)] u"
        " from db.raw.customers original group by customer_id)"
    )

    assert flows(project(tmp_path, sql)) == {
        "customer_id > customer_id AGGREGATION",
        "address > address AGGREGATION",
        "address.zip > customer_id WINDOW",
        "address.zip > address WINDOW",
    }


def test_a_nested_column_is_the_field_that_another_job_wrote(tmp_path: Path) -> None:
    entry = {"manifest": "m", "namespace": "n"}
    config = CONFIGURATION.parse({"dag_name": "d", "environment": "dev", "dbt": [entry]})
    found = project(tmp_path, "select address.city from db.raw.customers")
    ref = next(each.ref for each in found if isinstance(each, Column) and each.ref.name == "db.raw.customers")
    written = Column(ref, "Address\x1fCity", Authority.BUILDER, {"data_type": "string"})

    graph = join.merge_locally(from_config(config).records([*found, written]), "dev", "d")

    fields = [row for row in graph.nodes if row["id"].endswith("|address|city")]
    assert [(row["qualified_name"], row["data_type"], row["tags"]) for row in fields] == [
        ("Address.City", "string", ["pii"])
    ]
