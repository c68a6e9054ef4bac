"""The ``quicksight`` configuration section, one entry per account or folder, and the kind of documents."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from lineage_merge.infra.redaction import redact
from lineage_merge.infra.setting import Form, declare
from lineage_merge.model.errors import ConfigError
from lineage_merge.sources.kinds import Kind


@dataclass(frozen=True, slots=True)
class QuickSight:
    """Where dashboards and data sets are read from: files (`definitions`), or an account in a `region`."""

    definitions: str = declare(
        "folder (local or s3://) with what the Describe calls of the API return, or an asset bundle",
        "",
        "s3://bucket/quicksight",
        is_path=True,
    )
    region: str = declare(
        "AWS region whose dashboards are read through the API",
        "",
        "us-east-1",
        form=Form(r"^[a-z]{2}(-[a-z]+)+-[0-9]+$", "a region such as us-east-1"),
    )
    account: str = declare(
        "AWS account, if it is read through the API",
        "",
        "123456789012",
        "that of the credentials",
        form=Form("^[0-9]{12}$", "12 digits in quotes"),
    )
    dashboards: tuple[str, ...] = declare(
        "dashboards to read, by id or name, globs allowed", (), ["sales_*"], "all"
    )
    analyses: bool = declare("also read analyses, which dashboards are published from", False)
    data_sources: Mapping[str, str] = declare(
        "namespaces of data sources that name no host, by id: as host/database, if it has one",
        {},
        {"orders": "postgres://host:5432/shop"},
    )

    def complete(self, key: str) -> "QuickSight":
        """Return the settings. Raises `ConfigError` for none, or two, places to read from."""
        if bool(self.definitions) == bool(self.region):
            raise ConfigError(key, "give either definitions or region")
        return self

    def __str__(self) -> str:
        """Return ``QuickSight in us-east-1``, or the folder, for messages."""
        return redact(self.definitions) if self.definitions else f"QuickSight in {self.region}"


def _is_definition(document: Any) -> bool:
    from lineage_merge.sources.quicksight.documents import is_definition

    return is_definition(document)


DEFINITIONS = Kind(
    "definitions of QuickSight",
    "give their folder as quicksight[].definitions",
    is_document=_is_definition,
)
