"""Result of naming, and the interface of platforms."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, NamedTuple, Protocol, runtime_checkable

from lineage_merge.model.elements import DatasetName
from lineage_merge.naming.address import Address
from lineage_merge.naming.jdbc import Connection

Label = Literal["file", "table", "topic"]

# Canonical namespace -> "database.schema" or "database", which completes shorter names there.
Defaults = Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Named:
    """A dataset's OpenLineage name, and properties that follow from it."""

    name: DatasetName
    label: Label
    # False for a table inside a warehouse or database, and for a topic.
    stored_as_files: bool
    # The last path segment, the table's own name, or the topic.
    short_name: str
    # Generated last segments that normalization removed, such as a UUID; "" if none.
    generated: str = ""


class Located(NamedTuple):
    """A canonical namespace, and a name for `identify` to normalize."""

    namespace: str
    name: str


class Platform(Protocol):
    """A platform of datasets. One class each, and one entry in `PLATFORMS` of its module.

    `identify` is idempotent: its own result in the same namespace does not change.
    """

    def claims(self, address: Address) -> bool:
        """Whether a URI or a namespace belongs to this platform."""
        ...

    def canonical_namespace(self, address: Address) -> str:
        """Return the canonical spelling of a namespace."""
        ...

    def locate(self, address: Address) -> Located:
        """Split a URI other than JDBC. Raises `NamingError` if it names no dataset."""
        ...

    def identify(self, namespace: str, name: str, defaults: Defaults) -> Named:
        """Normalize a name in a canonical namespace: path, case, defaults."""
        ...


@runtime_checkable
class JdbcPlatform(Platform, Protocol):
    """A platform that is also accessed over JDBC."""

    def claims_jdbc(self, connection: Connection) -> bool:
        """Whether a JDBC connection belongs to this platform."""
        ...

    def locate_jdbc(self, connection: Connection, table: str) -> Located:
        """Locate a table, given as SQL text, that is accessed through a connection."""
        ...
