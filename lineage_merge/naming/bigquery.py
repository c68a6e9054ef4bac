"""BigQuery: ``bigquery`` and ``project.dataset.table``; Spline writes ``bigquery://project:dataset.table``."""

from dataclasses import dataclass

from lineage_merge.naming.address import Address, without_parameters
from lineage_merge.naming.jdbc import Connection
from lineage_merge.naming.named import Located
from lineage_merge.naming.warehouse import Warehouse


@dataclass(frozen=True, kw_only=True)
class BigQueryWarehouse(Warehouse):
    def canonical_namespace(self, address: Address) -> str:
        return self.scheme

    def locate(self, address: Address) -> Located:
        text = without_parameters(f"{address.authority or ''}{address.rest}").strip("/")
        project, colon, table = text.rpartition(":")  # a project may have a domain: example.com:shop
        return Located(self.scheme, f"{project}.{table}" if colon else table)

    def jdbc_namespace(self, connection: Connection) -> str:
        return self.scheme

    def jdbc_database(self, connection: Connection) -> str:
        return connection.parameter("projectid")

    def jdbc_schema(self, connection: Connection) -> str:
        return connection.parameter("defaultdataset").rpartition(".")[2]


BIGQUERY = BigQueryWarehouse(scheme="bigquery")
