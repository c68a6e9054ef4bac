"""Pairs of namespace and name, and addresses of Spline's plugins."""

import pytest

from lineage_merge.model.errors import NamingError
from lineage_merge.naming import canonical_namespace, name_dataset, name_uri

REDSHIFT = "redshift://tickit-wh.us-east-1:5439"


@pytest.mark.parametrize(
    ("spelling", "canonical"),
    [
        ("redshift://tickit-wh.abc123.us-east-1.redshift.amazonaws.com:5439", REDSHIFT),
        ("redshift://tickit-wh.us-east-1:5439", REDSHIFT),
        ("redshift://tickit-wh.us-east-1/", REDSHIFT),
        ("postgres://tickit-wh.abc123.us-east-1.redshift.amazonaws.com:5439", REDSHIFT),
        ("redshift+psycopg2://u:p@tickit-wh.us-east-1", REDSHIFT),
        ("postgresql://DB", "postgres://db:5432"),
        ("postgresql+psycopg2://db:5433/shop", "postgres://db:5433"),
        ("mariadb://db", "mysql://db:3306"),
        ("sqlserver://db", "mssql://db:1433"),
        ("mssql://db/INST", "mssql://db/inst"),
        ("snowflake://Org-Acct.snowflakecomputing.com", "snowflake://org-acct"),
        ("snowflake://xy12345.us-east-1", "snowflake://xy12345.us-east-1.aws"),
        ("s3a://Bucket/", "s3://Bucket"),
        ("file://", "file"),
        ("file:///", "file"),
        ("abfs://c@acct.dfs.core.windows.net", "abfss://c@acct.dfs.core.windows.net"),
        ("bigquery", "bigquery"),
        ("spark_catalog", "spark_catalog"),
        ("thrift://metastore:9083", "hive://metastore:9083"),
        ("hive://metastore", "hive://metastore:9083"),
        ("databricks://ADB-1.azuredatabricks.net:443", "databricks://adb-1.azuredatabricks.net"),
        ("spark://Thrift:10000", "spark://thrift:10000"),
        ("arn:aws:glue:US-EAST-1:111122223333", "arn:aws:glue:us-east-1:111122223333"),
        ("kafka://B1,b2:9093", "kafka://b1:9092"),
        ("dbt://My_Shop", "dbt://My_Shop"),
        ("My_Namespace", "My_Namespace"),
    ],
)
def test_a_namespace_has_one_spelling(spelling: str, canonical: str) -> None:
    assert canonical_namespace(spelling) == canonical
    assert canonical_namespace(canonical) == canonical


@pytest.mark.parametrize("namespace", ["", "  "])
def test_an_empty_namespace_is_refused(namespace: str) -> None:
    with pytest.raises(NamingError):
        canonical_namespace(namespace)
    with pytest.raises(NamingError):
        name_dataset(namespace, "x")


@pytest.mark.parametrize(
    ("namespace", "name", "canonical"),
    [
        (REDSHIFT, "DEV.Public.Sales", "dev.public.sales"),
        ("snowflake://o-a", "shop.Sales.orders", "SHOP.SALES.ORDERS"),
        ("postgres://db:5432", "shop.Sales.Orders", "shop.Sales.Orders"),
        ("postgres://db:5432", 'shop."Sales".orders', "shop.Sales.orders"),
        ("mysql://db:3306", "Shop.Orders", "Shop.Orders"),
        ("bigquery", "p.d.t", "p.d.t"),
        ("spark_catalog", "TPCH.Part", "tpch.part"),
        ("spark_catalog", "spark_catalog.tpch.part", "tpch.part"),
        ("hive://m:9083", "TPCH.Part", "tpch.part"),
        ("databricks://adb-1.azuredatabricks.net", "Prod.Sales.Orders", "prod.sales.orders"),
        ("spark://thrift:10000", "Sales.Orders", "sales.orders"),
        ("arn:aws:glue:us-east-1:1", "table/TPCH/Part", "table/tpch/part"),
        ("arn:aws:glue:us-east-1:1", "tpch.part", "table/tpch/part"),
        ("arn:aws:glue:us-east-1:1", "table/tpch.part", "table/tpch/part"),
        ("s3a://b", "/lake/sales/dt=1/part-00000", "lake/sales"),
        ("file", "/x/y/", "/x/y"),
        ("duckdb://shop.duckdb", "shop.main.Orders", "shop.main.Orders"),
    ],
)
def test_a_pair_is_made_canonical(namespace: str, name: str, canonical: str) -> None:
    assert name_dataset(namespace, name).name.name == canonical


@pytest.mark.parametrize(
    ("namespace", "name", "default", "completed"),
    [
        (REDSHIFT, "sales", "dev.public", "dev.public.sales"),
        (REDSHIFT, "PUBLIC.Sales", "Dev.public", "dev.public.sales"),
        (REDSHIFT, "dev.other.sales", "dev.public", "dev.other.sales"),
        (REDSHIFT, "public.sales", "dev", "dev.public.sales"),
        (REDSHIFT, "sales", "dev", "sales"),
        (REDSHIFT, "sales", None, "sales"),
        (REDSHIFT, "public.sales", None, "public.sales"),
        ("mssql://db:1433", "shop..orders", "shop.dbo", "shop.dbo.orders"),
        ("mssql://db:1433", "other..orders", "shop.dbo", "other..orders"),
        ("mysql://db:3306", "orders", "shop", "shop.orders"),
        ("spark_catalog", "part", "tpch", "tpch.part"),
        ("arn:aws:glue:us-east-1:1", "part", "tpch", "table/tpch/part"),
        ("arn:aws:glue:us-east-1:1", "part", None, "part"),
        ("mongodb://h:27017", "orders", "shop", "shop.orders"),
    ],
)
def test_a_short_name_is_completed_only_by_what_is_known(
    namespace: str, name: str, default: str | None, completed: str
) -> None:
    defaults = {} if default is None else {namespace: default}
    named = name_dataset(namespace, name, defaults).name
    assert named == (namespace, completed)
    assert name_dataset(*named, defaults).name == named


@pytest.mark.parametrize(
    ("namespace", "names", "name"),
    [
        (
            "snowflake://o-a.snowflakecomputing.com",
            ['"Shop"."raw"."Orders"', "shop.raw.orders"],
            "SHOP.RAW.ORDERS",
        ),
        ("spark://h:10000", ["None.raw.orders", "raw.orders"], "raw.orders"),
        ("postgres://h:5432", ["shop.None.orders", "shop..orders"], "shop.public.orders"),
        ("postgres://h:5432", ["shop.shop.raw.orders"], "shop.raw.orders"),
        ("postgres://h:5432", ['"None".raw.orders'], "None.raw.orders"),
        ("mysql://h:3306", ["default.shop.orders", "shop.shop.orders", "shop.orders"], "shop.orders"),
        ("clickhouse://H", ["default.shop.orders", "shop.orders"], "shop.orders"),
        ("bigquery", ["p.d.t$20260131", "p.d.t@-3600000", "p.d.t$__UNPARTITIONED__", "p:d.t"], "p.d.t"),
        ("bigquery", ["p.d.e_20260131", "p.d.e_*", "p.d.e_2026*", "p.d.e_20260131$20260131"], "p.d.e_*"),
        ("bigquery", ["p.d.version_20261399"], "p.d.version_20261399"),
    ],
)
def test_names_of_one_table_have_one_form(namespace: str, names: list[str], name: str) -> None:
    assert {name_dataset(namespace, each).name.name for each in names} == {name}


@pytest.mark.parametrize(
    ("namespace", "name"),
    [
        ("postgres://h:5432", "shop.(select id from orders) t"),
        ("mysql://h:3306", "select id from shop.orders"),
        ("gs://tmp", ".spark-bigquery-app-7-0f0f0f0f-1111-4222-8333-444455556666/part-0"),
        (
            "abfss://c@a.dfs.core.windows.net",
            "t/2026-01-31/10-11-12-345/0f0f0f0f-1111-4222-8333-444455556666",
        ),
    ],
)
def test_queries_and_staging_folders_of_connectors_are_no_datasets(namespace: str, name: str) -> None:
    with pytest.raises(NamingError, match=r"a query|staging folder"):
        name_dataset(namespace, name)


@pytest.mark.parametrize("brokers", ["b1,b2:9092", "B2:9092,b1:9092", "b2:9092, b1:9092", "b1:9092"])
def test_the_brokers_of_a_cluster_in_any_order_are_one_namespace(brokers: str) -> None:
    assert name_dataset(f"kafka://{brokers}", "orders").name.namespace == "kafka://b1:9092"


def test_a_default_of_one_namespace_does_not_reach_another() -> None:
    assert name_dataset("redshift://other:5439", "sales", {REDSHIFT: "dev.public"}).name.name == "sales"


@pytest.mark.parametrize(
    ("namespace", "is_files"),
    [
        (REDSHIFT, False),
        ("snowflake://o-a", False),
        ("spark_catalog", True),
        ("hive://m:9083", True),
        ("arn:aws:glue:us-east-1:1", True),
        ("awsathena://athena.us-east-1.amazonaws.com", True),
    ],
)
def test_tables_of_catalogs_are_files_and_tables_of_warehouses_are_not(
    namespace: str, is_files: bool
) -> None:
    named = name_dataset(namespace, "a.b.c")
    assert named.label == "table"
    assert named.stored_as_files is is_files


@pytest.mark.parametrize(
    ("uri", "namespace", "name", "label", "short_name"),
    [
        ("kafka:orders.v1", "kafka", "orders.v1", "topic", "orders.v1"),
        ("kafka://b1:9092,b2:9092/orders", "kafka://b1:9092", "orders", "topic", "orders"),
        ("cassandra:shop:orders", "cassandra", "shop.orders", "table", "orders"),
        ("bigquery://my-project:sales.orders", "bigquery", "my-project.sales.orders", "table", "orders"),
        (
            "bigquery://example.com:p:sales.orders",
            "bigquery",
            "example.com:p.sales.orders",
            "table",
            "orders",
        ),
        ("mongodb://h/shop.orders.eu", "mongodb://h:27017", "shop.orders.eu", "table", "orders.eu"),
        ("mongodb://u:*****@h1,h2:1/?replicaSet=r/s.o", "mongodb://h1:27017,h2:1", "s.o", "table", "o"),
        ("mongodb+srv://c.mongodb.net/admin/s.o", "mongodb+srv://c.mongodb.net", "s.o", "table", "o"),
        ("elasticsearch://es1/orders/doc", "elasticsearch://es1:9200", "orders/doc", "table", "orders"),
        ("elasticsearch://https://u:p@es1/orders", "elasticsearch://es1:9200", "orders", "table", "orders"),
        ("odpstable:project.orders", "odpstable", "project.orders", "table", "orders"),
        ("arn:aws:glue:us-east-1:1:table/S/O", "arn:aws:glue:us-east-1:1", "table/s/o", "table", "o"),
        (
            "postgres://db:5432/shop.sales.orders",
            "postgres://db:5432",
            "shop.sales.orders",
            "table",
            "orders",
        ),
    ],
)
def test_an_address_of_a_spline_plugin_has_a_name(
    uri: str, namespace: str, name: str, label: str, short_name: str
) -> None:
    named = name_uri(uri)
    assert named.name == (namespace, name)
    assert (named.label, named.short_name) == (label, short_name)


@pytest.mark.parametrize(
    "uri",
    [
        "kafka:",
        "kafka:a,b",
        "mongodb://h",
        "mongodb://h/?password=*****",
        "elasticsearch://h",
        "bigquery://",
        "cassandra:",
        "arn:aws:glue:us-east-1:1",
        "odpstable:",
    ],
)
def test_an_address_of_a_plugin_without_a_dataset_is_refused(uri: str) -> None:
    with pytest.raises(NamingError):
        name_uri(uri)
