"""Where the tables of a dashboard tool's connection are, as OpenLineage names them. Pure."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from lineage_merge.model.elements import Reference
from lineage_merge.naming import redact
from lineage_merge.naming.identifiers import join_name, split_name

_DIALECTS: Mapping[str, str] = {"postgresql": "postgres"}
_TWO_LEVELS = frozenset({"clickhouse", "mariadb", "mysql"})


@dataclass(frozen=True, slots=True)
class DataSource:
    """Where the tables of a data source are: behind a JDBC `url`, or in a `namespace` below `above`.

    `dialect`: of its SQL. `manifest`: of files in S3, the address of the list of them. `problem`: why its
    tables have no names.
    """

    url: str = ""
    namespace: str = ""
    above: tuple[str, ...] = ()
    dialect: str = ""
    manifest: str = ""
    problem: str = ""

    @property
    def address(self) -> str:
        """What precedes the name of a table in the address by which SQL knows it."""
        return self.url or self.namespace

    def reference(self, name: str) -> Reference:
        """Return the table of a name as SQL has it, quotes included."""
        if self.url:
            return Reference("", f"{self.url}:{name}")
        parts = [part.value for part in split_name(name)]
        missing = max(len(self.above) + 1 - len(parts), 0)
        return Reference(self.namespace, join_name([*self.above[:missing], *parts]))


def configure(written: str, dialect: str) -> DataSource:
    """Return the data source of a configured namespace, with a database after it."""
    scheme, separator, rest = written.partition("://")
    host, _, database = rest.partition("/")
    # An unknown schema below a known database: dev..sales.
    above = () if not database else (database,) if scheme in _TWO_LEVELS else (database, "")
    namespace = f"{scheme}{separator}{host}" if separator else written
    return DataSource(namespace=namespace, above=above, dialect=dialect or name_dialect(scheme))


def name_dialect(protocol: str) -> str:
    """Return the dialect of SQL of a protocol."""
    return _DIALECTS.get(protocol, protocol)


def quote_table(parts: Iterable[str]) -> str:
    """Return the name of a table as SQL has it, in quotes. Each part is redacted."""
    return ".".join('"' + redact(part).replace('"', '""') + '"' for part in parts if part)
