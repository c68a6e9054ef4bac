"""``glue`` in the configuration: one entry a catalog."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class GlueCatalog:
    """One Glue catalog: which databases of it (globs; none means all), and what Spark calls it.

    `account` "": the account that the credentials belong to.
    """

    region: str
    account: str = ""
    databases: tuple[str, ...] = ()
    spark_catalogs: tuple[str, ...] = ("spark_catalog",)

    def __str__(self) -> str:
        """``Glue catalog 111122223333 in us-east-1``, for messages."""
        return f"Glue catalog {self.account} in {self.region}".replace("  ", " ")


def parse(settings: Sequence[Any]) -> tuple[GlueCatalog, ...]:
    """What the schema has passed."""
    return tuple(GlueCatalog(**{name: _frozen(value) for name, value in entry.items()}) for entry in settings)


def _frozen(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value
