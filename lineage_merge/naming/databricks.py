"""Databricks and Spark's Thrift server, which compare names without case: lower-case in an identity.

``databricks://host`` and ``catalog.schema.table``; ``spark://host:10000`` and ``schema.table``.
"""

from dataclasses import dataclass

from lineage_merge.naming.address import canonical_hosts
from lineage_merge.naming.jdbc import Connection
from lineage_merge.naming.warehouse import Warehouse

_TLS_PORT = ":443"


@dataclass(frozen=True, kw_only=True)
class Databricks(Warehouse):
    def hosts(self, authority: str) -> str:
        # A workspace has one address; JDBC writes its port, dbt and OpenLineage do not.
        return canonical_hosts(authority, None).removesuffix(_TLS_PORT)

    def jdbc_database(self, connection: Connection) -> str:
        return connection.parameter("conncatalog")

    def jdbc_schema(self, connection: Connection) -> str:
        return connection.parameter("connschema") or connection.database


DATABRICKS = Databricks(scheme="databricks", spelling=str.lower, unquoted=str.lower)
SPARK = Warehouse(scheme="spark", levels=2, spelling=str.lower, unquoted=str.lower)
