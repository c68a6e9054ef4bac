"""Translation of a Glue table, as crawlers, Athena, Spark and Iceberg write it."""

import json
from typing import Any

import pytest

from lineage_merge.model.elements import (
    Alias,
    Authority,
    Column,
    Dataset,
    Element,
    Problem,
    Reference,
)
from lineage_merge.sources.glue.client import parse
from lineage_merge.sources.glue.settings import GlueCatalog
from lineage_merge.sources.glue.translator import translate

CATALOG = GlueCatalog("us-east-1", "111122223333")
ARN = "arn:aws:glue:us-east-1:111122223333"
OWN = Reference(ARN, "table/tickit/sales")
ATHENA = Reference("awsathena://athena.us-east-1.amazonaws.com", "awsdatacatalog.tickit.sales")
SPARK = Reference("spark_catalog", "tickit.sales")
PATH = "s3://lake/tickit/sales/"
PARQUET = "org.apache.hadoop.hive.ql.io.parquet.serde.ParquetHiveSerDe"


def table(location: str = PATH, **changed: Any) -> dict[str, Any]:
    """A table as a crawler leaves it; `StorageDescriptor` in `changed` adds to its own."""
    storage = {
        "Columns": [
            {"Name": "id", "Type": "bigint"},
            {"Name": "pricepaid", "Type": "decimal(8,2)", "Comment": "in dollars"},
        ],
        "Location": location,
        "SerdeInfo": {"SerializationLibrary": PARQUET, "Parameters": {}},
        **changed.pop("StorageDescriptor", {}),
    }
    return {
        "Name": "sales",
        "DatabaseName": "tickit",
        "CatalogId": "111122223333",
        "TableType": "EXTERNAL_TABLE",
        "PartitionKeys": [{"Name": "saledate", "Type": "date"}],
        "Parameters": {"classification": "parquet"},
        "StorageDescriptor": storage,
        **changed,
    }


def said(description: dict[str, Any], catalog: GlueCatalog = CATALOG) -> list[Element]:
    return list(translate(description, "tickit", catalog))


def dataset(found: list[Element]) -> Dataset[Reference]:
    [only] = [each for each in found if isinstance(each, Dataset)]
    return only


def columns(found: list[Element]) -> list[tuple[str, Any, Any]]:
    return [
        (each.name, each.properties["position"], each.properties.get("data_type"))
        for each in found
        if isinstance(each, Column)
    ]


def problems(found: list[Element]) -> list[Problem]:
    return [each for each in found if isinstance(each, Problem)]


def aliases(found: list[Element]) -> set[tuple[Reference, Reference]]:
    return {(each.ref, each.of) for each in found if isinstance(each, Alias)}


def test_a_table_is_its_path_under_all_its_names() -> None:
    found = said(table(Description="one row a sale"))

    path = Reference("", PATH)
    assert found == [
        Dataset(
            path,
            Authority.CATALOG,
            "table",
            {
                "name": "sales",
                "qualified_name": "tickit.sales",
                "description": "one row a sale",
                "format": "parquet",
            },
        ),
        Column(path, "id", Authority.CATALOG, {"position": 0, "data_type": "bigint"}),
        Column(
            path,
            "pricepaid",
            Authority.CATALOG,
            {"position": 1, "data_type": "decimal(8,2)", "description": "in dollars"},
        ),
        Column(path, "saledate", Authority.CATALOG, {"position": 2, "data_type": "date"}),
        Alias(OWN, path, "glue-catalog"),
        Alias(ATHENA, path, "glue-catalog"),
        Alias(SPARK, path, "glue-catalog"),
    ]


def test_the_catalogs_of_spark_are_those_of_the_configuration() -> None:
    none = GlueCatalog("cn-north-1", spark_catalogs=())
    path = Reference("", PATH)

    assert aliases(said(table(), none)) == {
        (Reference("arn:aws-cn:glue:cn-north-1:111122223333", "table/tickit/sales"), path),
        (Reference("awsathena://athena.cn-north-1.amazonaws.com.cn", "awsdatacatalog.tickit.sales"), path),
    }
    two = GlueCatalog("us-east-1", spark_catalogs=("spark_catalog", "glue_catalog"))
    assert aliases(said(table(), two)) >= {
        (SPARK, path),
        (Reference("glue_catalog", "tickit.sales"), path),
    }


def test_a_view_has_no_path_and_keeps_its_glue_name() -> None:
    view = table("", TableType="VIRTUAL_VIEW", ViewOriginalText="/* Presto View: e30= */", Parameters={})

    found = said(view)

    assert (dataset(found).ref, dataset(found).label) == (OWN, "view")
    assert "format" not in dataset(found).properties
    assert aliases(found) == {(ATHENA, OWN), (SPARK, OWN)}
    assert problems(found) == []


@pytest.mark.parametrize(
    ("location", "message"),
    [
        ("", "no location"),
        ("dev.public.sales", "location dev.public.sales is not a path"),
        ("arn:aws:dynamodb:us-east-1:111122223333:table/sales", "is not a path"),
        ("jdbc:redshift://h:5439/dev?password=hunter2:public.sales", "is not a path"),
        # Athena's own place for tables: without the id it would be that of all of them.
        (
            "s3://results/tables/5c2e4b1a-6f39-4d0e-8d3c-0a1b2c3d4e5f/",
            "generated folder of s3://results|tables",
        ),
    ],
)
def test_a_table_without_a_path_of_its_own_is_reported_and_keeps_its_glue_name(
    location: str, message: str
) -> None:
    found = said(table(location))

    assert dataset(found).ref == OWN
    assert aliases(found) == {(ATHENA, OWN), (SPARK, OWN)}
    [problem] = problems(found)
    assert (problem.kind, problem.document) == ("not-joined", f"{ARN}|table/tickit/sales")
    assert message in problem.message
    assert "hunter2" not in problem.message


def test_a_generated_folder_below_the_tables_own_is_the_tables() -> None:
    location = "s3://lake/tickit/sales/5c2e4b1a-6f39-4d0e-8d3c-0a1b2c3d4e5f"

    found = said(table(location))

    assert dataset(found).ref == Reference("", location)
    assert problems(found) == []


def test_a_link_to_another_catalogs_table_is_reported() -> None:
    target = {"CatalogId": "444455556666", "DatabaseName": "shared", "Name": "sales"}

    found = said({"Name": "sales", "DatabaseName": "tickit", "TargetTable": target})

    assert dataset(found).ref == Reference("arn:aws:glue:us-east-1:111122223333", "table/tickit/sales")
    assert "link" in problems(found)[0].message


SCHEMA = {
    "type": "struct",
    "fields": [
        {"name": "Id", "type": "long", "nullable": True, "metadata": {}},
        {"name": "qty", "type": "integer", "nullable": True, "metadata": {"comment": "pieces"}},
        {"name": "price", "type": "decimal(8,2)", "nullable": True, "metadata": {}},
        {
            "name": "lines",
            "type": {
                "type": "array",
                "elementType": {
                    "type": "struct",
                    "fields": [
                        {"name": "k", "type": "string"},
                        {"name": "v", "type": {"type": "map", "keyType": "string", "valueType": "short"}},
                    ],
                },
                "containsNull": True,
            },
            "nullable": True,
            "metadata": {},
        },
    ],
}


@pytest.mark.parametrize("parts", [0, 1, 3])
def test_a_table_in_sparks_own_form_has_sparks_path_and_columns(parts: int) -> None:
    text = json.dumps(SCHEMA)
    size = len(text) // parts + 1 if parts else 0
    schema = {f"spark.sql.sources.schema.part.{n}": text[n * size : (n + 1) * size] for n in range(parts)}
    schema |= (
        {"spark.sql.sources.schema.numParts": str(parts)} if parts else {"spark.sql.sources.schema": text}
    )
    description = table(
        "s3://lake/tickit.db/sales-__PLACEHOLDER__",
        Parameters={"spark.sql.sources.provider": "DELTA", **schema},
        PartitionKeys=[],
        StorageDescriptor={
            "Columns": [{"Name": "col", "Type": "array<string>"}],
            "SerdeInfo": {"Parameters": {"path": "s3://lake/raw/sales", "serialization.format": "1"}},
        },
    )

    found = said(description)

    assert dataset(found).ref == Reference("", "s3://lake/raw/sales")
    assert dataset(found).properties["format"] == "delta"
    assert columns(found) == [
        ("Id", 0, "bigint"),
        ("qty", 1, "int"),
        ("price", 2, "decimal(8,2)"),
        ("lines", 3, "array<struct<k:string,v:map<string,smallint>>>"),
    ]


def test_an_iceberg_table_has_its_current_columns_and_the_path_above_its_metadata() -> None:
    def column(name: str, kind: str, current: str) -> dict[str, Any]:
        parameters = {
            "iceberg.field.id": "1",
            "iceberg.field.current": current,
            "iceberg.field.optional": "true",
        }
        return {"Name": name, "Type": kind, "Parameters": parameters}

    metadata = "s3://lake/tickit/sales/metadata/00003-5c2e4b1a-6f39-4d0e-8d3c-0a1b2c3d4e5f.metadata.json"
    description = table(
        "",
        Parameters={"table_type": "ICEBERG", "metadata_location": metadata},
        PartitionKeys=[],
        StorageDescriptor={
            "Columns": [
                column("id", "bigint", "true"),
                column("price", "double", "true"),
                column("old_price", "float", "false"),
            ],
            "SerdeInfo": {},
        },
    )

    found = said(description)

    assert dataset(found).ref == Reference("", metadata)
    assert dataset(found).properties["format"] == "iceberg"
    assert columns(found) == [("id", 0, "bigint"), ("price", 1, "double")]
    assert problems(found) == []


def test_a_schema_that_is_broken_costs_only_sparks_columns() -> None:
    description = table(Parameters={"spark.sql.sources.schema": '{"type": "str'})

    assert [name for name, _, _ in columns(said(description))] == ["id", "pricepaid", "saledate"]


@pytest.mark.parametrize(
    ("parameters", "library", "expected"),
    [
        ({"classification": "json"}, "", "json"),
        ({"classification": "UNKNOWN"}, "org.apache.hadoop.hive.ql.io.orc.OrcSerde", "orc"),
        ({}, "org.apache.hadoop.hive.serde2.OpenCSVSerde", "csv"),
        ({"spark.sql.sources.provider": "hive"}, PARQUET, "parquet"),
        ({"table_type": "EXTERNAL_TABLE"}, "", None),
    ],
)
def test_the_format_is_found_whichever_tool_wrote_the_table(
    parameters: dict[str, str], library: str, expected: str | None
) -> None:
    description = table(
        Parameters=parameters, StorageDescriptor={"SerdeInfo": {"SerializationLibrary": library}}
    )

    assert dataset(said(description)).properties.get("format") == expected


@pytest.mark.parametrize(
    ("fields", "owners"),
    [
        ({"Owner": "sales@example.com"}, ("sales@example.com",)),
        ({"Owner": "owner"}, ()),  # as crawlers write it
        ({"Owner": "hadoop", "Parameters": {"owner": "team-sales"}}, ("team-sales",)),
        ({"Owner": "a", "Parameters": {"owner": "b"}}, ("a", "b")),
        ({"Owner": None, "Parameters": None}, ()),
    ],
)
def test_a_table_has_its_owner(fields: dict[str, Any], owners: tuple[str, ...]) -> None:
    assert dataset(said(table(**fields))).sets.get("owners", ()) == owners


def test_parameters_that_change_with_every_run_are_not_stored() -> None:
    parameters = {"compressionType": "snappy", "recordCount": "7", "transient_lastDdlTime": "1795394957"}
    assert dataset(said(table(Parameters=parameters))).properties["meta"] == '{"compressionType": "snappy"}'


def test_tags_of_lake_formation_are_of_the_table_or_of_single_columns() -> None:
    response = {
        "LFTagOnDatabase": [{"TagKey": "domain", "TagValues": ["sales"]}],
        "LFTagsOnTable": [{"TagKey": "gold", "TagValues": ["true"]}],
        "LFTagsOnColumns": [
            {"Name": "id", "LFTags": [{"TagKey": "gold", "TagValues": ["true"]}]},  # inherited
            {"Name": "pricepaid", "LFTags": [{"TagKey": "confidentiality", "TagValues": ["high", "eu"]}]},
        ],
    }
    found = list(translate(table(), "tickit", CATALOG, parse(response)))
    assert dataset(found).sets == {"tags": ("domain:sales", "gold")}
    assert {
        (each.name, tag) for each in found if isinstance(each, Column) for tag in each.sets.get("tags", ())
    } == {
        ("pricepaid", "confidentiality:high"),
        ("pricepaid", "confidentiality:eu"),
    }
