"""What naming gives back, and what a platform has to be able to do."""

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
    """A dataset's OpenLineage name, and what the name alone tells about it."""

    name: DatasetName
    label: Label
    # False for a table inside a warehouse or database, and for a topic.
    stored_as_files: bool
    # The last path segment, the table's own name, or the topic.
    short_name: str
    # The generated last segments that folding took off, such as a UUID; "" if none.
    generated: str = ""


class Located(NamedTuple):
    """Where a URI points to: a canonical namespace, and a name that `identify` still has to settle."""

    namespace: str
    name: str


class Platform(Protocol):
    """What holds datasets. One file each, and one line in `registry.PLATFORMS`.

    For every name that `identify` gives, `identify` of the same namespace and that name
    gives it again: a dataset named twice is one dataset.
    """

    def claims(self, address: Address) -> bool:
        """Whether a URI or a namespace of this form is this platform's."""
        ...

    def canonical_namespace(self, address: Address) -> str:
        """The one spelling of a namespace."""
        ...

    def locate(self, address: Address) -> Located:
        """Split a URI that is not JDBC. Raises `NamingError` when it names no dataset."""
        ...

    def identify(self, namespace: str, name: str, defaults: Defaults) -> Named:
        """Settle a name in a canonical namespace: folding, spelling, completing."""
        ...


@runtime_checkable
class JdbcPlatform(Platform, Protocol):
    """A platform that is also reached over JDBC."""

    def claims_jdbc(self, connection: Connection) -> bool:
        """Whether a JDBC connection leads to this platform."""
        ...

    def locate_jdbc(self, connection: Connection, table: str) -> Located:
        """Name a table as SQL text (quotes and all) that was opened through a connection."""
        ...
