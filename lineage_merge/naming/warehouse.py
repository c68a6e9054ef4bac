"""Databases and warehouses with tables named ``database.schema.table`` or ``database.table``."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from lineage_merge.infra.redaction import redact
from lineage_merge.model.elements import DatasetName
from lineage_merge.model.errors import NamingError
from lineage_merge.naming.address import Address, canonical_hosts, remove_parameters
from lineage_merge.naming.identifiers import Identifier, join_name, split_name
from lineage_merge.naming.jdbc import Connection, table_identifiers
from lineage_merge.naming.named import Defaults, Located, Named

# What clients write for a part that they do not know.
_UNKNOWN_PARTS = frozenset({"None", "null"})
_QUERY = re.compile(r"(?:[^\"`]*\.)?\s*(?:\(\s*)+(?:select|with)\b|\s*select\s", re.IGNORECASE)
_NOT_IN_A_HOST = re.compile(r"[/?#;@\\\s]")


def keep_name(text: str) -> str:
    return text


@dataclass(frozen=True, kw_only=True)
class Warehouse:
    """A platform of tables, configured by its rules for spelling and completing names.

    A name with an empty schema (``dev..event``) has a known database and an unknown schema: a JDBC connection
    yields it for an unqualified table. SQL Server and Snowflake use the same notation.
    """

    scheme: str
    aliases: frozenset[str] = frozenset()
    port: int | None = None
    levels: int = 3
    # Case of names in an identity: lower or upper if the platform compares case-insensitively.
    spelling: Callable[[str], str] = keep_name
    # The platform's conversion of unquoted names in SQL.
    unquoted: Callable[[str], str] = keep_name
    # The schema of unqualified names in a connection, if the platform has a fixed one.
    implicit_schema: str = ""
    stored_as_files: bool = False
    # Names have no more parts; what precedes them is the name of a catalog in a client.
    has_catalogs: bool = True

    def claims(self, address: Address) -> bool:
        return self._matches_scheme(address.scheme)

    def claims_jdbc(self, connection: Connection) -> bool:
        return any(self._matches_scheme(protocol) for protocol in connection.protocols[:2])

    def _matches_scheme(self, word: str) -> bool:
        base = word.partition("+")[0]  # mysql+pymysql://: the driver does not matter
        return base == self.scheme or base in self.aliases

    def canonical_namespace(self, address: Address) -> str:
        hosts = self.hosts(address.authority or "")
        return f"{self.scheme}://{hosts}" if hosts else self.scheme

    def hosts(self, authority: str) -> str:
        """Return the canonical spelling of a server's address."""
        return canonical_hosts(authority, self.port)

    def locate(self, address: Address) -> Located:
        """Locate ``postgres://host:5432/dev.public.event``, OpenLineage's URI form of a name."""
        name = remove_parameters(address.rest).strip("/").replace("/", ".")
        return Located(self.canonical_namespace(address), name)

    def locate_jdbc(self, connection: Connection, table: str) -> Located:
        parts = [self._normalize_sql_part(part) for part in table_identifiers(connection.url, table)]
        qualified = self.qualify(parts, self.jdbc_database(connection), self.jdbc_schema(connection))
        return Located(self.jdbc_namespace(connection), join_name(qualified))

    def _normalize_sql_part(self, part: Identifier) -> str:
        return part.value if part.quoted else self.unquoted(part.value)

    def jdbc_namespace(self, connection: Connection) -> str:
        return self.server(self.hosts(connection.authority), connection)

    def server(self, hosts: str, connection: Connection) -> str:
        """Return the namespace of a connection's server. Raises `NamingError` if it has none."""
        if not hosts or _NOT_IN_A_HOST.search(hosts):
            raise NamingError(f"{redact(connection.url)}: names no host")
        return f"{self.scheme}://{hosts}"

    def jdbc_database(self, connection: Connection) -> str:
        return connection.database

    def jdbc_schema(self, connection: Connection) -> str:
        """Return the schema that the connection sets for unqualified names, or ""."""
        return connection.parameter("currentschema").partition(",")[0]

    def qualify(self, parts: Sequence[str], database: str, schema: str) -> list[str]:
        """Prepend database and schema of the connection to the parts in SQL."""
        missing = self.levels - len(parts)
        context = [database, schema][: self.levels - 1]
        prefix = context[:missing] if missing > 0 else []
        if prefix and not prefix[0]:
            prefix = [part for part in prefix if part]
        return [*prefix, *parts]

    def identify(self, namespace: str, name: str, defaults: Defaults) -> Named:
        if _QUERY.match(name):
            raise NamingError(f"{redact(namespace)}: a query, not a table")
        parts = _strip_leading_empty([self.spelling(part) for part in self.parts_of(name)])
        if not parts or not parts[-1]:
            raise NamingError(f"{redact(namespace)}: a name without a table")
        default = [self.spelling(part.value) for part in split_name(defaults.get(namespace, ""))]
        parts = self._complete(parts, _strip_leading_empty(default))
        return Named(
            name=DatasetName(namespace, self.render(parts)),
            label="table",
            stored_as_files=self.stored_as_files,
            short_name=parts[-1],
        )

    def parts_of(self, name: str) -> list[str]:
        """Return the parts of a name in OpenLineage; "" for one that is unknown."""
        return [
            "" if part.value in _UNKNOWN_PARTS and not part.quoted else part.value
            for part in split_name(name)
        ]

    def render(self, parts: Sequence[str]) -> str:
        return join_name(parts)

    def _complete(self, parts: list[str], default: list[str]) -> list[str]:
        if not self.has_catalogs:
            parts = parts[-self.levels :]
        # A client that puts its database before a name that has one: `shop.shop.public.orders`.
        while len(parts) > self.levels and parts[0] == parts[1]:
            parts = parts[1:]
        missing = self.levels - len(parts)
        if 0 < missing <= len(default):
            parts = [*default[:missing], *parts]
        if len(parts) == self.levels == 3 and not parts[1]:
            agreed = len(default) > 1 and default[0] == parts[0]
            parts = [parts[0], (agreed and default[1]) or self.implicit_schema, parts[2]]
        return parts


def _strip_leading_empty(parts: list[str]) -> list[str]:
    start = next((index for index, part in enumerate(parts) if part), len(parts))
    return parts[start:]
