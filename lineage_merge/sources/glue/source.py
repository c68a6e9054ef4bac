"""Declaration of the AWS Glue source: a catalog with the paths of tables that other sources reference."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from lineage_merge.sources.source import Source, Suggestion


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


_SUGGESTION = """\
# Glue's catalog joins dbt's tables with the paths that Spark writes:
# glue:
#   - region: us-east-1"""

GLUE = Source(
    "the Glue catalog",
    "glue",
    "lineage_merge.sources.glue",
    parse,
    "lineage_merge.sources.glue.reader:read_glue",
    size="lineage_merge.sources.glue.client:size",
    checks="lineage_merge.sources.glue.doctor:CHECKS",
    needs_aws=lambda _: True,
    is_catalog=True,
    # dbt adapters whose tables are files in S3, listed in Glue's catalog.
    suggestion=Suggestion(("athena", "glue"), _SUGGESTION),
)
