"""The ``glue`` configuration section: one entry per catalog."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class GlueCatalog:
    """A Glue catalog: which of its databases are read (globs, default: all), and its names in Spark.

    `account` "": the account that the credentials belong to. `lf_tags`: also read Lake Formation tags.
    """

    region: str
    account: str = ""
    databases: tuple[str, ...] = ()
    spark_catalogs: tuple[str, ...] = ("spark_catalog",)
    lf_tags: bool = False

    def __str__(self) -> str:
        """Return ``Glue catalog 111122223333 in us-east-1``, for messages."""
        return f"Glue catalog {self.account} in {self.region}".replace("  ", " ")


def parse(settings: Sequence[Any]) -> tuple[GlueCatalog, ...]:
    """Parse settings that fit the schema."""
    return tuple(GlueCatalog(**{name: _frozen(value) for name, value in entry.items()}) for entry in settings)


def _frozen(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value
