"""Amazon Redshift: ``redshift://cluster.region:5439`` and ``database.schema.table``.

Cluster hosts, serverless workgroups, the IAM form of the JDBC URL and PostgreSQL's driver address the same
tables. Redshift compares names case-insensitively by default, so an identity is lower-case. An unqualified
table in a JDBC connection is in ``public``: both `search_path` defaults end there.
"""

from dataclasses import dataclass

from lineage_merge.naming.address import Address
from lineage_merge.naming.jdbc import Connection
from lineage_merge.naming.postgres import POSTGRES
from lineage_merge.naming.warehouse import Warehouse

_HOSTS = tuple(
    f".{service}.amazonaws.com{country}"
    for service in ("redshift", "redshift-serverless")
    for country in ("", ".cn")
)


@dataclass(frozen=True, kw_only=True)
class RedshiftWarehouse(Warehouse):
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
        short = _short(host)
        return f"{short}:{port or self.port}" if short else ""

    def jdbc_namespace(self, connection: Connection) -> str:
        cluster, region = connection.parameter("clusterid"), connection.parameter("region")
        if not connection.authority and cluster and region:
            return self.server(self.hosts(f"{cluster}.{region}"), connection)
        return Warehouse.jdbc_namespace(self, connection)


def _is_redshift_host(authority: str) -> bool:
    return authority.lower().partition(":")[0].endswith(_HOSTS)


def _short(host: str) -> str:
    """Shorten ``cluster.abc123.us-east-1.redshift.amazonaws.com`` to ``cluster.us-east-1``."""
    suffix = next((suffix for suffix in _HOSTS if host.endswith(suffix)), "")
    labels = host.removesuffix(suffix).split(".")
    return f"{labels[0]}.{labels[-1]}" if suffix and len(labels) > 1 else host


REDSHIFT = RedshiftWarehouse(
    scheme="redshift", port=5439, spelling=str.lower, unquoted=str.lower, implicit_schema="public"
)
