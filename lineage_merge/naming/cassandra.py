"""Cassandra: ``cassandra://host:9042`` and ``keyspace.table``.

Spline writes ``cassandra:keyspace:table``, without the host: the namespace is ``cassandra`` then.
"""

from dataclasses import dataclass

from lineage_merge.naming.address import Address
from lineage_merge.naming.identifiers import join_name
from lineage_merge.naming.named import Located
from lineage_merge.naming.warehouse import Warehouse


@dataclass(frozen=True, kw_only=True)
class Cassandra(Warehouse):
    def locate(self, address: Address) -> Located:
        if address.authority is not None:
            return Warehouse.locate(self, address)
        return Located(self.scheme, join_name(address.rest.split(":", 1)))


CASSANDRA = Cassandra(scheme="cassandra", port=9042, levels=2)
