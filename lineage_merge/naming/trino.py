"""Trino and Presto: ``trino://host:8080`` and ``catalog.schema.table``, lower-case."""

from dataclasses import dataclass

from lineage_merge.naming.address import canonical_hosts
from lineage_merge.naming.jdbc import Connection
from lineage_merge.naming.warehouse import Warehouse

_TLS_PORT = 443


@dataclass(frozen=True, kw_only=True)
class Trino(Warehouse):
    def jdbc_namespace(self, connection: Connection) -> str:
        is_tls = connection.parameter("ssl").lower() == "true"
        port = _TLS_PORT if is_tls else self.port
        return self.server(canonical_hosts(connection.authority, port), connection)

    def jdbc_database(self, connection: Connection) -> str:
        return connection.database.partition("/")[0]

    def jdbc_schema(self, connection: Connection) -> str:
        return connection.database.partition("/")[2]


TRINO = Trino(scheme="trino", aliases=frozenset({"presto"}), port=8080, spelling=str.lower)
