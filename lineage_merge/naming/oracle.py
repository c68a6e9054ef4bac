"""Oracle: ``oracle://host:1521`` and ``service.schema.table``, upper-case.

The service or the SID takes the place of a database. Oracle converts unquoted names to upper case. The schema
of an unqualified table is the user, if the URL contains it.
"""

import re
from dataclasses import dataclass

from lineage_merge.infra.redaction import redact
from lineage_merge.model.errors import NamingError
from lineage_merge.naming.jdbc import Connection
from lineage_merge.naming.warehouse import Warehouse

_HOST = re.compile(r"(?i)\(\s*HOST\s*=([^()]*)\)")
_PORT = re.compile(r"(?i)\(\s*PORT\s*=([^()]*)\)")
_SERVICE = re.compile(r"(?i)\(\s*(?:SERVICE_NAME|SID)\s*=([^()]*)\)")
_TARGET = re.compile(
    r"(?:(?:\w{1,10}:)?//)?(?P<host>\[[^\]]*\]|[^:/?\[]*)(?::(?P<port>\d*))?(?:[:/](?P<service>[^:/?;]*))?"
)


@dataclass(frozen=True, kw_only=True)
class Oracle(Warehouse):
    def jdbc_namespace(self, connection: Connection) -> str:
        host, port, _ = _target(connection)
        return self.server(self.hosts(f"{host}:{port}" if port else host), connection)

    def jdbc_database(self, connection: Connection) -> str:
        return _target(connection)[2]

    def jdbc_schema(self, connection: Connection) -> str:
        user = connection.subname.rpartition("@")[0].partition(":")[2]
        return user.partition("/")[0].strip('"') if "/" in user else ""


def _target(connection: Connection) -> tuple[str, str, str]:
    """Return host, port and service or SID."""
    target = connection.subname.rpartition("@")[2].strip()
    if target.startswith("("):
        found = (_HOST.search(target), _PORT.search(target), _SERVICE.search(target))
        host, port, service = (match[1].strip() if match else "" for match in found)
        return host, port, service
    if target[:4].lower() == "ldap":
        raise NamingError(f"{redact(connection.url)}: a name in a directory (LDAP) contains no host")
    match = _TARGET.match(target)
    if match is None or "@" not in connection.subname:
        raise NamingError(f"{redact(connection.url)}: names no host")
    return match["host"], match["port"] or "", match["service"] or ""


ORACLE = Oracle(scheme="oracle", port=1521, spelling=str.upper, unquoted=str.upper)
