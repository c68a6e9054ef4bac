"""Relational databases: PostgreSQL, Redshift, MySQL, ClickHouse, SQL Server, Oracle."""

import re
from dataclasses import dataclass

from lineage_merge.infra.redaction import redact
from lineage_merge.model.errors import NamingError
from lineage_merge.naming.address import Address, canonical_hosts, remove_parameters
from lineage_merge.naming.jdbc import Connection
from lineage_merge.naming.warehouse import Warehouse

# PostgreSQL: ``postgres://host:5432`` and ``database.schema.table``.
#
# Names keep their case; unquoted SQL names are lower case. An unqualified table in a JDBC connection is in
# ``public``, the end of PostgreSQL's default `search_path`, unless the URL (`currentSchema`) or a configured
# default sets another schema.
POSTGRES = Warehouse(
    scheme="postgres",
    aliases=frozenset({"postgresql"}),
    port=5432,
    unquoted=str.lower,
    implicit_schema="public",
)

_REDSHIFT_HOSTS = tuple(
    f".{service}.amazonaws.com{country}"
    for service in ("redshift", "redshift-serverless")
    for country in ("", ".cn")
)


@dataclass(frozen=True, kw_only=True)
class RedshiftWarehouse(Warehouse):
    """Amazon Redshift: ``redshift://cluster.region:5439`` and ``database.schema.table``.

    Cluster hosts, serverless workgroups, the IAM form of the JDBC URL and PostgreSQL's driver address the
    same tables. Redshift compares names case-insensitively by default, so an identity is lower-case. An
    unqualified table in a JDBC connection is in ``public``: both `search_path` defaults end there.
    """

    def claims(self, address: Address) -> bool:
        return Warehouse.claims(self, address) or (
            POSTGRES.claims(address) and _is_redshift_host(address.authority or "")
        )

    def claims_jdbc(self, connection: Connection) -> bool:
        return Warehouse.claims_jdbc(self, connection) or (
            POSTGRES.claims_jdbc(connection) and _is_redshift_host(connection.authority)
        )

    def hosts(self, authority: str) -> str:
        host, colon, port = authority.lower().rpartition(":")
        if not colon:
            host, port = port, ""
        if port and not port.isdigit():  # iam://cluster:region/database
            host, port = f"{host}.{port}", ""
        short = _short_redshift_host(host)
        return f"{short}:{port or self.port}" if short else ""

    def jdbc_namespace(self, connection: Connection) -> str:
        cluster, region = connection.parameter("clusterid"), connection.parameter("region")
        if not connection.authority and cluster and region:
            return self.server(self.hosts(f"{cluster}.{region}"), connection)
        return Warehouse.jdbc_namespace(self, connection)


def _is_redshift_host(authority: str) -> bool:
    return authority.lower().partition(":")[0].endswith(_REDSHIFT_HOSTS)


def _short_redshift_host(host: str) -> str:
    """Shorten ``cluster.abc123.us-east-1.redshift.amazonaws.com`` to ``cluster.us-east-1``."""
    suffix = next((suffix for suffix in _REDSHIFT_HOSTS if host.endswith(suffix)), "")
    labels = host.removesuffix(suffix).split(".")
    return f"{labels[0]}.{labels[-1]}" if suffix and len(labels) > 1 else host


REDSHIFT = RedshiftWarehouse(
    scheme="redshift", port=5439, spelling=str.lower, unquoted=str.lower, implicit_schema="public"
)

# MySQL and MariaDB: ``mysql://host:3306`` and ``database.table``, spelled as written.
#
# Either one's driver reaches either server, so both have one name. openlineage-spark before 1.47 puts
# ``default`` before a name that has a database.
MYSQL = Warehouse(scheme="mysql", aliases=frozenset({"mariadb"}), port=3306, levels=2, has_catalogs=False)

# ClickHouse: ``clickhouse://host:8123`` and ``database.table``, spelled as written.
CLICKHOUSE = Warehouse(
    scheme="clickhouse", aliases=frozenset({"ch"}), port=8123, levels=2, has_catalogs=False
)


@dataclass(frozen=True, kw_only=True)
class SqlServer(Warehouse):
    """Microsoft SQL Server: ``mssql://host:1433`` and ``database.schema.table``, lower-case.

    Its default collations compare without case. A named instance without a port is
    ``mssql://host/instance``; with a port, the port decides, as it does for the driver.
    """

    def canonical_namespace(self, address: Address) -> str:
        host, _, instance = (address.authority or "").partition("\\")
        path = remove_parameters(address.rest).strip("/").partition("/")[0]
        return self._namespace(host, instance or path.strip())

    def _namespace(self, host: str, instance: str) -> str:
        plain_host = canonical_hosts(host, None)
        if instance and plain_host and ":" not in plain_host:
            return f"{self.scheme}://{plain_host}/{instance.lower()}"
        hosts = canonical_hosts(plain_host, self.port)
        return f"{self.scheme}://{hosts}" if hosts else self.scheme

    def jdbc_namespace(self, connection: Connection) -> str:
        host, _, instance = connection.authority.partition("\\")
        instance, _, port = instance.partition(":")
        host = host or connection.parameter("servername", "server")
        instance = instance or connection.parameter("instancename", "instance")
        port = port or connection.parameter("portnumber", "port")
        server = self.server(host.rstrip(":"), connection).partition("://")[2]
        self.server(instance or server, connection)  # it must not contain slashes or spaces either
        return self._namespace(f"{server}:{port}" if port and ":" not in server else server, instance)

    def jdbc_database(self, connection: Connection) -> str:
        return connection.parameter("databasename", "database") or connection.database


SQLSERVER = SqlServer(scheme="mssql", aliases=frozenset({"sqlserver"}), port=1433, spelling=str.lower)

_ORACLE_HOST = re.compile(r"(?i)\(\s*HOST\s*=([^()]*)\)")
_ORACLE_PORT = re.compile(r"(?i)\(\s*PORT\s*=([^()]*)\)")
_ORACLE_SERVICE = re.compile(r"(?i)\(\s*(?:SERVICE_NAME|SID)\s*=([^()]*)\)")
_ORACLE_TARGET = re.compile(
    r"(?:(?:\w{1,10}:)?//)?(?P<host>\[[^\]]*\]|[^:/?\[]*)(?::(?P<port>\d*))?(?:[:/](?P<service>[^:/?;]*))?"
)


@dataclass(frozen=True, kw_only=True)
class Oracle(Warehouse):
    """Oracle: ``oracle://host:1521`` and ``service.schema.table``, upper-case.

    The service or the SID takes the place of a database. Oracle converts unquoted names to upper case. The
    schema of an unqualified table is the user, if the URL contains it.
    """

    def jdbc_namespace(self, connection: Connection) -> str:
        host, port, _ = _oracle_target(connection)
        return self.server(self.hosts(f"{host}:{port}" if port else host), connection)

    def jdbc_database(self, connection: Connection) -> str:
        return _oracle_target(connection)[2]

    def jdbc_schema(self, connection: Connection) -> str:
        user = connection.subname.rpartition("@")[0].partition(":")[2]
        return user.partition("/")[0].strip('"') if "/" in user else ""


def _oracle_target(connection: Connection) -> tuple[str, str, str]:
    """Return host, port and service or SID."""
    target = connection.subname.rpartition("@")[2].strip()
    if target.startswith("("):
        matches = (_ORACLE_HOST.search(target), _ORACLE_PORT.search(target), _ORACLE_SERVICE.search(target))
        host, port, service = (match[1].strip() if match else "" for match in matches)
        return host, port, service
    if target[:4].lower() == "ldap":
        raise NamingError(f"{redact(connection.url)}: a name in a directory (LDAP) contains no host")
    match = _ORACLE_TARGET.match(target)
    if match is None or "@" not in connection.subname:
        raise NamingError(f"{redact(connection.url)}: names no host")
    return match["host"], match["port"] or "", match["service"] or ""


ORACLE = Oracle(scheme="oracle", port=1521, spelling=str.upper, unquoted=str.upper)

# Redshift before PostgreSQL, whose driver reaches Redshift too.
PLATFORMS = (REDSHIFT, POSTGRES, MYSQL, CLICKHOUSE, SQLSERVER, ORACLE)
