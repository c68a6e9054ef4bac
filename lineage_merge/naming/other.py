"""Platforms without a module: names are unchanged, without credentials and parameters.

``scheme://authority`` and a path; a JDBC protocol as the scheme; ``scheme`` alone and the rest, for addresses
such as ``odpstable:project.table``.
"""

import re
from dataclasses import dataclass

from lineage_merge.infra.redaction import redact
from lineage_merge.model.elements import DatasetName
from lineage_merge.model.errors import NamingError
from lineage_merge.naming.address import Address, parse_namespace, trimmed, without_parameters
from lineage_merge.naming.filesystem import FileSystem
from lineage_merge.naming.identifiers import join_name, split_name
from lineage_merge.naming.jdbc import Connection, table_identifiers
from lineage_merge.naming.named import Defaults, Located, Named

_LEVELS = 3
# A namespace contains no glob, and after a server no list. Redaction leaves separators before a space.
_PARAMETERS = re.compile(r"[;?]|[,#&](?!\S)")
_PARAMETERS_OF_SERVER = re.compile(r"[;?,]|[#&](?!\S)")


@dataclass(frozen=True, kw_only=True)
class Other(FileSystem):
    def claims(self, address: Address) -> bool:
        return True

    def claims_jdbc(self, connection: Connection) -> bool:
        return True

    def canonical_namespace(self, address: Address) -> str:
        pattern = _PARAMETERS_OF_SERVER if address.authority else _PARAMETERS
        rest = trimmed(pattern.split(address.rest, maxsplit=1)[0])
        if address.authority:
            return f"{address.scheme}://{address.authority}{rest}"
        if address.scheme and rest:
            # Two slashes would turn the next segment into a host.
            path = f"/{rest.lstrip('/')}" if rest.startswith("/") else rest
            return f"{address.scheme}:{path}"
        return address.scheme if ":" in address.text and address.scheme else address.text

    def locate(self, address: Address) -> Located:
        if not address.scheme:
            raise NamingError(f"{redact(address.text)}: is neither a URI nor an absolute path")
        if address.scheme == "memory":  # Spline's address of a count() or a collect()
            raise NamingError(f"{redact(address.text)}: is the memory of a driver, not a dataset")
        rest = without_parameters(address.rest)
        if address.authority is None and not rest.startswith("/"):
            return Located(address.scheme, rest)
        located = FileSystem.locate(self, address._replace(rest=rest))
        return located if located.name else located._replace(name="/")

    def identify(self, namespace: str, name: str, defaults: Defaults) -> Named:
        if name.startswith("/"):
            return FileSystem.identify(self, namespace, name, defaults)
        if not name:
            raise NamingError(f"{redact(namespace)}: an empty name")
        table = split_name(name)[-1].value or name
        return Named(DatasetName(namespace, name), label="table", stored_as_files=False, short_name=table)

    def locate_jdbc(self, connection: Connection, table: str) -> Located:
        parts = [part.value for part in table_identifiers(connection.url, table)]
        if connection.authority:
            database = [part for part in connection.database.split("/") if part]
            missing = max(_LEVELS - len(parts), 0)
            namespace = f"{connection.protocols[0]}://{connection.authority.lower()}"
            return Located(namespace, join_name([*database[:missing], *parts]))
        if not connection.path or "@" in connection.path or "=" in connection.path:
            raise NamingError(f"{redact(connection.url)}: names no host")
        address = parse_namespace(":".join([*connection.protocols, connection.path]))
        return Located(self.canonical_namespace(address), join_name(parts))


OTHER = Other()
