"""Where tables of data sources are, as other sources name them."""

from pathlib import Path
from typing import Any

import pytest

from lineage_merge.model.elements import Feeds
from tests.record_reading import problems_of, records_of
from tests.s3_fixtures import S3
from tests.sources.quicksight.made_definitions import (
    ACCOUNT,
    Document,
    columns,
    data_set,
    edges_to,
    logical,
    physical,
    query,
    read,
    table,
    write,
)


def source(kind: str, **parameters: Any) -> Document:
    return {
        "DataSource": {
            "Arn": f"{ACCOUNT}:datasource/warehouse",
            "DataSourceId": "warehouse",
            "Type": kind.upper(),
            "DataSourceParameters": {f"{kind}Parameters": parameters},
        }
    }


def read_source(folder: Path, described: Document, **settings: Any) -> list[Any]:
    found = data_set("sales", {"t": table("Orders", "id")}, {"l": logical(physical("t"))})
    return read(write(folder, source=described, sales=found), **settings)


@pytest.mark.parametrize(
    ("described", "expected"),
    [
        (
            source("Redshift", Host="wh.abc.eu-west-1.redshift.amazonaws.com", Port=5439, Database="dev"),
            "redshift://wh.eu-west-1:5439|dev.public.orders",
        ),
        (
            source("Redshift", ClusterId="wh", Database="dev"),
            "redshift://wh.eu-west-1:5439|dev.public.orders",
        ),
        (
            source("Athena", WorkGroup="primary"),
            "awsathena://athena.eu-west-1.amazonaws.com|awsdatacatalog.public.orders",
        ),
        (
            source("PostgreSql", Host="db", Port=5433, Database="shop"),
            "postgres://db:5433|shop.public.Orders",
        ),
        (
            source("AuroraPostgreSql", Host="db", Port=5432, Database="shop"),
            "postgres://db:5432|shop.public.Orders",
        ),
        (source("Aurora", Host="db", Port=3306, Database="shop"), "mysql://db:3306|public.Orders"),
        (source("MySql", Host="db", Port=3306, Database="shop"), "mysql://db:3306|public.Orders"),
        (source("MariaDb", Host="db", Port=3306, Database="shop"), "mysql://db:3306|public.Orders"),
        (source("SqlServer", Host="db", Port=1433, Database="shop"), "mssql://db:1433|shop.public.orders"),
        (source("Oracle", Host="db", Port=1521, Database="orcl"), "oracle://db:1521|ORCL.PUBLIC.ORDERS"),
        (
            source("Snowflake", Host="acme-one.snowflakecomputing.com", Database="SHOP", Warehouse="W"),
            "snowflake://acme-one|SHOP.PUBLIC.ORDERS",
        ),
        (source("Trino", Host="trino", Port=8080, Catalog="hive"), "trino://trino:8080|hive.public.orders"),
        (
            source("Presto", Host="presto", Port=8080, Catalog="hive"),
            "trino://presto:8080|hive.public.orders",
        ),
        (
            source("Databricks", Host="acme.cloud.databricks.com", Port=443),
            "databricks://acme.cloud.databricks.com|public.orders",
        ),
        (source("BigQuery", ProjectId="acme"), "bigquery|acme.public.Orders"),
        (source("Teradata", Host="td", Port=1025, Database="shop"), "teradata://td:1025|shop.public.Orders"),
        (
            source("S3Tables", TableBucketArn="arn:aws:s3tables:eu-west-1:111122223333:bucket/lake"),
            "arn:aws:s3tables:eu-west-1:111122223333:bucket/lake|public.orders",
        ),
    ],
)
def test_a_data_source_gives_the_namespace(tmp_path: Path, described: Document, expected: str) -> None:
    records = read_source(tmp_path, described)

    assert not problems_of(records)
    assert {row.source for row in records_of(Feeds, records)} == {f"dev|{expected}"}


def test_a_data_source_without_a_host_is_reported_and_can_be_configured(tmp_path: Path) -> None:
    described = source("Rds", InstanceId="orders-1", Database="shop")

    (problem,) = problems_of(read_source(tmp_path, described))
    assert problem[0::3] == ("not-joined", "the data source warehouse (RDS) names no host")
    configured = read_source(tmp_path, described, data_sources={"warehouse": "postgres://db:5432/shop"})
    assert {row.source for row in records_of(Feeds, configured)} == {
        "dev|postgres://db:5432|shop.public.Orders"
    }


def test_unqualified_names_of_custom_sql_are_completed_as_the_connection_does(tmp_path: Path) -> None:
    sql = query("select id from orders", "id")
    found = data_set("sales", {"q": sql}, {"l": logical(physical("q"))})
    for described, expected in (
        (source("Redshift", Host="wh", Port=5439, Database="dev"), "redshift://wh:5439|dev.public.orders"),
        (source("MySql", Host="db", Port=3306, Database="shop"), "mysql://db:3306|shop.orders"),
        (source("Athena"), "awsathena://athena.eu-west-1.amazonaws.com|awsdatacatalog.default.orders"),
    ):
        records = read(write(tmp_path, source=described, sales=found))
        assert {row.source for row in records_of(Feeds, records)} == {f"dev|{expected}"}


def test_files_in_s3_are_those_of_the_manifest(tmp_path: Path, s3: S3) -> None:
    s3.client.create_bucket(Bucket="lists")
    s3.client.put_object(
        Bucket="lists",
        Key="orders.manifest",
        Body=b"""{"fileLocations": [
            {"URIs": ["s3://raw/orders/part-00000.csv"]},
            {"URIPrefixes": ["https://s3.amazonaws.com/raw/older/", "https://raw.s3.eu-west-1.amazonaws.com/oldest/"]}
        ]}""",
    )
    described = source("S3", ManifestFileLocation={"Bucket": "lists", "Key": "orders.manifest"})
    files = {"S3Source": {"DataSourceArn": f"{ACCOUNT}:datasource/warehouse", "InputColumns": columns("id")}}
    found = data_set("sales", {"f": files}, {"l": logical(physical("f"))})

    records = read(write(tmp_path, source=described, sales=found))

    assert {row.source for row in records_of(Feeds, records)} == {
        "dev|s3://raw|orders",
        "dev|s3://raw|older",
        "dev|s3://raw|oldest",
    }
    assert edges_to("dataset/sales", records) == {
        (f"{folder}#id", "id", "IDENTITY") for folder in ("orders", "older", "oldest")
    }


def test_a_manifest_that_cannot_be_read_is_reported(tmp_path: Path, s3: S3) -> None:
    described = source("S3", ManifestFileLocation={"Bucket": "lists", "Key": "gone.manifest"})
    files = {"S3Source": {"DataSourceArn": f"{ACCOUNT}:datasource/warehouse", "InputColumns": columns("id")}}
    found = data_set("sales", {"f": files}, {"l": logical(physical("f"))})

    (problem,) = problems_of(read(write(tmp_path, source=described, sales=found)))
    assert problem[3] == "reads files of a manifest that cannot be read: s3://lists/gone.manifest"
