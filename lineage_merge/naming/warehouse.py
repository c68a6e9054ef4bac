"""Databases and warehouses whose tables are called ``database.schema.table`` or ``database.table``."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from lineage_merge.infra.redaction import redact
from lineage_merge.model.elements import DatasetName
from lineage_merge.model.errors import NamingError
from lineage_merge.naming.address import Address, canonical_hosts, without_parameters
from lineage_merge.naming.identifiers import Identifier, join_name, split_name
from lineage_merge.naming.jdbc import Connection, table_identifiers
from lineage_merge.naming.named import Defaults, Located, Named

_NOT_IN_A_HOST = re.compile(r"[/?#;@\\\s]")


def as_written(text: str) -> str:
    return text


@dataclass(frozen=True, kw_only=True)
class Warehouse:
    """A platform of tables, told apart from others by how it spells and completes names.

    A name whose schema is empty (``dev..event``) has a known database and an unknown
    schema: that is what a JDBC connection gives for a bare table. SQL Server and Snowflake
    write it that way themselves.
    """

    scheme: str
    aliases: frozenset[str] = frozenset()
    port: int | None = None
    levels: int = 3
    # How names are spelled in an identity: lower or upper where the platform compares without case.
    spelling: Callable[[str], str] = as_written
    # What the platform makes of a name that SQL text has without quotes.
    unquoted: Callable[[str], str] = as_written
    # The schema that an unqualified name in a connection means, where the platform fixes one.
    implicit_schema: str = ""
    stored_as_files: bool = False

    def claims(self, address: Address) -> bool:
        return self._speaks(address.scheme)

    def claims_jdbc(self, connection: Connection) -> bool:
        return any(self._speaks(protocol) for protocol in connection.protocols[:2])

    def _speaks(self, word: str) -> bool:
        base = word.partition("+")[0]  # mysql+pymysql://: the driver says nothing about the data
        return base == self.scheme or base in self.aliases

    def canonical_namespace(self, address: Address) -> str:
        hosts = self.hosts(address.authority or "")
        return f"{self.scheme}://{hosts}" if hosts else self.scheme

    def hosts(self, authority: str) -> str:
        """The one spelling of a server's address; a platform with several overrides this."""
        return canonical_hosts(authority, self.port)

    def locate(self, address: Address) -> Located:
        """``postgres://host:5432/dev.public.event``, OpenLineage's own way to write a name as a URI."""
        name = without_parameters(address.rest).strip("/").replace("/", ".")
        return Located(self.canonical_namespace(address), name)

    def locate_jdbc(self, connection: Connection, table: str) -> Located:
        parts = [self._spelled_by_sql(part) for part in table_identifiers(connection.url, table)]
        qualified = self.qualify(parts, self.jdbc_database(connection), self.jdbc_schema(connection))
        return Located(self.jdbc_namespace(connection), join_name(qualified))

    def _spelled_by_sql(self, part: Identifier) -> str:
        return part.value if part.quoted else self.unquoted(part.value)

    def jdbc_namespace(self, connection: Connection) -> str:
        return self.server(self.hosts(connection.authority), connection)

    def server(self, hosts: str, connection: Connection) -> str:
        """The namespace of a server that a connection names. Raises `NamingError` where it is none."""
        if not hosts or _NOT_IN_A_HOST.search(hosts):
            raise NamingError(f"{redact(connection.url)}: names no host")
        return f"{self.scheme}://{hosts}"

    def jdbc_database(self, connection: Connection) -> str:
        return connection.database

    def jdbc_schema(self, connection: Connection) -> str:
        """The schema that the connection itself sets for bare names, or ""."""
        return connection.parameter("currentschema").partition(",")[0]

    def qualify(self, parts: Sequence[str], database: str, schema: str) -> list[str]:
        """Put what the connection says before the parts that SQL text has."""
        missing = self.levels - len(parts)
        context = [database, schema][: self.levels - 1]
        prefix = context[:missing] if missing > 0 else []
        if prefix and not prefix[0]:
            prefix = [part for part in prefix if part]
        return [*prefix, *parts]

    def identify(self, namespace: str, name: str, defaults: Defaults) -> Named:
        parts = _without_leading_blanks([self.spelling(part.value) for part in split_name(name)])
        if not parts or not parts[-1]:
            raise NamingError(f"{redact(namespace)}: a name without a table")
        default = [self.spelling(part.value) for part in split_name(defaults.get(namespace, ""))]
        parts = self._completed(parts, _without_leading_blanks(default))
        return Named(
            name=DatasetName(namespace, self.render(parts)),
            label="table",
            stored_as_files=self.stored_as_files,
            short_name=parts[-1],
        )

    def render(self, parts: Sequence[str]) -> str:
        return join_name(parts)

    def _completed(self, parts: list[str], default: list[str]) -> list[str]:
        missing = self.levels - len(parts)
        if 0 < missing <= len(default):
            parts = [*default[:missing], *parts]
        if len(parts) == self.levels == 3 and not parts[1]:
            agreed = len(default) > 1 and default[0] == parts[0]
            parts = [parts[0], (agreed and default[1]) or self.implicit_schema, parts[2]]
        return parts


def _without_leading_blanks(parts: list[str]) -> list[str]:
    start = next((index for index, part in enumerate(parts) if part), len(parts))
    return parts[start:]
