"""Amazon Athena: ``awsathena://athena.region.amazonaws.com`` and ``catalog.database.table``, lower-case.

Its tables are files in S3.
"""

from dataclasses import dataclass

from lineage_merge.naming.jdbc import Connection
from lineage_merge.naming.warehouse import Warehouse


@dataclass(frozen=True, kw_only=True)
class Athena(Warehouse):
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
