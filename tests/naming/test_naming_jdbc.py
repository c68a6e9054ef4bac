"""JDBC addresses as Spline writes them: connection URL, colon, table or query."""

import pytest

from lineage_merge.model.errors import NamingError
from lineage_merge.naming import name_uri, split_jdbc

REDSHIFT = "redshift://tickit-wh.us-east-1:5439"
HOST = "tickit-wh.abc123xyz789.us-east-1.redshift.amazonaws.com"


@pytest.mark.parametrize(
    "connection",
    [
        f"jdbc:redshift://{HOST}:5439/dev",
        f"JDBC:Redshift://{HOST.upper()}/dev",
        f"jdbc:postgresql://{HOST}:5439/dev",
        f"jdbc:redshift:iam://{HOST}:5439/dev",
        "jdbc:redshift:iam://tickit-wh:us-east-1/dev",
        "jdbc:redshift:iam:///dev?ClusterID=tickit-wh&Region=us-east-1",
        "jdbc:redshift://tickit-wh.111122223333.us-east-1.redshift-serverless.amazonaws.com:5439/dev",
        "jdbc:redshift://tickit-wh.us-east-1:5439/dev",
        f"jdbc:redshift://loader:p@ss:w0rd@{HOST}:5439/dev",
        f"jdbc:redshift://{HOST}:5439/dev?user=loader&password=*****&ssl=true",
        f"jdbc:redshift://{HOST}:5439/dev;UID=loader;PWD=x:y;ssl=true",
        f"jdbc:redshift://{HOST}:5439/dev;password=*****;",
        f"jdbc:aws-wrapper:postgresql://{HOST}:5439/dev",
    ],
)
@pytest.mark.parametrize(
    "table", ["public.event", '"public"."event"', "PUBLIC.Event", "event", "dev.public.event e"]
)
def test_all_addresses_of_a_redshift_table_have_one_name(connection: str, table: str) -> None:
    named = name_uri(f"{connection}:{table}")
    assert named.name == (REDSHIFT, "dev.public.event")
    assert (named.label, named.stored_as_files, named.short_name) == ("table", False, "event")


def test_the_suffix_of_a_cluster_in_china_is_removed() -> None:
    uri = "jdbc:redshift://wh.abc.cn-north-1.redshift.amazonaws.com.cn:5439/dev:s.t"
    assert name_uri(uri).name == ("redshift://wh.cn-north-1:5439", "dev.s.t")


def test_a_custom_domain_of_redshift_stays() -> None:
    assert (
        name_uri("jdbc:redshift://DWH.example.com/dev:s.t").name.namespace
        == "redshift://dwh.example.com:5439"
    )


@pytest.mark.parametrize(
    ("uri", "namespace", "name"),
    [
        ("jdbc:postgresql://db/shop:sales.orders", "postgres://db:5432", "shop.sales.orders"),
        ("jdbc:postgresql://db/shop:Sales.Orders", "postgres://db:5432", "shop.sales.orders"),
        ('jdbc:postgresql://db/shop:"Sales"."Orders"', "postgres://db:5432", "shop.Sales.Orders"),
        ('jdbc:postgresql://db/shop:sales."a.b"', "postgres://db:5432", 'shop.sales."a.b"'),
        ('jdbc:postgresql://db/shop:sales."a:b"', "postgres://db:5432", "shop.sales.a:b"),
        (
            "jdbc:postgresql://db/shop?currentSchema=sales,public:orders",
            "postgres://db:5432",
            "shop.sales.orders",
        ),
        ("jdbc:postgresql://a:5433,B/shop:s.t", "postgres://a:5433,b:5432", "shop.s.t"),
        ("jdbc:postgresql://[::1]/shop:s.t", "postgres://[::1]:5432", "shop.s.t"),
        ("jdbc:postgresql://db/:s.t", "postgres://db:5432", "s.t"),
        ("jdbc:postgresql://db:5432:s.t", "postgres://db:5432", "s.t"),
        ("jdbc:mysql://db/shop?serverTimezone=GMT+01:00:orders", "mysql://db:3306", "shop.orders"),
        ("jdbc:mysql:loadbalance://a,b:3307/shop:Orders", "mysql://a:3306,b:3307", "shop.Orders"),
        ("jdbc:mariadb://db/shop:`other`.`orders`", "mysql://db:3306", "other.orders"),
        (
            "jdbc:sqlserver://db;databaseName=Shop;user=x;password=*****;:dbo.Orders",
            "mssql://db:1433",
            "shop.dbo.orders",
        ),
        (
            "jdbc:sqlserver://db:1444;database=Shop:[dbo].[Order Lines]",
            "mssql://db:1444",
            "shop.dbo.order lines",
        ),
        ("jdbc:sqlserver://db\\Inst;databaseName=Shop:dbo.t", "mssql://db/inst", "shop.dbo.t"),
        ("jdbc:sqlserver://db\\inst:1500;databaseName=Shop:dbo.t", "mssql://db:1500", "shop.dbo.t"),
        ("jdbc:sqlserver://;serverName=db;databaseName=Shop:dbo.t", "mssql://db:1433", "shop.dbo.t"),
        (
            "jdbc:sqlserver://db;password={a;databaseName=x};databaseName=Shop:dbo.t",
            "mssql://db:1433",
            "shop.dbo.t",
        ),
        ("jdbc:sqlserver://db;databaseName=Shop:orders", "mssql://db:1433", "shop..orders"),
        ("jdbc:jtds:sqlserver://db/Shop:dbo.t", "mssql://db:1433", "shop.dbo.t"),
        ("jdbc:oracle:thin:@db:1522:ORCL:hr.emp", "oracle://db:1522", "ORCL.HR.EMP"),
        ("jdbc:oracle:thin:@//db/svc.example.com:HR.EMP", "oracle://db:1521", '"SVC.EXAMPLE.COM".HR.EMP'),
        ("jdbc:oracle:thin:scott/tiger@db:1521/svc:emp", "oracle://db:1521", "SVC.SCOTT.EMP"),
        ("jdbc:oracle:thin:@tcps://db:2484/svc?wallet_location=/w:HR.EMP", "oracle://db:2484", "SVC.HR.EMP"),
        (
            "jdbc:oracle:thin:@(DESCRIPTION=(ADDRESS=(HOST=db)(PORT=1522))(CONNECT_DATA=(SID=svc))):HR.EMP",
            "oracle://db:1522",
            "SVC.HR.EMP",
        ),
        (
            "jdbc:snowflake://my_org-acct.snowflakecomputing.com/?db=shop&schema=sales&warehouse=w:orders",
            "snowflake://my-org-acct",
            "SHOP.SALES.ORDERS",
        ),
        (
            "jdbc:snowflake://xy12345.us-east-1.snowflakecomputing.com:443/?db=shop:sales.orders",
            "snowflake://xy12345.us-east-1.aws",
            "SHOP.SALES.ORDERS",
        ),
        ("jdbc:trino://t/hive/sales:Orders", "trino://t:8080", "hive.sales.orders"),
        ("jdbc:trino://t/hive/sales?SSL=true:Orders", "trino://t:443", "hive.sales.orders"),
        ("jdbc:hive2://hs2/sales:Orders", "hive://hs2:10000", "sales.orders"),
        (
            "jdbc:awsathena://AwsRegion=us-east-1;S3OutputLocation=s3://b/x;Schema=sales:orders",
            "awsathena://athena.us-east-1.amazonaws.com",
            "awsdatacatalog.sales.orders",
        ),
        ("jdbc:bigquery://https://www.googleapis.com/bigquery/v2:443;ProjectId=p:ds.t", "bigquery", "p.ds.t"),
        ("jdbc:db2://DB:50000/SHOP:user=u;password=*****;:S.T", "db2://db:50000", "SHOP.S.T"),
        ("jdbc:sqlite:/data/x.db:t", "sqlite:/data/x.db", "t"),
        ("jdbc:h2:mem:test;USER=sa:PUBLIC.T", "h2:mem:test", "PUBLIC.T"),
        ("jdbc:db2:SHOP:user=u;password=*****;:S.T", "db2:SHOP", "S.T"),
        ("jdbc:exa:h1,h2:8563;schema=s:s.t", "exa:h1,h2:8563", "s.t"),
        ("jdbc:teradata://td/DATABASE=d,USER=u,PASSWORD=p:d.t", "teradata://td", "d.t"),
    ],
)
def test_a_jdbc_table_has_its_platform_s_name(uri: str, namespace: str, name: str) -> None:
    assert name_uri(uri).name == (namespace, name)


def test_a_configured_schema_completes_an_unqualified_table_of_the_same_database() -> None:
    defaults = {"redshift://wh.example.com:5439": "dev.sales"}
    assert name_uri("jdbc:redshift://wh.example.com/DEV:event", defaults).name.name == "dev.sales.event"
    assert name_uri("jdbc:redshift://wh.example.com/prod:event", defaults).name.name == "prod.public.event"
    assert name_uri("jdbc:redshift://wh.example.com/prod:s.event", defaults).name.name == "prod.s.event"
    assert name_uri("jdbc:redshift://wh.example.com/:event", defaults).name.name == "dev.sales.event"


@pytest.mark.parametrize(
    ("uri", "connection", "query"),
    [
        (
            "jdbc:postgresql://h/d:(select a::int from t) x",
            "jdbc:postgresql://h/d",
            "(select a::int from t) x",
        ),
        ("jdbc:postgresql://h/d?a=b:SELECT ':' FROM t", "jdbc:postgresql://h/d?a=b", "SELECT ':' FROM t"),
        ("jdbc:postgresql://h/d: ( with q as (select 1) select * from q) y", "jdbc:postgresql://h/d", None),
        ("jdbc:oracle:thin:@h:1521:X:(select * from t)", "jdbc:oracle:thin:@h:1521:X", "(select * from t)"),
        ("jdbc:postgresql://h/d:a join b on a.x > b.x", "jdbc:postgresql://h/d", None),
        ("jdbc:postgresql://h/d:a join b on a.x = b.x", "jdbc:postgresql://h/d", None),
        ("jdbc:postgresql://h/d:a, b", "jdbc:postgresql://h/d", "a, b"),
        ("jdbc:postgresql://h/d:(a)", "jdbc:postgresql://h/d", "(a)"),
    ],
)
def test_a_query_is_split_off_and_is_not_named(uri: str, connection: str, query: str | None) -> None:
    found_connection, found_query = split_jdbc(uri)
    assert found_connection == connection
    assert query is None or found_query == query
    with pytest.raises(NamingError, match="is a query, not a table"):
        name_uri(uri)


@pytest.mark.parametrize(
    "uri",
    [
        "jdbc:redshift://h:5439/dev?user=u&password=*****",
        "jdbc:sqlserver://h:1433;databaseName=d;password=*****",
        "jdbc:mysql://h/d?serverTimezone=GMT+01:00&password=*****",
    ],
)
def test_a_table_that_password_masking_removed_is_reported(uri: str) -> None:
    with pytest.raises(NamingError, match="password masking removed its table"):
        name_uri(uri)


@pytest.mark.parametrize(
    "uri",
    [
        "jdbc:",
        "jdbc:postgresql",
        "jdbc:postgresql://h:5432",
        "jdbc:postgresql://h:5432/dev",
        "jdbc:postgresql://h/dev:",
        "jdbc:postgresql://h/dev:s.",
        'jdbc:postgresql://h/dev:s.t"',
        "jdbc:custom:h1,h2",
        "jdbc:salesforce:User=u;Password=*****;:Account",
        "jdbc:postgresql:///dev:s.t",
        "jdbc:oracle:thin:@#:S.T",
        "jdbc:oracle:thin:@ldap://h:389/x:S.T",
    ],
)
def test_a_jdbc_address_without_a_table_or_a_host_is_refused(uri: str) -> None:
    with pytest.raises(NamingError):
        name_uri(uri)
