"""The ``glue`` configuration section: one entry per catalog."""

from dataclasses import dataclass

from lineage_merge.infra.setting import Form, RegionName, declare
from lineage_merge.sources.settings import CatalogName, declare_spark_catalogs


@dataclass(frozen=True, slots=True)
class GlueCatalog:
    """A Glue catalog. `account` "": the account that the credentials belong to."""

    region: RegionName = declare("AWS region of the catalog", example="us-east-1")
    account: str = declare(
        "AWS account of the catalog",
        "",
        "123456789012",
        "that of the credentials",
        form=Form("^[0-9]{12}$", "12 digits in quotes"),
    )
    databases: tuple[str, ...] = declare("databases to read, globs allowed", (), ["tickit_*"], "all")
    spark_catalogs: tuple[CatalogName, ...] = declare_spark_catalogs()
    lf_tags: bool = declare(
        "also read the Lake Formation tags of tables and columns: one request per table, needs "
        "lakeformation:GetResourceLFTags",
        False,
    )

    def __str__(self) -> str:
        """Return ``Glue catalog 111122223333 in us-east-1``, for messages."""
        return f"Glue catalog {self.account} in {self.region}".replace("  ", " ")
