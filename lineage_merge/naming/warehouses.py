"""Warehouses, query engines, catalogs: Snowflake, BigQuery, Athena, Trino, Databricks, Hive, Glue, S3."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from lineage_merge.infra.redaction import redact
from lineage_merge.model.elements import DatasetName
from lineage_merge.model.errors import NamingError
from lineage_merge.naming.address import Address, canonical_hosts, parse, remove_parameters, trim
from lineage_merge.naming.identifiers import join_name, split_name
from lineage_merge.naming.jdbc import Connection
from lineage_merge.naming.named import Defaults, Located, Named
from lineage_merge.naming.warehouse import Warehouse

_SNOWFLAKE_SUFFIXES = (".snowflakecomputing.com", ".snowflakecomputing.cn", ".privatelink")


@dataclass(frozen=True, kw_only=True)
class SnowflakeWarehouse(Warehouse):
    """Snowflake: ``snowflake://organization-account`` and ``DATABASE.SCHEMA.TABLE``, upper-case.

    An account's locator (``xy12345.us-east-1``) cannot be turned into its organization's name,
    so the two forms stay apart, as OpenLineage's specification warns.
    """

    def canonical_namespace(self, address: Address) -> str:
        # The option `sfURL` of the Spark connector may be a URL: ``snowflake://https://account``.
        if (address.authority or "").lower() in ("http:", "https:"):
            address = parse(f"{self.scheme}:{address.rest}")
        return Warehouse.canonical_namespace(self, address)

    def hosts(self, authority: str) -> str:
        account = authority.lower().partition(":")[0].strip(".")
        for suffix in _SNOWFLAKE_SUFFIXES:
            account = account.removesuffix(suffix)
        account = account.replace("_", "-")  # a host name has no underscore, an account may
        labels = account.split(".")
        is_locator_with_region = len(labels) == 2 and "-" not in labels[0]
        return f"{account}.aws" if is_locator_with_region else account

    def jdbc_database(self, connection: Connection) -> str:
        return connection.parameter("db", "database")

    def jdbc_schema(self, connection: Connection) -> str:
        return connection.parameter("schema")


SNOWFLAKE = SnowflakeWarehouse(scheme="snowflake", spelling=str.upper, unquoted=str.upper)


# ``t$20240101`` is a partition, ``t@-3600000`` an earlier state of a table.
_DECORATOR = re.compile(r"(?<=.)(?:\$\w+|@-?\d+(?:-\d+)?)\Z")
# A table for each day (``events_20240101``), or some of them by a wildcard (``events_2024*``).
_SHARD = re.compile(r"(?<=_)(?:(?:19|20)\d\d(?:0[1-9]|1[0-2])(?:0[1-9]|[12]\d|3[01])|\d{0,8}\*)\Z")
_LEGACY_NAME = re.compile(r"(?P<project>[\w-]+):(?P<table>[^.:]+\.[^:]+)")


@dataclass(frozen=True, kw_only=True)
class BigQueryWarehouse(Warehouse):
    """BigQuery: ``bigquery`` and ``project.dataset.table``.

    Spline writes ``bigquery://project:dataset.table``. The tables of all days (date shards) are one dataset,
    named as their wildcard: ``project.dataset.events_*``.
    """

    def canonical_namespace(self, address: Address) -> str:
        return self.scheme

    def locate(self, address: Address) -> Located:
        text = remove_parameters(f"{address.authority or ''}{address.rest}").strip("/")
        project, colon, table = text.rpartition(":")  # a project may have a domain: example.com:shop
        return Located(self.scheme, f"{project}.{table}" if colon else table)

    def parts_of(self, name: str) -> list[str]:
        if legacy := _LEGACY_NAME.fullmatch(name):
            name = f"{legacy['project']}.{legacy['table']}"
        *above, table = Warehouse.parts_of(self, name)
        return [*above, _SHARD.sub("*", _DECORATOR.sub("", table))]

    def jdbc_namespace(self, connection: Connection) -> str:
        return self.scheme

    def jdbc_database(self, connection: Connection) -> str:
        return connection.parameter("projectid")

    def jdbc_schema(self, connection: Connection) -> str:
        return connection.parameter("defaultdataset").rpartition(".")[2]


BIGQUERY = BigQueryWarehouse(scheme="bigquery")


@dataclass(frozen=True, kw_only=True)
class Athena(Warehouse):
    """Amazon Athena: ``awsathena://athena.region.amazonaws.com`` and ``catalog.database.table``, lower-case.

    Its tables are files in S3.
    """

    def hosts(self, authority: str) -> str:
        return authority.lower().partition(":")[0]

    def jdbc_namespace(self, connection: Connection) -> str:
        region = connection.parameter("awsregion", "region")
        if not connection.authority and region:
            return self.server(f"athena.{region.lower()}.amazonaws.com", connection)
        return Warehouse.jdbc_namespace(self, connection)

    def jdbc_database(self, connection: Connection) -> str:
        return connection.parameter("catalog") or "awsdatacatalog"  # the driver's own default

    def jdbc_schema(self, connection: Connection) -> str:
        return connection.parameter("schema", "database")


ATHENA = Athena(
    scheme="awsathena",
    aliases=frozenset({"athena"}),
    spelling=str.lower,
    unquoted=str.lower,
    stored_as_files=True,
)

_TLS_PORT = 443


@dataclass(frozen=True, kw_only=True)
class Trino(Warehouse):
    """Trino and Presto: ``trino://host:8080`` and ``catalog.schema.table``, lower-case."""

    def jdbc_namespace(self, connection: Connection) -> str:
        is_tls = connection.parameter("ssl").lower() == "true"
        port = _TLS_PORT if is_tls else self.port
        return self.server(canonical_hosts(connection.authority, port), connection)

    def jdbc_database(self, connection: Connection) -> str:
        return connection.database.partition("/")[0]

    def jdbc_schema(self, connection: Connection) -> str:
        return connection.database.partition("/")[2]


TRINO = Trino(scheme="trino", aliases=frozenset({"presto"}), port=8080, spelling=str.lower)


@dataclass(frozen=True, kw_only=True)
class Databricks(Warehouse):
    """Databricks and Spark's Thrift server, which compare names without case: lower-case in an identity.

    ``databricks://host`` and ``catalog.schema.table``; ``spark://host:10000`` and ``schema.table``.
    """

    def hosts(self, authority: str) -> str:
        # A workspace has one address; JDBC writes its port, dbt and OpenLineage do not.
        return canonical_hosts(authority, None).removesuffix(f":{_TLS_PORT}")

    def jdbc_database(self, connection: Connection) -> str:
        return connection.parameter("conncatalog")

    def jdbc_schema(self, connection: Connection) -> str:
        return connection.parameter("connschema") or connection.database


DATABRICKS = Databricks(scheme="databricks", spelling=str.lower, unquoted=str.lower)
SPARK = Warehouse(scheme="spark", levels=2, spelling=str.lower, unquoted=str.lower)

_HIVE_SERVER_PORT = 10000


@dataclass(frozen=True, kw_only=True)
class Metastore(Warehouse):
    """Tables of a Hive metastore: ``hive://host:9083`` and ``database.table``, lower-case.

    HiveServer2 (``jdbc:hive2://host:10000``) has a namespace of its own: its address does not contain that of
    the metastore.
    """

    def jdbc_namespace(self, connection: Connection) -> str:
        return self.server(canonical_hosts(connection.authority, _HIVE_SERVER_PORT), connection)


@dataclass(frozen=True, kw_only=True)
class SessionCatalog(Warehouse):
    """``spark_catalog``, Spark's session catalog if its metastore is unknown."""

    def canonical_namespace(self, address: object) -> str:
        return self.scheme

    def render(self, parts: Sequence[str]) -> str:
        is_qualified = len(parts) > self.levels and parts[0] == self.scheme
        return Warehouse.render(self, parts[1:] if is_qualified else parts)


HIVE = Metastore(
    scheme="hive",
    aliases=frozenset({"hive2", "thrift"}),
    port=9083,
    levels=2,
    spelling=str.lower,
    stored_as_files=True,
)
SPARK_CATALOG = SessionCatalog(scheme="spark_catalog", levels=2, spelling=str.lower, stored_as_files=True)

_GLUE_PREFIX = "table/"


class GlueDataCatalog:
    """AWS Glue's Data Catalog: ``arn:aws:glue:region:account`` and ``table/database/table``, lower-case.

    An ARN of five parts is the catalog, the sixth is the table in it.
    """

    def claims(self, address: Address) -> bool:
        return address.scheme == "arn" and address.rest.lower().split(":")[1:2] == ["glue"]

    def canonical_namespace(self, address: Address) -> str:
        return trim(":".join(["arn", *address.rest.lower().split(":")[:4]]))

    def locate(self, address: Address) -> Located:
        name = ":".join(address.rest.split(":")[4:])
        if not name:
            raise NamingError(f"{redact(address.text)}: names a catalog and no table")
        return Located(self.canonical_namespace(address), name)

    def identify(self, namespace: str, name: str, defaults: Defaults) -> Named:
        parts = _glue_parts(name.lower())
        default = defaults.get(namespace, "")
        if len(parts) == 1 and default:
            parts = [split_name(default.lower())[0].value, *parts]
        if not parts[-1]:
            raise NamingError(f"{redact(namespace)}: a name without a table")
        rendered = _GLUE_PREFIX + "/".join(parts) if len(parts) > 1 else parts[0]
        return Named(
            DatasetName(namespace, rendered), label="table", stored_as_files=True, short_name=parts[-1]
        )


def _glue_parts(name: str) -> list[str]:
    """Database and table out of ``table/database/table`` or ``database.table``."""
    rest = name.removeprefix(_GLUE_PREFIX)
    if rest != name and "/" in rest:
        return rest.split("/", 1)
    database, dot, table = rest.partition(".")
    return [database, table] if dot and "/" not in database else [rest]


GLUE = GlueDataCatalog()


class S3TableBucket:
    """Amazon S3 Tables: ``arn:aws:s3tables:region:account:bucket/name`` and ``namespace.table``, lower-case.

    openlineage-spark puts Spark's name of the catalog before them, which is another one in each job.
    """

    def claims(self, address: Address) -> bool:
        return address.scheme == "arn" and address.rest.lower().split(":")[1:2] == ["s3tables"]

    def canonical_namespace(self, address: Address) -> str:
        *above, resource = ["arn", *address.rest.lower().split(":", 4)]
        return ":".join([*above, "/".join(resource.strip("/").split("/")[:2])])

    def locate(self, address: Address) -> Located:
        # The ARN of a table has an id in place of its name.
        raise NamingError(f"{redact(address.text)}: names no table by namespace and name")

    def identify(self, namespace: str, name: str, defaults: Defaults) -> Named:
        parts = [part.value for part in split_name(name.lower())][-2:]
        default = defaults.get(namespace, "")
        if len(parts) == 1 and default:
            parts = [split_name(default.lower())[0].value, *parts]
        if not parts or not parts[-1]:
            raise NamingError(f"{redact(namespace)}: a name without a table")
        return Named(
            DatasetName(namespace, join_name(parts)),
            label="table",
            stored_as_files=True,
            short_name=parts[-1],
        )


S3_TABLES = S3TableBucket()

PLATFORMS = (SNOWFLAKE, BIGQUERY, ATHENA, TRINO, DATABRICKS, SPARK, HIVE, SPARK_CATALOG, GLUE, S3_TABLES)
