"""Tables of Iceberg, Delta and others, as recorded by Spline's plugin for DataSource V2."""

from typing import Any

import pytest

from lineage_merge.model.elements import Alias, Authority, Dataset, Element, Reference
from lineage_merge.sources.spline.database_state import EVERYTHING
from lineage_merge.sources.spline.documents import assemble
from lineage_merge.sources.spline.naming import CatalogTable, catalog_table
from lineage_merge.sources.spline.subqueries import relations
from lineage_merge.sources.spline.translator import translate
from tests.spline_documents import Read, SplineDatabase

PATH = "s3://lake/wh/sales_db/sales"
AT = Reference("", PATH, "load")


def v2(identifier: str, **more: Any) -> dict[str, Any]:
    """`params` of a V2 relation: the table as text, beside the identifier inside its catalog."""
    return {"table": {"identifier": identifier}, "identifier": "sales_db.sales", **more}


@pytest.mark.parametrize(
    ("params", "data_format", "table"),
    [
        (v2("glue_catalog.sales_db.sales"), "iceberg", ("glue_catalog", "sales_db.sales")),
        (v2("spark_catalog.sales_db.sales"), "iceberg", ("spark_catalog", "sales_db.sales")),
        (v2("glue_catalog.`eu-sales`.sales"), "iceberg", ("glue_catalog", "eu-sales.sales")),
        (v2("lake.eu.sales_db.sales"), "iceberg", ("lake", "eu.sales_db.sales")),
        # A catalog without namespaces.
        (v2("rest.sales"), "iceberg", ("rest", "sales")),
        (v2("sales_db.sales"), "delta", ("spark_catalog", "sales_db.sales")),
        (v2("spark_catalog.sales_db.sales"), "delta", ("spark_catalog", "sales_db.sales")),
        # CREATE TABLE AS SELECT: the catalog is unknown.
        (v2("sales_db.sales", ignoreIfExists=False), "iceberg", ("", "sales_db.sales")),
        (v2("sales_db.sales", orCreate=True), "delta", ("", "sales_db.sales")),
        (v2("sales", orCreate=True), "iceberg", None),
        # Tables by path.
        (v2("delta.`s3://lake/wh/sales`"), "delta", None),
        (v2("delta.`s3://lake.eu/wh/sales`"), "delta", None),
        (v2(PATH), "iceberg", None),
        (v2("parquet s3://my.lake/wh/sales"), "parquet", None),
        # What Iceberg keeps about a table, and its versions.
        (v2("glue_catalog.sales_db.sales.snapshots"), "iceberg", None),
        (v2("glue_catalog.sales_db.sales.all_data_files"), "iceberg", None),
        (v2("glue_catalog.sales_db.sales.branch_audit"), "iceberg", None),
        (v2("glue_catalog.sales_db.sales.snapshot_id_10963874102873"), "iceberg", None),
        (v2("glue_catalog.sales_db.history"), "iceberg", ("glue_catalog", "sales_db.history")),
    ],
)
def test_a_table_is_known_from_its_name_in_datasource_v2(
    params: dict[str, Any], data_format: str, table: tuple[str, str] | None
) -> None:
    assert catalog_table(params, data_format) == (CatalogTable(*table) if table else None)


@pytest.mark.parametrize(
    ("location", "table"),
    [
        ("s3://lake/wh/sales_db/sales", ("", "sales_db.sales")),
        ("s3://lake/wh/sales_db.db/sales", ("", "sales_db.sales")),
        # At the top of its catalog.
        ("s3://lake/wh/sales", ("sales_db", "sales")),
    ],
)
def test_the_insert_of_a_create_table_as_select_names_no_catalog(
    location: str, table: tuple[str, str]
) -> None:
    params = {"table": {"identifier": "sales_db.sales"}, "isByName": False}

    assert catalog_table(params, "iceberg", location) == CatalogTable(*table)
    by_name = {**params, "isByName": True}
    assert catalog_table(by_name, "iceberg", location) == CatalogTable("sales_db", "sales")


def elements(spline: SplineDatabase, key: str) -> list[Element]:
    plan, rejections = assemble(key, spline.contents, EVERYTHING)
    assert rejections == []
    return list(translate(plan))


def tables(found: list[Element]) -> set[tuple[Reference, str | None, object]]:
    """(dataset, label, qualified name) of what is said with a qualified name."""
    return {
        (each.ref, each.label, each.properties["qualified_name"])
        for each in found
        if isinstance(each, Dataset) and "qualified_name" in each.properties
    }


def read(params: dict[str, Any], data_format: str, uri: str = PATH) -> list[Element]:
    spline = SplineDatabase()
    key = spline.plan(
        "load", reads=[Read([uri], data_format, name="DataSourceV2Relation")], writes="s3://out/a"
    )
    [operation] = [each for each in spline.contents["operation"] if each["type"] == "Read"]
    operation["params"] = params
    return elements(spline, key)


def write(params: dict[str, Any], command: str, data_format: str = "iceberg") -> list[Element]:
    spline = SplineDatabase()
    key = spline.plan("load", reads=["s3://in/a"], writes=PATH, format=data_format, command=command)
    [operation] = [each for each in spline.contents["operation"] if each["type"] == "Write"]
    operation["params"] = params
    return elements(spline, key)


def test_an_iceberg_table_that_is_read_is_its_path_with_the_tables_name() -> None:
    found = read(v2("glue_catalog.sales_db.sales", options={}), "iceberg")

    assert tables(found) == {(AT, "table", "sales_db.sales")}
    assert Alias(Reference("glue_catalog", "sales_db.sales"), AT, "catalog-table") in found
    assert Dataset(AT, Authority.READER, properties={"format": "iceberg"}) in found


@pytest.mark.parametrize("command", ["AppendData", "OverwriteByExpression", "OverwritePartitionsDynamic"])
def test_an_iceberg_table_that_is_written_is_its_path_with_the_tables_name(command: str) -> None:
    params = {
        "table": {"identifier": "glue_catalog.sales_db.sales", "output": [{"__exprId": "expr-0"}]},
        "isByName": True,
    }
    found = write(params, command)

    assert tables(found) == {(AT, "table", "sales_db.sales")}
    assert [each for each in found if isinstance(each, Alias)] == [
        Alias(Reference("glue_catalog", "sales_db.sales"), AT, "catalog-table")
    ]


def test_a_table_that_is_created_has_a_name_but_no_catalog_to_be_joined_by() -> None:
    params = {
        "table": {"identifier": "sales_db.sales"},
        "partitioning": ["days(sold_at)"],
        "properties": {"provider": "iceberg"},
        "ignoreIfExists": False,
    }
    found = write(params, "CreateTableAsSelect")

    assert tables(found) == {(AT, "table", "sales_db.sales")}
    assert [each for each in found if isinstance(each, Alias)] == []


@pytest.mark.parametrize(
    ("identifier", "uri"),
    [
        ("delta.`s3://lake/wh/sales_db/sales`", PATH),
        ("shop.orders", "cassandra:shop:orders"),
        ("project.orders", "odpstable:project.orders"),
    ],
)
def test_what_is_not_a_table_stored_in_files_gets_no_alias(identifier: str, uri: str) -> None:
    found = read({"table": {"identifier": identifier}}, "delta", uri)

    assert tables(found) == set()
    assert [each for each in found if isinstance(each, Alias)] == []


def test_a_subquery_that_reads_delta_by_path_is_reported_and_names_no_table() -> None:
    text = "Filter (a#1 > 0)\n+- RelationV2[a#1] delta.`s3://lake/wh/sales` delta.`s3://lake/wh/sales`\n"

    assert relations(text) == (set(), {"delta"})
