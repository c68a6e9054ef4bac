r"""Microsoft SQL Server: ``mssql://host:1433`` and ``database.schema.table``, lower-case.

Its default collations compare without case. A named instance without a port is
``mssql://host/instance``; with a port, the port decides, as it does for the driver.
"""

from dataclasses import dataclass

from lineage_merge.naming.address import Address, canonical_hosts, without_parameters
from lineage_merge.naming.jdbc import Connection
from lineage_merge.naming.warehouse import Warehouse


@dataclass(frozen=True, kw_only=True)
class SqlServer(Warehouse):
    def canonical_namespace(self, address: Address) -> str:
        host, _, instance = (address.authority or "").partition("\\")
        path = without_parameters(address.rest).strip("/").partition("/")[0]
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
