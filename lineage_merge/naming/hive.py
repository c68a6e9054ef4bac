"""Tables of a Hive metastore: ``hive://host:9083`` and ``database.table``, lower-case.

``spark_catalog`` is Spark's session catalog if its metastore is unknown. HiveServer2
(``jdbc:hive2://host:10000``) has a namespace of its own: its address does not contain that of the metastore.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from lineage_merge.naming.address import canonical_hosts
from lineage_merge.naming.jdbc import Connection
from lineage_merge.naming.warehouse import Warehouse

_SERVER_PORT = 10000


@dataclass(frozen=True, kw_only=True)
class Metastore(Warehouse):
    def jdbc_namespace(self, connection: Connection) -> str:
        return self.server(canonical_hosts(connection.authority, _SERVER_PORT), connection)


@dataclass(frozen=True, kw_only=True)
class SessionCatalog(Warehouse):
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
